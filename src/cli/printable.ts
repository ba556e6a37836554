/** Replaces control characters: names come from others, and a terminal would obey escape sequences in them. */
export function printable(line: string): string {
  return line.replaceAll(/\p{C}/gu, '?');
}
