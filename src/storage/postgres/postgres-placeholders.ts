import { GenerationMap } from '../../base/generation-map.ts';
import { replacePlaceholders } from '../../sql/sql.ts';

/**
 * Of a generation, in characters: one that is not seen again in so many others is numbered again. Not by their number, as a list of many
 * fields takes as much as hundreds of others, and clients make any number of texts of it.
 */
const lengthMax = 8 * 1024 * 1024;

const known = new GenerationMap<string, string>(lengthMax, (numbered, text) => numbered.length + text.length);

/** `?` as `$1`, `$2`, … A `?` between quotes is left alone; our statements hold no comments, and no strings with backslashes. */
export function numberPlaceholders(text: string): string {
  return known.findOrAdd(text, () => replacePlaceholders(text, (count) => `$${count}`));
}
