import { type HtmlReader, type HtmlTag, readHtmlInSteps } from '../base/html-text.ts';
import { atOnce } from '../base/pieces.ts';
import { quote } from '../filters/filter-error.ts';
import { booleanOf, listLimits, parameterError } from './list-parameters.ts';

/** The members that `fields` names of an object, and with `*` all others as well. */
export interface Projection {
  /** What to keep of every member that is not named; undefined without `*`. */
  readonly rest: Excerpt | true | undefined;
  /** What to keep of each member: `true` keeps all of it, an excerpt the beginning of a text (and other values whole). */
  readonly members: ReadonlyMap<string, Projection | Excerpt | true>;
}

interface MutableProjection {
  rest: Excerpt | true | undefined;
  readonly members: Map<string, MutableProjection | Excerpt | true>;
}

/**
 * Parses `id,title:excerpt(100),expand.author.name,*`. Returns undefined, which keeps everything, when nothing is named. Throws
 * AppError `bad_request`.
 */
export function parseFields(text: string): Projection | undefined {
  if (text.length > listLimits.fieldsLengthMax)
    throw parameterError('fields', `Expected at most ${listLimits.fieldsLengthMax} characters in fields.`);
  const root: MutableProjection = { rest: undefined, members: new Map() };
  for (const item of itemsOf(text)) {
    const { path, part } = toPath(item);
    if (path !== '') addPath(root, path.split('.'), part);
  }
  return root.rest !== undefined || root.members.size > 0 ? root : undefined;
}

/** Yields the texts between commas, except for commas in parentheses. */
function* itemsOf(text: string): Generator<string> {
  let start = 0;
  let isInside = false;
  for (let at = 0; at <= text.length; at += 1) {
    const character = text[at];
    if (character === '(') isInside = true;
    else if (character === ')') isInside = false;
    else if (character === undefined || (character === ',' && !isInside)) {
      yield text.slice(start, at).trim();
      start = at + 1;
    }
  }
}

/** Parses one item, such as `content:excerpt(100,true)`. */
function toPath(item: string): { readonly path: string; readonly part: Excerpt | true } {
  const colon = item.indexOf(':');
  if (colon === -1) return { path: item, part: true };
  const path = item.slice(0, colon).trim();
  // Trimmed first: beside `\s*` at the beginning, blanks could be split in every way, which takes quadratic time.
  const [, name = '', list] = /^(\w*)\s*(?:\(([^()]*)\))?$/.exec(item.slice(colon + 1).trim()) ?? [];
  if (name !== 'excerpt')
    throw parameterError(
      'fields',
      `Expected no modifier but ":excerpt(max, withEllipsis)" in fields and found ${quote(item)}.`,
    );
  if (path === '')
    throw parameterError(
      'fields',
      `Expected the name of a member before ":excerpt" and found ${quote(item)}.`,
    );
  const [max = '', ellipsis, ...more] = (list ?? '').split(',').map((argument) => argument.trim());
  const lengthMax = /^\d{1,9}$/.test(max) ? Number(max) : 0;
  const hasEllipsis = ellipsis === undefined ? false : booleanOf(ellipsis);
  if (lengthMax === 0 || hasEllipsis === undefined || more.length > 0)
    throw parameterError('fields', `Expected a number of characters, and true or false, in ${quote(item)}.`);
  return { path, part: { lengthMax, hasEllipsis } };
}

/** Adds a path. Of a member that is named twice the last mention counts; one that is requested as a whole stays whole, whatever is requested inside it. */
function addPath(root: MutableProjection, steps: readonly string[], part: Excerpt | true): void {
  let at = root;
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    if (step === '*' && isLast) {
      at.rest = part;
      return;
    }
    if (isLast) {
      at.members.set(step, part);
      return;
    }
    const member = at.members.get(step);
    if (member === true || (member !== undefined && 'lengthMax' in member)) return;
    const next = member ?? {
      rest: undefined,
      members: new Map<string, MutableProjection | Excerpt | true>(),
    };
    at.members.set(step, next);
    at = next;
  }
}

/** Returns the part of a member to keep: `true` for all of it, undefined for nothing, or the requested projection or excerpt. */
export function memberOf(projection: Projection, name: string): Projection | Excerpt | true | undefined {
  return projection.members.get(name) ?? projection.rest;
}

/**
 * Returns a JSON value with only the requested members, in their order. Arrays are mapped; other values are kept as
 * they are, because a path may go deeper than a value does. The value itself is not changed.
 */
export function pickFields(value: unknown, projection: Projection): unknown {
  return atOnce(pickInSteps(value, projection));
}

/** As {@link pickFields}, in steps whose lengths it yields. */
export function* pickInSteps(value: unknown, projection: Projection): Generator<number, unknown> {
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(yield* pickInSteps(item, projection));
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) {
    const part = memberOf(projection, name);
    if (part === undefined) continue;
    members.push([name, part === true ? member : yield* pickPart(member, part)]);
  }
  // Not built by assignment, which would set the prototype for a member `__proto__` of a json field.
  return Object.fromEntries(members);
}

function* pickPart(member: unknown, part: Projection | Excerpt): Generator<number, unknown> {
  if (!('lengthMax' in part)) return yield* pickInSteps(member, part);
  return typeof member === 'string' ? yield* excerptInSteps(member, part) : member;
}

/** The arguments of `:excerpt(100,true)`. */
interface Excerpt {
  /** In characters: code points. */
  readonly lengthMax: number;
  /** Whether three dots are appended where the text is cut. */
  readonly hasEllipsis: boolean;
}

/** Returns the beginning of the text that this HTML shows (http-api section 7), in time at most linear in the length of the HTML. */
export function excerpt(html: string, part: Excerpt): string {
  return atOnce(excerptInSteps(html, part));
}

function* excerptInSteps(html: string, { lengthMax, hasEllipsis }: Excerpt): Generator<number, string> {
  const isLong = html.length > listLimits.excerptSourceLengthMax;
  const text = new VisibleText(lengthMax);
  // The cut may split a surrogate pair.
  yield* readHtmlInSteps(
    isLong ? html.slice(0, listLimits.excerptSourceLengthMax).toWellFormed() : html,
    text,
  );
  const isCut = text.isFull || isLong;
  return `${text.shown}${isCut && hasEllipsis ? '...' : ''}`;
}

/** Collects a text, with white space collapsed to single blanks and none at its ends. */
class VisibleText implements HtmlReader {
  readonly #lengthMax: number;
  #length = 0;
  #hasBlankBehind = false;
  shown = '';
  /** Whether the text was cut. */
  isFull = false;

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  text(part: string): void {
    for (const character of part) {
      if (/\s/.test(character)) {
        this.#hasBlankBehind = this.#length > 0;
        continue;
      }
      const added = this.#hasBlankBehind ? ` ${character}` : character;
      this.#length += this.#hasBlankBehind ? 2 : 1;
      this.isFull = this.#length > this.#lengthMax;
      if (this.isFull) return;
      this.#hasBlankBehind = false;
      this.shown += added;
    }
  }

  tag({ isBlock }: HtmlTag): void {
    if (isBlock) this.#hasBlankBehind = this.#length > 0;
  }
}
