import { idAlphabet, idLength, randomText } from '../base/ids.ts';
import type { Sealer } from '../secrets/seal.ts';

/** How many characters of an id stand for the address that it was made for. */
export const otpTagLength = 5;

/**
 * Makes the id of a one-time password, whether or not there is an account to send it to. It begins with a tag that is the same for
 * every password of one address but does not reveal the address. Wrong codes are counted by the tag, so that addresses without an
 * account are treated like all others.
 */
export function newOtpId(sealer: Sealer, address: string): string {
  const bytes = Buffer.from(sealer.fingerprint(address), 'base64url').subarray(0, otpTagLength);
  const tag = Array.from(bytes, (byte) => idAlphabet[byte % idAlphabet.length]).join('');
  return tag + randomText(idLength - otpTagLength, idAlphabet);
}
