/**
 * Cuts TypeScript into words, strings, numbers and punctuation: enough to find imports, exports and banned syntax
 * without a compiler. Comments are returned separately: rules need their places, but never the tokens after them.
 *
 * A template literal becomes one `template` token per stretch of text, with the tokens of its `${…}` between them.
 * A slash begins a regular expression where a value may begin and the expression ends on the same line; after `)`
 * it divides. That is wrong for `if (x) /y/.test(z)`, which nobody writes here.
 */
type TokenKind = 'word' | 'string' | 'number' | 'punctuation' | 'template' | 'regex';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly line: number;
}

export interface Comment {
  readonly line: number;
  readonly lastLine: number;
}

interface Cursor {
  readonly text: string;
  readonly tokens: Token[];
  readonly comments: Comment[];
  /** For each open `${`, the number of braces open inside it. */
  readonly holes: number[];
  position: number;
  line: number;
}

const wordPattern = /[\p{ID_Start}$_#][\p{ID_Continue}$]*/uy;
const numberPattern = /\d(?:[\w.]|(?<=[eE])[+-])*/y;
const regexPattern = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
const spacePattern = /\s+/y;
const punctuationPattern = /=>|\.\.\.|\?\.|./suy;
const wordsBeforeRegex = new Set(
  'return typeof case in of delete void throw new else do yield await'.split(' '),
);

export function tokenize(text: string): {
  readonly tokens: readonly Token[];
  readonly comments: readonly Comment[];
} {
  const cursor: Cursor = { text, tokens: [], comments: [], holes: [], position: 0, line: 1 };
  if (text.startsWith('#!')) cursor.position = endOf(text, '\n', 0) - 1;
  while (cursor.position < text.length) readNext(cursor);
  return cursor;
}

function readNext(cursor: Cursor): void {
  const { text, position } = cursor;
  const character = text.charAt(position);
  if (skip(cursor, spacePattern)) return;
  if (text.startsWith('//', position)) return readComment(cursor, lineEnd(text, position));
  if (text.startsWith('/*', position)) return readComment(cursor, endOf(text, '*/', position + 2));
  if (character === "'" || character === '"') return take(cursor, 'string', stringEnd(text, position));
  if (character === '`') return readTemplate(cursor);
  if (character === '}' && cursor.holes.at(-1) === 0) {
    cursor.holes.pop();
    return readTemplate(cursor);
  }
  if (character === '/' && mayBeginValue(cursor.tokens.at(-1)) && match(cursor, 'regex', regexPattern))
    return;
  if (match(cursor, 'word', wordPattern) || match(cursor, 'number', numberPattern)) return;
  countBrace(cursor, character);
  match(cursor, 'punctuation', punctuationPattern);
}

function skip(cursor: Cursor, pattern: RegExp): boolean {
  const found = matchAt(cursor, pattern);
  if (found === undefined) return false;
  advance(cursor, cursor.position + found.length);
  return true;
}

function match(cursor: Cursor, kind: TokenKind, pattern: RegExp): boolean {
  const found = matchAt(cursor, pattern);
  if (found === undefined) return false;
  take(cursor, kind, cursor.position + found.length);
  return true;
}

function matchAt(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.position;
  return pattern.exec(cursor.text)?.[0];
}

function take(cursor: Cursor, kind: TokenKind, end: number): void {
  cursor.tokens.push({ kind, text: cursor.text.slice(cursor.position, end), line: cursor.line });
  advance(cursor, end);
}

function advance(cursor: Cursor, end: number): void {
  cursor.line += cursor.text.slice(cursor.position, end).split('\n').length - 1;
  cursor.position = end;
}

function readComment(cursor: Cursor, end: number): void {
  const line = cursor.line;
  advance(cursor, end);
  cursor.comments.push({ line, lastLine: cursor.line });
}

/** Reads from a backtick, or from the brace that closes a hole, to the next hole or the closing backtick. */
function readTemplate(cursor: Cursor): void {
  const { text } = cursor;
  let end = cursor.position + 1;
  while (end < text.length && text[end] !== '`' && !text.startsWith('${', end))
    end += text[end] === '\\' ? 2 : 1;
  if (text.startsWith('${', end)) {
    cursor.holes.push(0);
    end += 1;
  }
  take(cursor, 'template', Math.min(end + 1, text.length));
}

function countBrace(cursor: Cursor, character: string): void {
  const open = cursor.holes.length - 1;
  if (open < 0) return;
  if (character === '{') cursor.holes[open] = (cursor.holes[open] ?? 0) + 1;
  if (character === '}') cursor.holes[open] = (cursor.holes[open] ?? 0) - 1;
}

function mayBeginValue(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === 'word') return wordsBeforeRegex.has(before.text);
  if (before.kind === 'template') return before.text.endsWith('${');
  return before.kind === 'punctuation' && before.text !== ')' && before.text !== ']';
}

function stringEnd(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && text[end] !== text[start] && text[end] !== '\n')
    end += text[end] === '\\' ? 2 : 1;
  return Math.min(end + 1, text.length);
}

function lineEnd(text: string, start: number): number {
  const found = text.indexOf('\n', start);
  return found < 0 ? text.length : found;
}

function endOf(text: string, mark: string, start: number): number {
  const found = text.indexOf(mark, start);
  return found < 0 ? text.length : found + mark.length;
}
