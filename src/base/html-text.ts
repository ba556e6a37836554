import { createRequire } from 'node:module';
import type * as HtmlParser from 'htmlparser2';
import { atOnce } from './pieces.ts';

export interface HtmlTag {
  /** The element's name in lower case. */
  readonly name: string;
  readonly isOpening: boolean;
  /** True when the element begins a line or ends one, or is a table cell. */
  readonly isBlock: boolean;
}

/** Receives the visible text of the HTML, in its order. */
export interface HtmlReader {
  text(part: string): void;
  /** Called also for an element whose content is not shown. */
  tag(tag: HtmlTag): void;
  /** Called with the target of the `a` that was opened last. */
  link?(target: string): void;
  /** True when the reader wants no more. */
  readonly isFull: boolean;
}

/** How much of a source the tokenizer gets at once. */
const pieceLength = 16 * 1024;

/** Reads HTML in time linear in its length, without the content of elements that are not displayed as text. */
export function readHtml(source: string, reader: HtmlReader): void {
  atOnce(readHtmlInSteps(source, reader));
}

/** As {@link readHtml}, in steps whose lengths it yields. */
export function* readHtmlInSteps(source: string, reader: HtmlReader): Generator<number, void> {
  const { Tokenizer } = htmlParser();
  // The tokenizer and not the parser, which searches all open elements for each closing tag.
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    callbacksOf(source, reader, () => tokenizer.pause()),
  );
  for (let at = 0; at < source.length && !reader.isFull; at += pieceLength) {
    tokenizer.write(source.slice(at, at + pieceLength));
    if (source.length > pieceLength) yield pieceLength;
  }
  if (!reader.isFull) tokenizer.end();
}

let loaded: typeof HtmlParser | undefined;

/** Loads the package with the first HTML: most servers read none, and its entity tables take 3 MB and a twentieth of the start. */
function htmlParser(): typeof HtmlParser {
  // The package of this name is of this type.
  loaded ??= createRequire(import.meta.url)('htmlparser2') as typeof HtmlParser;
  return loaded;
}

function callbacksOf(source: string, reader: HtmlReader, stop: () => void): HtmlParser.TokenizerCallbacks {
  const dropped = new DroppedElement();
  let opened = '';
  let attribute = '';
  let target: string | undefined;
  const nameAt = (start: number, end: number): string => source.slice(start, end).toLowerCase();
  const emit = (part: string): void => {
    if (dropped.isOpen) return;
    reader.text(part);
    if (reader.isFull) stop();
  };
  const lead = (part: string): void => {
    if (opened === 'a' && attribute === 'href') target = (target ?? '') + part;
  };
  return {
    ...nothingElse,
    ontext: (start, end) => emit(source.slice(start, end)),
    ontextentity: (codePoint) => emit(String.fromCodePoint(codePoint)),
    onopentagname: (start, end) => {
      opened = nameAt(start, end);
      target = undefined;
      if (!dropped.isOpen) reader.tag(toTag(opened, true));
      dropped.open(opened);
    },
    onattribname: (start, end) => (attribute = nameAt(start, end)),
    onattribdata: (start, end) => lead(source.slice(start, end)),
    onattribentity: (codePoint) => lead(String.fromCodePoint(codePoint)),
    onopentagend: () => {
      if (target !== undefined && !dropped.isOpen) reader.link?.(target);
    },
    // In HTML the slash of `<x/>` has a meaning only in SVG.
    onselfclosingtag: () => {
      if (opened === 'svg') dropped.close(opened);
    },
    onclosetag: (start, end) => {
      const name = nameAt(start, end);
      dropped.close(name);
      if (!dropped.isOpen) reader.tag(toTag(name, false));
    },
  };
}

function toTag(name: string, isOpening: boolean): HtmlTag {
  return { name, isOpening, isBlock: blocks.has(name) };
}

const nothing = (): void => {};
const nothingElse = {
  onattribend: nothing,
  oncdata: nothing,
  oncomment: nothing,
  ondeclaration: nothing,
  onend: nothing,
  onprocessinginstruction: nothing,
};

/** Tracks whether the reader is inside an element whose content is not displayed as text. */
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
      // The closing tag of a head may be left out.
      this.#name = undefined;
    }
  }

  close(name: string): void {
    if (name !== this.#name) return;
    this.#depth -= 1;
    if (this.#depth === 0) this.#name = undefined;
  }
}

/** The elements of http-api section 7, except those that have no content: `img`, `embed`, `input`. */
const withoutText = new Set(
  'head style script iframe applet object svg picture dialog template button form textarea select option'.split(
    ' ',
  ),
);

/** Those of `withoutText` that may be nested in themselves. */
const nesting = new Set(['applet', 'dialog', 'object', 'svg', 'template']);

const blocks = new Set(
  'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search section summary table tbody td tfoot th thead title tr ul'.split(
    ' ',
  ),
);
