import { folds, formsOf } from '../base/case-folding.ts';

/**
 * Case folding in the SQL of PostgreSQL. Its own functions depend on version and locale, and only from 18 on they know case folding at all.
 * A pattern becomes a regular expression with all forms of its letters, which are matched by no locale; the value of a column is
 * folded by translate(), letter by letter.
 */

/** Returns a finished pattern of LIKE as a regular expression that matches every form of its letters. */
export function formsExpression(pattern: string): string {
  const parts = [...pattern.matchAll(/\\[^]|[^]/gu)].map(([part]) => part);
  const isOpenBefore = parts[0] === '%';
  const isOpenBehind = parts.length > 1 && parts.at(-1) === '%';
  const inner = parts.slice(isOpenBefore ? 1 : 0, isOpenBehind ? -1 : undefined);
  const steps = inner.map((part) => (part === '%' ? '.*' : part === '_' ? '.' : literalStep(part)));
  return `${isOpenBefore ? '' : '^'}${steps.join('')}${isOpenBehind ? '' : '$'}`;
}

/** A character, or one behind a `\`. */
function literalStep(part: string): string {
  const character = part.length > 1 && part.startsWith('\\') ? part.slice(1) : part;
  const [folded = character, ...others] = formsOf(fold(character));
  if (others.length > 0) return `[${[folded, ...others].join('')}]`;
  return folded.replace(/[\].^$*+?(){}|[\\]/, String.raw`\$&`);
}

function fold(character: string): string {
  return folds().get(character) ?? character;
}

interface Translation {
  readonly from: string;
  readonly to: string;
}

/** The two lists for translate(), in which it looks for each character from the beginning. */
export function translation(): Translation {
  return (cached ??= makeTranslation());
}

let cached: Translation | undefined;

function makeTranslation(): Translation {
  const pairs = new Map<string, string>();
  // Frequent characters come first, even those that stay: it is at the end of the list only for rare ones.
  for (const character of frequent) pairs.set(character, fold(character));
  for (const [from, to] of folds()) if (from > '\u007f') pairs.set(from, to);
  return { from: [...pairs.keys()].join(''), to: [...pairs.values()].join('') };
}

function between(first: number, last: number): readonly string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index));
}

/** ASCII in lower case, as it is translated after that, and the letters of the Latin, Greek and Cyrillic alphabets. */
const frequent = [
  ...' etaoinsrhldcumfpgwybvkxjqz0123456789.,-'.split(''),
  ...between(0xdf, 0xff),
  ...between(0x430, 0x45f),
  ...between(0x3b1, 0x3ce),
  ...between(0xc0, 0xde),
  ...between(0x400, 0x42f),
  ...between(0x391, 0x3a9),
  ...between(0x100, 0x17f),
];
