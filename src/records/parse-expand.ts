import { filterLimits } from '../filters/filter-limits.ts';

/** What is to be expanded in a record, and what in the records that are found there. */
export type ExpandTree = ReadonlyMap<string, ExpandTree>;

type MutableTree = Map<string, MutableTree>;

/** Longer texts are cut like deeper paths are: what cannot be expanded is left out, without a word (http-api section 7). */
const textLengthMax = 4_096;
/** Each is a question to the engine; cut in the same way. */
const namesMax = 64;

/** `author,comments_via_post.author` as a tree; a path that another one begins with is in it already. */
export function parseExpand(text: string): ExpandTree {
  const root: MutableTree = new Map();
  let names = 0;
  for (const path of text.slice(0, textLengthMax).replaceAll(' ', '').split(',')) {
    let at = root;
    for (const step of path.split('.').slice(0, filterLimits.hopsMax)) {
      if (step === '') break;
      // The old form of a back relation: comments(post).
      const name = step.replace(/^(\w+)\((\w+)\)$/, '$1_via_$2');
      let next = at.get(name);
      if (next === undefined) {
        if (names === namesMax) break;
        names += 1;
        next = new Map();
        at.set(name, next);
      }
      at = next;
    }
  }
  return root;
}
