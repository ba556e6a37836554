import { printable } from './printable.ts';

/** Shows progress on a terminal, each line in place of the one before. */
export function showLine(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${printable(text)}`);
}
