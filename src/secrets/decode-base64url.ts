/**
 * The bytes of a base64url text, or undefined when it is not the one text that stands for them. Node's decoder skips
 * junk, takes padding and ignores spare bits (`YR` and `YQ` are both `a`), so a token could be rewritten and still pass.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
