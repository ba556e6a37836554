import { hash } from 'node:crypto';

/** MD5 of a text as hexadecimal digits: only to be what others compare with. It keeps no secret, and holds against nobody. */
export function md5(text: string): string {
  return hash('md5', text);
}
