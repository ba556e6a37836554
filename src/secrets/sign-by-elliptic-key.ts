import { createPrivateKey, type KeyObject, sign } from 'node:crypto';

/** Signs a text with a P-256 key in PEM (ES256, RFC 7518 section 3.4), as base64url. Returns undefined where the key is none. */
export function signByEllipticKey(text: string, pem: string): string | undefined {
  const key = readKey(pem);
  if (key?.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined;
  return sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    return undefined;
  }
}
