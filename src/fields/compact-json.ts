/** Levels of nesting. Deeper JSON is refused everywhere (http-api.md A14): it could be stored, but not written to an answer. */
export const jsonDepthMax = 64;

interface Cursor {
  readonly text: string;
  at: number;
}

class Refused extends Error {
  override readonly name = 'Refused';
}

/**
 * Returns the same JSON without white space: keys in their order (`JSON.parse` would put those that look like numbers first), the
 * last of equal keys, numbers and escapes as ECMAScript prints them. Undefined for a text that is not JSON or that http-api.md
 * A14 refuses: U+0000, lone surrogates, whole numbers beyond 2^53 - 1, numbers that overflow, 65 levels.
 */
export function compactJson(text: string): string | undefined {
  try {
    // Proves the syntax, so that the walk below need not look for errors.
    const value: unknown = JSON.parse(text);
    // A text that prints as it came is compact already, and needs the walk only where something in it may be refused.
    if (text.length <= quickLengthMax && !mayBeRefused.test(text) && JSON.stringify(value) === text)
      return text;
    return compactValue({ text, at: 0 }, 0);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Refused) return undefined;
    throw error;
  }
}

/** In longer texts `mayBeRefused` would backtrack too much. */
const quickLengthMax = 4_096;

/** Finds an escape by number, more digits than every whole number may have, or as many brackets as are one level too many. */
const mayBeRefused = /\\u|\d{16}|^[^[{]*(?:[[{][^[{]*){65}/;

function compactValue(cursor: Cursor, depth: number): string {
  const first = peek(cursor);
  if (first === '"') return compactText(takeText(cursor));
  if (first !== '{' && first !== '[') return compactLiteral(takeLiteral(cursor));
  if (depth === jsonDepthMax) throw new Refused('too deep');
  return first === '{' ? compactObject(cursor, depth + 1) : compactArray(cursor, depth + 1);
}

function compactObject(cursor: Cursor, depth: number): string {
  const members = new Map<string, string>();
  cursor.at++;
  while (peek(cursor) !== '}') {
    const key = compactText(takeText(cursor));
    // The colon: peek skips the white space before it.
    peek(cursor);
    cursor.at++;
    members.set(key, compactValue(cursor, depth));
    if (peek(cursor) === ',') cursor.at++;
  }
  cursor.at++;
  return `{${Array.from(members, ([key, value]) => `${key}:${value}`).join(',')}}`;
}

function compactArray(cursor: Cursor, depth: number): string {
  const items: string[] = [];
  cursor.at++;
  while (peek(cursor) !== ']') {
    items.push(compactValue(cursor, depth));
    if (peek(cursor) === ',') cursor.at++;
  }
  cursor.at++;
  return `[${items.join(',')}]`;
}

function compactText(raw: string): string {
  // Without escapes a JSON string already is what ECMAScript would print, lone surrogates aside.
  if (!raw.includes('\\') && raw.isWellFormed()) return raw;
  const value: unknown = JSON.parse(raw);
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed())
    throw new Refused('unstorable text');
  return JSON.stringify(value);
}

function compactLiteral(raw: string): string {
  if (raw === 'true' || raw === 'false' || raw === 'null') return raw;
  const value = Number(raw);
  const isWhole = /^-?\d+$/.test(raw);
  if (!Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value)))
    throw new Refused('unstorable number');
  return JSON.stringify(value);
}

/** Returns the next character that is not white space, without consuming it. */
function peek(cursor: Cursor): string {
  while (' \n\r\t'.includes(cursor.text.charAt(cursor.at))) {
    // At the end charAt returns an empty text, which every text includes.
    if (cursor.at >= cursor.text.length) throw new Refused('unexpected end');
    cursor.at++;
  }
  return cursor.text.charAt(cursor.at);
}

function takeText(cursor: Cursor): string {
  peek(cursor);
  const start = cursor.at++;
  for (let code = 0; code !== 0x22; cursor.at++) {
    code = cursor.text.charCodeAt(cursor.at);
    if (code === 0x5c) cursor.at++;
  }
  return cursor.text.slice(start, cursor.at);
}

function takeLiteral(cursor: Cursor): string {
  const pattern = /[^\s,\]}]*/y;
  pattern.lastIndex = cursor.at;
  const raw = pattern.exec(cursor.text)?.[0] ?? '';
  cursor.at += raw.length;
  return raw;
}
