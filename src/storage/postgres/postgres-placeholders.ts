import { GenerationMap } from '../../base/generation-map.ts';
import { replacePlaceholders } from '../../sql/sql.ts';

/**
 * The size of a generation of numbered texts, in characters. Not their count: the text of a list with many fields takes as much as
 * hundreds of others, and clients can make any number of such texts.
 */
const lengthMax = 8 * 1024 * 1024;

const known = new GenerationMap<string, string>(lengthMax, (numbered, text) => numbered.length + text.length);

/** Replaces `?` by `$1`, `$2`, … except between quotes. Our statements have no comments, and no strings with backslashes. */
export function numberPlaceholders(text: string): string {
  return known.findOrAdd(text, () => replacePlaceholders(text, (count) => `$${count}`));
}
