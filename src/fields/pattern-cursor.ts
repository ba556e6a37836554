import { complementOf, type CodePointSet } from './code-point-set.ts';
import { foldCase, PERL_SETS, unicodeSet } from './unicode-sets.ts';

/** The position of the pattern parser, shared by parse-pattern.ts and parse-bracket-set.ts. */
export interface PatternCursor {
  /** One item per code point. */
  readonly characters: readonly string[];
  at: number;
  /** The flags that are on, of `i`, `m`, `s` and `U`. */
  flags: string;
  depth: number;
}

/** What is wrong with a pattern, as the end of a sentence. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

const CONTROL_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
]);

/** Takes an escape and returns the one character that it means; the cursor is at the backslash. */
export function takeEscapedCharacter(cursor: PatternCursor): string {
  const character = cursor.characters[cursor.at + 1];
  if (character === undefined) throw new PatternError('a backslash at the end');
  if (character === 'x') return takeHexadecimal(cursor);
  cursor.at += 2;
  const control = CONTROL_ESCAPES.get(character);
  if (control !== undefined) return control;
  const unsupported = unsupportedEscape(character, cursor.characters[cursor.at] ?? '');
  if (unsupported !== undefined) throw new PatternError(`${unsupported} not supported`);
  if (!/^[!-/:-@[-`{-~ ]$/.test(character)) throw new PatternError(`unknown escape \\${character}`);
  return character;
}

/** Names a feature of RE2 that is not supported here, so that the author of a pattern does not look for a mistake in it. */
function unsupportedEscape(character: string, after: string): string | undefined {
  if (character === 'Q' || character === 'E') return '\\Q…\\E is';
  if (character === 'C') return '\\C (a single byte) is';
  // RE2 tells octal escapes and back-references apart in the same way.
  if (character === '0' || /^[1-7][0-7]$/.test(character + after)) return 'octal escapes (use \\x{…}) are';
  return /^[1-9]$/.test(character) ? 'back-references are' : undefined;
}

/**
 * Takes `\d`, `\pL`, `\p{Name}` and the like, or returns undefined where there is none. A capital letter means the complement.
 */
export function takeNamedSet(cursor: PatternCursor): CodePointSet | undefined {
  const letter = cursor.characters[cursor.at + 1] ?? '';
  if (cursor.characters[cursor.at] !== '\\') return undefined;
  if (letter === 'p' || letter === 'P') return takeUnicodeSet(cursor);
  const set = PERL_SETS.get(letter.toLowerCase());
  if (set === undefined) return undefined;
  cursor.at += 2;
  return casedSet(cursor, set, letter === letter.toUpperCase());
}

/** Returns the set, with both cases under the flag `i`. They are added before the complement is taken: `(?i)[^a]` must not have `A`. */
export function casedSet(cursor: PatternCursor, set: CodePointSet, isComplement: boolean): CodePointSet {
  const folded = cursor.flags.includes('i') ? foldCase(set) : set;
  return isComplement ? complementOf(folded) : folded;
}

function takeUnicodeSet(cursor: PatternCursor): CodePointSet {
  const head = cursor.characters.slice(cursor.at, cursor.at + 48).join('');
  const match = /^\\([pP])(?:([A-Z])|\{(\^?)(\w{1,40})\})/.exec(head);
  if (match === null) throw new PatternError('a \\p without a name');
  const [whole, kind, letter, hat, name] = match;
  const set = unicodeSet(letter ?? name ?? '');
  if (set === undefined) throw new PatternError(`unknown character class ${whole}`);
  cursor.at += whole.length;
  return casedSet(cursor, set, (kind === 'P') !== (hat === '^'));
}

function takeHexadecimal(cursor: PatternCursor): string {
  const head = cursor.characters.slice(cursor.at, cursor.at + 16).join('');
  const match = /^\\x(?:([0-9a-f]{2})|\{([0-9a-f]{1,8})\})/i.exec(head);
  const point = parseInt(match?.[1] ?? match?.[2] ?? '', 16);
  if (match === null || point > 0x10ffff) throw new PatternError('an invalid \\x escape');
  cursor.at += match[0].length;
  return String.fromCodePoint(point);
}
