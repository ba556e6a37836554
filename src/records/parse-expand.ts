import { filterLimits } from '../filters/filter-limits.ts';

/** The relations to expand in a record, and those to expand in the records that they lead to. */
export type ExpandTree = ReadonlyMap<string, ExpandTree>;

type MutableTree = Map<string, MutableTree>;

/** Longer texts are cut, as deeper paths are: what cannot be expanded is left out silently (http-api section 7). */
const textLengthMax = 4_096;
/** Each name costs a statement. Further names are left out in the same way. */
const namesMax = 64;

/** Parses `author,comments_via_post.author` into a tree. A path that begins another one adds nothing to it. */
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
