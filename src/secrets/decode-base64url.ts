/**
 * Returns the bytes of a base64url text, or undefined unless it is their canonical encoding. Node's decoder skips junk, accepts
 * padding and ignores spare bits (`YR` and `YQ` are both `a`), so a token could be rewritten and still pass.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
