/** Lowers only ASCII letters, which both engines then take for equal in any locale. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
