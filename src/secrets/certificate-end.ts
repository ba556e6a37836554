import { X509Certificate } from 'node:crypto';

/** Returns until when the first certificate of a PEM text is valid, in milliseconds since 1970. Throws for a text that has none. */
export function certificateEnd(pem: Uint8Array): number {
  return Date.parse(new X509Certificate(pem).validTo);
}
