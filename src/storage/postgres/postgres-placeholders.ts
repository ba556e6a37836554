import { replacePlaceholders } from '../../sql/sql.ts';

/** Texts are few and run often; one that is seen for the first time in this many others is numbered again. */
const textsMax = 4_096;

let young = new Map<string, string>();
let old = new Map<string, string>();

/** `?` as `$1`, `$2`, … A `?` between quotes is left alone; our statements hold no comments, and no strings with backslashes. */
export function numberPlaceholders(text: string): string {
  const found = young.get(text);
  if (found !== undefined) return found;
  const numbered = old.get(text) ?? replacePlaceholders(text, (count) => `$${count}`);
  if (young.size >= textsMax) {
    old = young;
    young = new Map();
  }
  young.set(text, numbered);
  return numbered;
}
