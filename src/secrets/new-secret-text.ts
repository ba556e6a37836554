import { randomText } from '../base/ids.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 256 bits. */
const length = 43;

/** What is shown once, and kept as a digest alone: 43 characters of `[0-9A-Za-z]`. */
export function newSecretText(): string {
  return randomText(length, alphabet);
}
