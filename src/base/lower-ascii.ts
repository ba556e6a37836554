/** A text with its ASCII letters small and all others as they are: what both engines take for the same, whatever their locale. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
