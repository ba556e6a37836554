import { createRequire } from 'node:module';
import type * as HtmlParser from 'htmlparser2';
import { listLimits } from './list-limits.ts';

/** What `:excerpt(100,true)` asks for. */
export interface Excerpt {
  /** In characters: code points. */
  readonly lengthMax: number;
  /** Whether three dots say that there is more. */
  readonly hasEllipsis: boolean;
}

/** The beginning of what a reader of this HTML would read (http-api section 7), in a time that its length bounds. */
export function excerpt(html: string, { lengthMax, hasEllipsis }: Excerpt): string {
  const isLong = html.length > listLimits.excerptSourceLengthMax;
  // A pair of surrogates could be cut through.
  const source = isLong ? html.slice(0, listLimits.excerptSourceLengthMax).toWellFormed() : html;
  const text = new ShownText(lengthMax);
  const { Tokenizer } = htmlParser();
  // The tokenizer and no parser: that one looks, for each closing tag, at all elements that are open.
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    readInto(source, text, () => tokenizer.pause()),
  );
  tokenizer.write(source);
  if (!text.isFull) tokenizer.end();
  const isCut = text.isFull || isLong;
  return `${text.shown}${isCut && hasEllipsis ? '...' : ''}`;
}

let loaded: typeof HtmlParser | undefined;

/** With the first excerpt: most services never make one, and its tables of entities would be 3 MB and a twentieth of the start. */
function htmlParser(): typeof HtmlParser {
  // The package of this name is of this type.
  loaded ??= createRequire(import.meta.url)('htmlparser2') as typeof HtmlParser;
  return loaded;
}

/** What is found in the source goes into the text, until that is full. */
function readInto(source: string, text: ShownText, stop: () => void): HtmlParser.TokenizerCallbacks {
  const dropped = new DroppedElement();
  let opened = '';
  const nameAt = (start: number, end: number): string => source.slice(start, end).toLowerCase();
  const append = (part: string): void => {
    if (dropped.isOpen) return;
    text.append(part);
    if (text.isFull) stop();
  };
  return {
    ...nothingElse,
    ontext: (start, end) => append(source.slice(start, end)),
    ontextentity: (codePoint) => append(String.fromCodePoint(codePoint)),
    onopentagname: (start, end) => {
      opened = nameAt(start, end);
      if (blocks.has(opened)) append(' ');
      dropped.open(opened);
    },
    // Only in a drawing does the slash close anything.
    onselfclosingtag: () => {
      if (opened === 'svg') dropped.close(opened);
    },
    onclosetag: (start, end) => {
      const name = nameAt(start, end);
      dropped.close(name);
      if (blocks.has(name)) append(' ');
    },
  };
}

const nothing = (): void => {};
const nothingElse = {
  onattribdata: nothing,
  onattribend: nothing,
  onattribentity: nothing,
  onattribname: nothing,
  oncdata: nothing,
  oncomment: nothing,
  ondeclaration: nothing,
  onend: nothing,
  onopentagend: nothing,
  onprocessinginstruction: nothing,
};

/** A text without blanks at its ends or beside each other. */
class ShownText {
  readonly #lengthMax: number;
  #length = 0;
  #hasBlankBehind = false;
  shown = '';
  /** There was more than had room. */
  isFull = false;

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  append(part: string): void {
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
}

/** Whether what is read stands in an element whose content nobody reads as text. */
class DroppedElement {
  #name: string | undefined;
  #depth = 0;

  get isOpen(): boolean {
    return this.#name !== undefined;
  }

  open(name: string): void {
    if (name === this.#name) {
      if (nesting.has(name)) this.#depth += 1;
    } else if (this.#name === undefined) {
      if (!withoutText.has(name)) return;
      this.#name = name;
      this.#depth = 1;
    } else if (this.#name === 'head' && name === 'body') {
      // The tag that closes a head may be left out.
      this.#name = undefined;
    }
  }

  close(name: string): void {
    if (name !== this.#name) return;
    this.#depth -= 1;
    if (this.#depth === 0) this.#name = undefined;
  }
}

/** Of http-api section 7, but for those that have no content: `img`, `embed`, `input`. */
const withoutText = new Set(
  'head style script iframe applet object svg picture dialog template button form textarea select option'.split(
    ' ',
  ),
);

/** Those of them that may stand inside each other. */
const nesting = new Set(['applet', 'dialog', 'object', 'svg', 'template']);

/** What begins on a line of its own, ends one or stands in a cell. */
const blocks = new Set(
  'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search section summary table tbody td tfoot th thead title tr ul'.split(
    ' ',
  ),
);
