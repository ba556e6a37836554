import { unionOf, type CodePointSet } from './code-point-set.ts';
import { POSIX_SETS } from './unicode-sets.ts';
import {
  PatternError,
  takeEscapedCharacter,
  casedSet,
  takeNamedSet,
  type PatternCursor,
} from './pattern-cursor.ts';

/** Parses `[…]` or `[^…]`; the cursor is at the opening bracket. A `]` right after the opening is an ordinary character. */
export function parseBracketSet(cursor: PatternCursor): CodePointSet {
  cursor.at++;
  const isNegated = cursor.characters[cursor.at] === '^';
  if (isNegated) cursor.at++;
  const sets: CodePointSet[] = [];
  while (cursor.characters[cursor.at] !== ']' || sets.length === 0) sets.push(takeItem(cursor));
  cursor.at++;
  return casedSet(cursor, unionOf(sets), isNegated);
}

function takeItem(cursor: PatternCursor): CodePointSet {
  const named = takePosixSet(cursor) ?? takeNamedSet(cursor);
  if (named !== undefined) return named;
  const first = takePoint(cursor);
  const isRange = cursor.characters[cursor.at] === '-' && cursor.characters[cursor.at + 1] !== ']';
  if (!isRange) return [first, first];
  cursor.at++;
  const last = takePoint(cursor);
  if (last < first) throw new PatternError('a character range with its bounds reversed');
  return [first, last];
}

/** Takes `[:alpha:]` or `[:^alpha:]`. Without its end, `[` is an ordinary character. */
function takePosixSet(cursor: PatternCursor): CodePointSet | undefined {
  if (cursor.characters[cursor.at] !== '[') return undefined;
  const head = cursor.characters.slice(cursor.at, cursor.at + 16).join('');
  const match = /^\[:(\^?)(\w+):\]/.exec(head);
  if (match === null) return undefined;
  const set = POSIX_SETS.get(match[2] ?? '');
  if (set === undefined) throw new PatternError(`unknown character class ${match[0]}`);
  cursor.at += match[0].length;
  return casedSet(cursor, set, match[1] === '^');
}

function takePoint(cursor: PatternCursor): number {
  const character = cursor.characters[cursor.at];
  if (character === undefined) throw new PatternError('missing ]');
  if (character === '\\') return takeEscapedCharacter(cursor).codePointAt(0) ?? 0;
  cursor.at++;
  return character.codePointAt(0) ?? 0;
}
