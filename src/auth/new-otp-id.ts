import { idAlphabet, idLength, randomText } from '../base/ids.ts';
import type { Sealer } from '../secrets/seal.ts';

/** How much of an id says for whom it was made. */
export const otpTagLength = 5;

/**
 * The id of a one-time password, whether or not there is an account that it is sent to. Its beginning is the same for all that are
 * asked for one address, and says which to nobody: wrong codes are counted by it, alike for addresses that nobody has.
 */
export function newOtpId(sealer: Sealer, address: string): string {
  const bytes = Buffer.from(sealer.fingerprint(address), 'base64url').subarray(0, otpTagLength);
  const tag = Array.from(bytes, (byte) => idAlphabet[byte % idAlphabet.length]).join('');
  return tag + randomText(idLength - otpTagLength, idAlphabet);
}
