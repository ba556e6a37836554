import { codePointMax, complementOf, type CodePointSet } from './code-point-set.ts';
import { parseBracketSet } from './parse-bracket-set.ts';
import {
  casedSet,
  PatternError,
  takeEscapedCharacter,
  takeNamedSet,
  type PatternCursor,
} from './pattern-cursor.ts';

/*
 * The syntax of `pattern` and `autogeneratePattern`: RE2's, so nothing that would need backtracking.
 *
 *   choice    := sequence ("|" sequence)*
 *   sequence  := (atom quantifier?)*
 *   atom      := literal | "." | "^" | "$" | "[" set "]" | "\" escape | group
 *   group     := "(" choice ")" | "(?:" choice ")" | "(?P<name>" choice ")" | "(?<name>" choice ")" | "(?ims)" | "(?ims:" choice ")"
 *   quantifier:= ("*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}") "?"?       n, m at most 1,000
 *   escape    := d D w W s S b B A z | a f n r t v | xHH | x{H…} | pL | p{Name} | PL | P{Name} | ASCII punctuation
 *
 * Whether a quantifier is lazy changes what is found, never whether something is found: it is read and dropped.
 */
export type PatternNode =
  | { readonly kind: 'set'; readonly set: CodePointSet }
  | { readonly kind: 'sequence'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number }
  | { readonly kind: 'assertion'; readonly what: Assertion };

export type Assertion = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'wordBoundary' | 'noWordBoundary';

const lengthMax = 1000;
const groupDepthMax = 100;
const repeatMax = 1000;

const ASSERTION_ESCAPES: ReadonlyMap<string, Assertion> = new Map([
  ['A', 'textStart'],
  ['z', 'textEnd'],
  ['b', 'wordBoundary'],
  ['B', 'noWordBoundary'],
]);
const NOT_NEW_LINE = complementOf([0x0a, 0x0a]);
const ANYTHING: CodePointSet = [0, codePointMax];

/** Parses a pattern. Throws a {@link PatternError} whose message completes "Invalid regular expression: …". */
export function parsePattern(source: string): PatternNode {
  // A text has at least half as many characters as UTF-16 units: a long one is not taken apart.
  const characters = source.length > 2 * lengthMax ? undefined : Array.from(source);
  if (characters === undefined || characters.length > lengthMax)
    throw new PatternError(`longer than ${lengthMax} characters`);
  const cursor: PatternCursor = { characters, at: 0, flags: '', depth: 0 };
  const tree = parseChoice(cursor);
  if (cursor.at < characters.length) throw new PatternError('unexpected )');
  return tree;
}

function parseChoice(cursor: PatternCursor): PatternNode {
  const nodes = [parseSequence(cursor)];
  while (cursor.characters[cursor.at] === '|') {
    cursor.at++;
    nodes.push(parseSequence(cursor));
  }
  return nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { kind: 'choice', nodes };
}

function parseSequence(cursor: PatternCursor): PatternNode {
  const nodes: PatternNode[] = [];
  for (;;) {
    const next = cursor.characters[cursor.at];
    if (next === undefined || next === '|' || next === ')') return { kind: 'sequence', nodes };
    const node = parseAtom(cursor);
    const quantifier = takeQuantifier(cursor);
    if (quantifier === undefined) {
      if (node !== undefined) nodes.push(node);
      continue;
    }
    if (node === undefined) throw new PatternError('nothing to repeat');
    if (takeQuantifier(cursor) !== undefined) throw new PatternError('a quantifier after a quantifier');
    nodes.push({ kind: 'repeat', node, ...quantifier });
  }
}

/** Parses one atom; undefined for a group that only sets flags. */
function parseAtom(cursor: PatternCursor): PatternNode | undefined {
  const character = cursor.characters[cursor.at] ?? '';
  if (character === '(') return parseGroup(cursor);
  if (character === '[') return { kind: 'set', set: parseBracketSet(cursor) };
  if (character === '\\') return parseEscape(cursor);
  if (takeQuantifier(cursor) !== undefined) throw new PatternError('nothing to repeat');
  cursor.at++;
  const isMultiline = cursor.flags.includes('m');
  if (character === '^') return { kind: 'assertion', what: isMultiline ? 'lineStart' : 'textStart' };
  if (character === '$') return { kind: 'assertion', what: isMultiline ? 'lineEnd' : 'textEnd' };
  if (character === '.') return { kind: 'set', set: cursor.flags.includes('s') ? ANYTHING : NOT_NEW_LINE };
  return { kind: 'set', set: casedSet(cursor, literal(character), false) };
}

function parseGroup(cursor: PatternCursor): PatternNode | undefined {
  const outerFlags = cursor.flags;
  cursor.at++;
  if (cursor.characters[cursor.at] === '?' && takeGroupKind(cursor) === 'flags') return undefined;
  if (++cursor.depth > groupDepthMax)
    throw new PatternError(`more than ${groupDepthMax} groups inside each other`);
  const node = parseChoice(cursor);
  if (cursor.characters[cursor.at] !== ')') throw new PatternError('missing )');
  cursor.at++;
  cursor.depth--;
  cursor.flags = outerFlags;
  return node;
}

/** Takes what is between `(` and the content of a group. The flags of a group without content hold until the surrounding group ends. */
function takeGroupKind(cursor: PatternCursor): 'group' | 'flags' {
  const head = cursor.characters.slice(cursor.at, cursor.at + 80).join('');
  const name = /^\?P?<[A-Za-z_]\w{0,63}>/.exec(head);
  if (name !== null) {
    cursor.at += name[0].length;
    return 'group';
  }
  const flags = /^\?([imsU]{0,8})(?:-([imsU]{1,8}))?([:)])/.exec(head);
  if (flags === null)
    throw new PatternError(
      /^\?<?[=!]/.test(head) ? 'look-arounds are not supported' : 'this kind of (? group is not supported',
    );
  const [whole, on = '', off = '', end] = flags;
  cursor.at += whole.length;
  cursor.flags = Array.from(cursor.flags + on)
    .filter((flag) => !off.includes(flag))
    .join('');
  return end === ':' ? 'group' : 'flags';
}

function parseEscape(cursor: PatternCursor): PatternNode {
  const character = cursor.characters[cursor.at + 1] ?? '';
  const what = ASSERTION_ESCAPES.get(character);
  if (what !== undefined) {
    cursor.at += 2;
    return { kind: 'assertion', what };
  }
  const set = takeNamedSet(cursor) ?? casedSet(cursor, literal(takeEscapedCharacter(cursor)), false);
  return { kind: 'set', set };
}

function literal(character: string): CodePointSet {
  const point = character.codePointAt(0) ?? 0;
  return [point, point];
}

/** Takes a quantifier if there is one. `a{` and `a{,3}` are literals in RE2. */
function takeQuantifier(cursor: PatternCursor): { readonly min: number; readonly max: number } | undefined {
  const head = cursor.characters.slice(cursor.at, cursor.at + 24).join('');
  const match = /^(?:([*+?])|\{(\d{1,9})(,(\d{0,9}))?\})\??/.exec(head);
  if (match === null) return undefined;
  cursor.at += match[0].length;
  const [, sign, least, comma, most] = match;
  if (sign !== undefined) return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
  const min = Number(least);
  const max = comma === undefined ? min : most === '' || most === undefined ? Infinity : Number(most);
  if (min > repeatMax || (max !== Infinity && max > repeatMax))
    throw new PatternError(`repeated more than ${repeatMax} times`);
  if (min > max) throw new PatternError('a quantifier with its bounds reversed');
  return { min, max };
}
