import { createHash, generateKeyPairSync } from 'node:crypto';
import { assert } from '../base/assert.ts';

/** A key pair of Ed25519 (RFC 8032), in base64url as JWK has it (RFC 8037). */
export interface SigningKey {
  /** Its thumbprint (RFC 7638). */
  readonly id: string;
  /** The private key. */
  readonly d: string;
  /** The public key. */
  readonly x: string;
}

export function newSigningKey(): SigningKey {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  assert(d !== undefined && x !== undefined, 'an Ed25519 key has both parts');
  // Its members in the order of their names, as the thumbprint requires.
  const id = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
  return { id, d, x };
}
