import { hash } from 'node:crypto';

/** Returns the MD5 of a text in hex, for values that other software compares. It protects neither secrets nor integrity. */
export function md5(text: string): string {
  return hash('md5', text);
}
