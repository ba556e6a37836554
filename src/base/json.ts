import { isUtf8 } from 'node:buffer';
import { AppError } from './errors.ts';
import { JsonOutline } from './json-outline.ts';
import { atOnce, inTurns } from './pieces.ts';

/** What http-api A14 and A20 allow. Positions in messages count UTF-16 units of the text from 0. */
export interface JsonLimits {
  /** How deep arrays and objects may be nested. */
  readonly depthMax: number;
  /**
   * The maximum of commas and opening brackets: an estimate of the number of values, wrong by a factor of two at most. Each text
   * counts two more and each key four, because ever new ones take far longer to parse than numbers.
   */
  readonly nodesMax: number;
  /** How many levels must not repeat a key; 1 is only the value itself. On deeper levels the last of equal keys wins. */
  readonly uniqueDepth: number;
  /** The maximum of members on these levels. */
  readonly uniqueMembersMax: number;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export const jsonLimits: JsonLimits = {
  depthMax: 64,
  // A json field's default 1 MiB holds half a million numbers. A million empty objects take about 60 MB; the 11 million
  // that fit into a body of 32 MiB would take ten times that. 200,000 different keys take 0.1 s to parse.
  nodesMax: 1_000_000,
  uniqueDepth: 1,
  // Twenty for each of the most fields that a collection may have.
  uniqueMembersMax: 10_000,
};

/** Returns the text of a body. Bytes that are not UTF-8 are refused and not replaced, or two names could become one. */
export function decodeUtf8(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  if (isUtf8(bytes)) return text;
  const replaced = Buffer.from(text, 'utf8');
  throw refusal(`The text is not valid UTF-8, from byte ${firstDifference(buffer, replaced)} on.`);
}

/** Returns the text without a byte order mark, which programs on Windows write and which is not part of JSON (RFC 8259 section 8.1). */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** Returns where two byte sequences differ, or where the first ends. */
function firstDifference(one: Buffer, other: Buffer): number {
  let at = 0;
  // By large parts first: a comparison of single bytes is a hundred times slower.
  while (at < one.length && one.subarray(at, at + partLength).equals(other.subarray(at, at + partLength)))
    at += partLength;
  while (at < one.length && one[at] === other[at]) at++;
  return Math.min(at, one.length);
}

const partLength = 64 * 1024;

/**
 * Returns the value of a JSON text. One scan refuses what JSON.parse would accept (A14: U+0000 and lone surrogates in strings,
 * integers that lose digits, numbers that overflow, too deep, too many, a repeated key near the top); JSON.parse does the rest.
 * Keys such as `__proto__` become own members: read members with {@link ownMember}, never assign or spread a body.
 * Throws AppError `bad_request`.
 */
export function parseJson(text: string, limits: JsonLimits = jsonLimits): unknown {
  requireWellFormed(text);
  const members = atOnce(scan(text, limits));
  return requireUniqueKeys(text, parse(text), { members, limits });
}

/** From this length on, a text is parsed in steps. */
const largeLength = 512 * 1024;

/** In longer texts, the place of a fault is not looked for: that would hold up all others. */
const explainedLengthMax = 1024 * 1024;

/** As {@link parseJson}, with other work between the steps where the text is large. */
export async function parseJsonInTurns(
  text: string,
  limits: JsonLimits = jsonLimits,
  steps?: JsonOutline,
): Promise<unknown> {
  if (steps === undefined && text.length < largeLength) return parseJson(text, limits);
  const outline = steps ?? new JsonOutline();
  requireWellFormed(text);
  const members = await inTurns(scan(text, limits, outline));
  const parsed = await inTurns(outline.parse(text));
  // Looking for the place of the fault takes as long as parsing the whole.
  if (parsed === undefined && text.length > explainedLengthMax) throw refusal('The text is not valid JSON.');
  const { value } = parsed ?? { value: parse(text) };
  return requireUniqueKeys(text, value, { members, limits });
}

function requireWellFormed(text: string): void {
  if (!text.isWellFormed()) throw refusal(`A surrogate stands alone at position ${loneSurrogateAt(text)}.`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's own message is not passed on, not even as a cause: it quotes the body, which may hold a password.
    throw refusal(`The text is not valid JSON: ${jsonFault(text)}.`);
  }
}

/** JSON.parse keeps one of equal keys, so fewer keys than colons means that a key was repeated. */
function requireUniqueKeys(
  text: string,
  value: unknown,
  { members, limits }: { readonly members: number; readonly limits: JsonLimits },
): unknown {
  if (members > 0 && countKeys(value, limits.uniqueDepth) !== members)
    throw text.length > explainedLengthMax
      ? refusal('A key is repeated.')
      : duplicateKey(text, limits.uniqueDepth);
  return value;
}

function countKeys(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth === 0) return 0;
  let count = Array.isArray(value) ? 0 : Object.keys(value).length;
  if (depth > 1) for (const inner of Object.values(value)) count += countKeys(inner, depth - 1);
  return count;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a member that the body itself gave: `constructor` and the like, which every object inherits, are absent. */
export function ownMember(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BIG_D = 0x44;
const BIG_E = 0x45;
const SMALL_D = 0x64;
const SMALL_E = 0x65;
const SMALL_U = 0x75;
/** `[` and `{`, `]` and `}` differ in one bit. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/** All integers of 15 digits are exact; only longer literals must be checked. */
const SAFE_LENGTH = 15;
/** A literal without an exponent can overflow only from 309 digits on. */
const FINITE_LENGTH = 308;

/**
 * Checks what JSON.parse does not, and returns the number of members down to `uniqueDepth`. The scan assumes a valid grammar: on an
 * invalid text it may misread things, but JSON.parse then refuses the text. Yields how far it has come now and then.
 */
function* scan(text: string, limits: JsonLimits, outline?: JsonOutline): Generator<number, number> {
  const { length } = text;
  let depth = 0;
  let nodes = 0;
  let members = 0;
  let backslash = indexFrom(text, '\\', 0);
  let noted = 0;
  for (let at = 0; at < length; at++) {
    if (at - noted >= stepLength) {
      yield at - noted;
      noted = at;
    }
    const code = text.charCodeAt(at);
    // First, because a body may be white space for the most part.
    if (code <= SPACE) continue;
    if (code === QUOTE) {
      nodes += 2;
      const start = at;
      const end = indexFrom(text, '"', at + 1);
      if (end < backslash) at = end;
      else {
        at = yield* scanEscapesInSteps(text, backslash);
        backslash = indexFrom(text, '\\', at);
        noted = at;
      }
      outline?.text(start, at + 1);
    } else if (code === COMMA) {
      nodes++;
      outline?.comma(at);
    } else if (code === COLON) {
      nodes += 2;
      if (depth <= limits.uniqueDepth && ++members > limits.uniqueMembersMax)
        throw tooMany(limits.uniqueMembersMax, 'members on the first levels', at);
    } else if (code >= DIGIT_0 ? code <= DIGIT_9 : code === MINUS) {
      at = scanNumber(text, at) - 1;
    } else if ((code | BRACE_BIT) === OPENING) {
      nodes++;
      outline?.open(at);
      if (++depth > limits.depthMax)
        throw refusal(`More than ${limits.depthMax} levels deep at position ${at}.`);
    } else if ((code | BRACE_BIT) === CLOSING) {
      depth--;
      outline?.close(at);
    }
    if (nodes > limits.nodesMax) throw tooMany(limits.nodesMax, 'values', at);
  }
  return members;
}

function tooMany(max: number, what: string, at: number): AppError {
  return refusal(`More than ${max} ${what} at position ${at}.`);
}

function indexFrom(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from);
  return at === -1 ? text.length : at;
}

/** How many characters are scanned in one step. */
const stepLength = 64 * 1024;

/** As {@link scanEscapes}, in steps whose lengths it yields. */
function* scanEscapesInSteps(text: string, from: number): Generator<number, number> {
  let at = from;
  for (;;) {
    const before = at;
    at = scanEscapes(text, at, at + stepLength);
    if (at < before + stepLength) return at;
    if (at >= text.length) return text.length;
    yield at - before;
    if (text.charCodeAt(at) === QUOTE) return at;
  }
}

/** Scans a string from its first backslash on, and returns the position of its closing quote, or one behind `to`. */
function scanEscapes(text: string, from: number, to = text.length): number {
  let at = from;
  while (at < to) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code !== BACKSLASH) at++;
    else if (text.charCodeAt(at + 1) === SMALL_U) at = scanUnicodeEscape(text, at);
    else at += 2;
  }
  return at;
}

/** Returns the position after `\uXXXX`, or after both halves of a pair. */
function scanUnicodeEscape(text: string, at: number): number {
  const first = text.charCodeAt(at + 2);
  if (first === DIGIT_0 && text.startsWith('0000', at + 2)) throw refusal(`U+0000 at position ${at}.`);
  if (first !== SMALL_D && first !== BIG_D) return at + 6;
  const unit = Number.parseInt(text.slice(at + 2, at + 6), 16);
  if (!(unit >= 0xd800)) return at + 6;
  const next = text.startsWith('\\u', at + 6) ? Number.parseInt(text.slice(at + 8, at + 12), 16) : 0;
  if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) return at + 12;
  throw refusal(`A surrogate stands alone at position ${at}.`);
}

/** Returns the position after the number that begins at `from`. */
function scanNumber(text: string, from: number): number {
  let at = from + 1;
  let code = text.charCodeAt(at);
  while (code >= DIGIT_0 && code <= DIGIT_9) code = text.charCodeAt(++at);
  if (code !== DOT && code !== SMALL_E && code !== BIG_E) {
    if (at - from > SAFE_LENGTH && !Number.isSafeInteger(Number(text.slice(from, at)))) {
      throw refusal(`An integer beyond ±(2^53-1) at position ${from}.`);
    }
    return at;
  }
  let hasExponent = false;
  while (
    (code >= DIGIT_0 && code <= DIGIT_9) ||
    code === DOT ||
    code === MINUS ||
    code === PLUS ||
    (code | 0x20) === SMALL_E
  ) {
    hasExponent ||= (code | 0x20) === SMALL_E;
    code = text.charCodeAt(++at);
  }
  if ((hasExponent || at - from > FINITE_LENGTH) && Math.abs(Number(text.slice(from, at))) === Infinity) {
    throw refusal(`A number too large at position ${from}.`);
  }
  return at;
}

function loneSurrogateAt(text: string): number {
  const repaired = text.toWellFormed();
  let at = 0;
  while (text.charCodeAt(at) === repaired.charCodeAt(at)) at++;
  return at;
}

/** Finds the repeated key of a valid text, reading keys one by one down to `uniqueDepth`: slow, but only for a refusal. */
function duplicateKey(text: string, uniqueDepth: number): AppError {
  /** The keys of each open array or object, the innermost last. */
  const open: Set<unknown>[] = [];
  let backslash = indexFrom(text, '\\', 0);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at) | BRACE_BIT;
    if (code === OPENING) open.push(new Set());
    else if (code === CLOSING) open.pop();
    if (text.charCodeAt(at) !== QUOTE) continue;
    const start = at++;
    const end = indexFrom(text, '"', at);
    if (backslash < at) backslash = indexFrom(text, '\\', at);
    at = end < backslash ? end : scanEscapes(text, backslash);
    if (open.length > uniqueDepth || !isKey(text, at + 1)) continue;
    const key: unknown = JSON.parse(text.slice(start, at + 1));
    if (open.at(-1)?.has(key) === true)
      return refusal(`The key ${JSON.stringify(key).slice(0, 80)} is repeated at position ${start}.`);
    open.at(-1)?.add(key);
  }
  return refusal('A key is repeated.');
}

/** True when a colon follows the string that ends before `from`. */
function isKey(text: string, from: number): boolean {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at++;
  return text.charCodeAt(at) === COLON;
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message);
}

/** How far a text is searched for a character, which parses its beginning up to 18 times. */
const searchedMax = 250_000;

/** A message of the engine with a position and a fixed description. Others quote the text. */
const PLACED = /^([^"]+?)(?: in JSON)? at position (\d+) \(line \d+ column \d+\)$/;

/** Returns why and where JSON.parse rejects a text: the engine's message, without its quotation of the text. */
function jsonFault(text: string): string {
  const message = messageOf(text);
  const [, fault = '', at] = PLACED.exec(message) ?? [];
  if (at !== undefined) return `${fault.charAt(0).toLowerCase()}${fault.slice(1)} at position ${at}`;
  if (message.startsWith('Unexpected end')) return `it ends at position ${text.length}`;
  // The character that is wrong is the last one of the shortest beginning that is refused for it.
  let refused = Math.min(text.length, searchedMax);
  if (!endsWrong(text.slice(0, refused))) return `the first ${searchedMax} characters are`;
  for (let accepted = 0; refused - accepted > 1;) {
    const middle = (accepted + refused) >>> 1;
    if (endsWrong(text.slice(0, middle))) refused = middle;
    else accepted = middle;
  }
  return `unexpected character at position ${refused - 1}`;
}

/** True when the engine rejects a text for a character without reporting its position. */
function endsWrong(text: string): boolean {
  const message = messageOf(text);
  return message !== '' && !message.startsWith('Unexpected end') && !PLACED.test(message);
}

function messageOf(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
}
