import { hasCodePoint, rangesOf, unionOf, type CodePointSet } from './code-point-set.ts';

/** The sets of `\d`, `\w` and `\s`: ASCII as in RE2 (`\s` without the vertical tab). */
export const PERL_SETS: ReadonlyMap<string, CodePointSet> = new Map([
  ['d', setOf('09')],
  ['w', setOf('09AZ__az')],
  ['s', setOf('\t\n\f\r  ')],
]);

/** The sets by their names in `[[:alpha:]]`. */
export const POSIX_SETS: ReadonlyMap<string, CodePointSet> = new Map([
  ['alnum', setOf('09AZaz')],
  ['alpha', setOf('AZaz')],
  ['ascii', [0, 0x7f]],
  ['blank', setOf('\t\t  ')],
  ['cntrl', [0, 0x1f, 0x7f, 0x7f]],
  ['digit', setOf('09')],
  ['graph', setOf('!~')],
  ['lower', setOf('az')],
  ['print', setOf(' ~')],
  ['punct', setOf('!/:@[`{~')],
  ['space', setOf('\t\r  ')],
  ['upper', setOf('AZ')],
  ['word', setOf('09AZ__az')],
  ['xdigit', setOf('09AFaf')],
]);

const unicodeSets = new Map<string, CodePointSet | undefined>();

/** Returns the set of `\p{name}`: a general category (`L`, `Lu`) or a script (`Greek`). Undefined for other names. */
export function unicodeSet(name: string): CodePointSet | undefined {
  if (unicodeSets.has(name)) return unicodeSets.get(name);
  // Only known names are kept: about 200, so the map is bounded.
  const set = readUnicodeSet(name);
  if (set !== undefined) unicodeSets.set(name, set);
  return set;
}

let casedPoints: ReadonlyMap<number, readonly number[]> | undefined;

/** Folded sets. The large ones of `\p{…}` are never freed, and a pattern may name one at each of its characters. */
const folded = new WeakMap<CodePointSet, CodePointSet>();

/** Returns the set with the other cases of its letters, one code point to one. */
export function foldCase(set: CodePointSet): CodePointSet {
  const known = folded.get(set);
  if (known !== undefined) return known;
  const result = withCases(set);
  folded.set(set, result);
  return result;
}

function withCases(set: CodePointSet): CodePointSet {
  casedPoints ??= readCases();
  const added: CodePointSet[] = [];
  for (const [point, cases] of casedPoints)
    if (hasCodePoint(set, point)) added.push(...cases.map((other) => [other, other]));
  return unionOf([set, ...added]);
}

/** Makes a set of pairs of first and last characters. */
function setOf(bounds: string): CodePointSet {
  return Array.from(bounds, (character) => character.codePointAt(0) ?? 0);
}

function readUnicodeSet(name: string): CodePointSet | undefined {
  if (!/^[A-Z][A-Za-z_]{0,39}$/.test(name)) return undefined;
  const pattern = unicodePattern(name.length <= 2 ? name : `Script=${name}`);
  return pattern && pointsWith(pattern);
}

/**
 * Returns a regular expression for one Unicode property: JavaScript has the tables of Unicode, and this pattern cannot be slow.
 */
function unicodePattern(property: string): RegExp | undefined {
  try {
    return new RegExp(`^\\p{${property}}$`, 'u');
  } catch {
    return undefined;
  }
}

function pointsWith(pattern: RegExp): CodePointSet {
  const set: number[] = [];
  for (let point = 0; point <= 0x10ffff; point++) {
    if (!pattern.test(String.fromCodePoint(point))) continue;
    if (set.at(-1) === point - 1) set[set.length - 1] = point;
    else set.push(point, point);
  }
  return set;
}

function readCases(): ReadonlyMap<number, readonly number[]> {
  const byLower = new Map<string, number[]>();
  for (const [first, last] of rangesOf(
    pointsWith(/^[\p{Changes_When_Casefolded}\p{Changes_When_Casemapped}]$/u),
  ))
    for (let point = first; point <= last; point++) {
      // Unicode's simple case folding leaves the dotless ı alone, though its upper case is I.
      if (point === 0x131) continue;
      const text = String.fromCodePoint(point);
      const upper = text.toUpperCase();
      // Upper case first: it unites σ and ς. Not where it is several letters: ß is SS, but belongs to ẞ.
      const key = (Array.from(upper).length === 1 ? upper : text).toLowerCase();
      byLower.set(key, [...(byLower.get(key) ?? []), point]);
    }
  return new Map([...byLower.values()].flatMap((orbit) => orbit.map((point) => [point, orbit] as const)));
}
