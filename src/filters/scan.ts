import { filterError, quote } from './filter-error.ts';

export interface Token {
  readonly kind:
    'identifier' | 'call' | 'number' | 'text' | 'operator' | 'join' | 'open' | 'close' | 'comma' | 'end';
  /** The token as written; for a text its content, unescaped; for a call its name. */
  readonly text: string;
  readonly start: number;
  /** The offset after its last character. The next token is looked for from here. */
  readonly end: number;
}

/**
 * Returns the first token at or after `offset`, behind blanks and `//` comments. Reads each character once and at most one behind the
 * token, so that a whole text takes linear time. Throws a filter error.
 */
export function scanToken(text: string, offset: number): Token {
  const start = skipBlanks(text, offset);
  if (start >= text.length) return { kind: 'end', text: '', start, end: start };
  const code = text.charCodeAt(start);
  if (isIdentifierStart(code)) return scanIdentifier(text, start);
  if (isDigit(code) || code === minus) return scanNumber(text, start);
  if (code === doubleQuote || code === singleQuote) return scanText(text, start);
  if (isOperatorPart(code)) return scanOperator(text, start);
  if (code === ampersand || code === bar) return scanJoin(text, start);
  const kind = punctuation.get(code);
  if (kind !== undefined) return { kind, text: text.slice(start, start + 1), start, end: start + 1 };
  const character = String.fromCodePoint(text.codePointAt(start) ?? code);
  throw filterError(`Unexpected character ${quote(character)}`, start);
}

const tab = 0x09;
const newline = 0x0a;
const space = 0x20;
const doubleQuote = 0x22;
const ampersand = 0x26;
const singleQuote = 0x27;
const openParenthesis = 0x28;
const minus = 0x2d;
const dot = 0x2e;
const slash = 0x2f;
const colon = 0x3a;
const backslash = 0x5c;
const underscore = 0x5f;
const bar = 0x7c;

const punctuation: ReadonlyMap<number, 'open' | 'close' | 'comma'> = new Map([
  [openParenthesis, 'open'],
  [0x29, 'close'],
  [0x2c, 'comma'],
]);

const operators: ReadonlySet<string> = new Set(
  ['=', '!=', '~', '!~', '<', '<=', '>', '>='].flatMap((operator) => [operator, `?${operator}`]),
);

/** Only these three are blanks: a carriage return or a no-break space inside a filter is more likely a mistake, which is reported. */
function skipBlanks(text: string, offset: number): number {
  let at = offset;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === space || code === tab || code === newline) at += 1;
    else if (code === slash) at = skipComment(text, at);
    else return at;
  }
}

function skipComment(text: string, start: number): number {
  if (text.charCodeAt(start + 1) !== slash) {
    throw filterError('Expected a second "/" (a comment begins with "//") after "/"', start + 1);
  }
  let at = start + 2;
  while (at < text.length && text.charCodeAt(at) !== newline) at += 1;
  return at;
}

function scanIdentifier(text: string, start: number): Token {
  let end = start + 1;
  while (isIdentifierPart(text.charCodeAt(end))) end += 1;
  const name = text.slice(start, end);
  const last = text.charCodeAt(end - 1);
  const isLoneSign = name.length === 1 && !isLetter(last);
  if (last === dot || last === colon || isLoneSign)
    throw filterError(`Expected a name after ${quote(name)}`, end);
  if (text.charCodeAt(end) === openParenthesis) return { kind: 'call', text: name, start, end: end + 1 };
  return { kind: 'identifier', text: name, start, end };
}

function scanNumber(text: string, start: number): Token {
  let end = start + 1;
  while (isDigit(text.charCodeAt(end)) || text.charCodeAt(end) === dot) end += 1;
  const number = text.slice(start, end);
  if (!/^-?\d+(\.\d+)?$/.test(number)) {
    throw filterError(`Expected a number like 5, -5 or 0.5 and found ${quote(number)}`, start);
  }
  return { kind: 'number', text: number, start, end };
}

/** The escape sequences of a text: the character after a backslash, and its meaning. Every other backslash is literal. */
const escapes: ReadonlyMap<string, string> = new Map([
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
]);

/** Reads a text as clients of this grammar write it (http-api 8.1), with the same escapes in both kinds of quotes. */
function scanText(text: string, start: number): Token {
  const quoteCode = text.charCodeAt(start);
  let value = '';
  let copied = start + 1;
  for (let at = copied; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quoteCode) return { kind: 'text', text: value + text.slice(copied, at), start, end: at + 1 };
    if (code !== backslash) continue;
    const escaped = escapes.get(text.charAt(at + 1));
    if (escaped === undefined) continue;
    value += text.slice(copied, at) + escaped;
    at += 1;
    copied = at + 1;
  }
  throw filterError('Expected a closing quote for the text that begins', start);
}

function scanOperator(text: string, start: number): Token {
  let end = start + 1;
  while (isOperatorPart(text.charCodeAt(end))) end += 1;
  const operator = text.slice(start, end);
  if (!operators.has(operator)) throw filterError(`Unknown operator ${quote(operator)}`, start);
  return { kind: 'operator', text: operator, start, end };
}

function scanJoin(text: string, start: number): Token {
  let end = start + 1;
  while (text.charCodeAt(end) === ampersand || text.charCodeAt(end) === bar) end += 1;
  const join = text.slice(start, end);
  if (join !== '&&' && join !== '||') {
    throw filterError(`Expected "&&" or "||" and found ${quote(join)}`, start);
  }
  return { kind: 'join', text: join, start, end };
}

function isIdentifierStart(code: number): boolean {
  return isLetter(code) || code === underscore || code === 0x40 || code === 0x23;
}

function isIdentifierPart(code: number): boolean {
  return isLetter(code) || isDigit(code) || code === underscore || code === dot || code === colon;
}

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** One of `=?!<>~`. */
function isOperatorPart(code: number): boolean {
  return (code >= 0x3c && code <= 0x3f) || code === 0x21 || code === 0x7e;
}

/** Writes a text as a literal of a filter: {@link scanToken} reads it back. */
export function printText(text: string): string {
  return `'${text.replaceAll(/[\\'\n\t\r]/g, (character) => written.get(character) ?? character)}'`;
}

const written: ReadonlyMap<string, string> = new Map(
  [...escapes].map(([letter, character]) => [character, `\\${letter}`]),
);
