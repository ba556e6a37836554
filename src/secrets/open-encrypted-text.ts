import { createDecipheriv } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Decrypts a text of other software: base64 of nonce, AES-256-GCM ciphertext and tag. Undefined when the key does not fit. */
export function openEncryptedText(text: string, key: string): string | undefined {
  const bytes = Buffer.from(text, 'base64');
  const keyBytes = Buffer.from(key, 'utf8');
  if (keyBytes.length !== KEY_BYTES || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', keyBytes, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const plain = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    decipher.final();
  } catch {
    // The tag does not fit: what was decrypted is meaningless.
    return undefined;
  }
  return plain.toString('utf8');
}
