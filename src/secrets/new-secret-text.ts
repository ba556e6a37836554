import { randomText } from '../base/ids.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 43 characters of 62 make 256 bits. */
const length = 43;

/** Makes a secret that is shown once and stored only as a digest: 43 characters of `[0-9A-Za-z]`. */
export function newSecretText(): string {
  return randomText(length, alphabet);
}
