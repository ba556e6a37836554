/** Names come from others, and a terminal does what it is told by such characters. */
export function printable(line: string): string {
  return line.replaceAll(/\p{C}/gu, '?');
}
