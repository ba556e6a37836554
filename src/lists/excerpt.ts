import { readHtml, type HtmlReader, type HtmlTag } from '../base/read-html.ts';
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
  const text = new ShownText(lengthMax);
  // A pair of surrogates could be cut through.
  readHtml(isLong ? html.slice(0, listLimits.excerptSourceLengthMax).toWellFormed() : html, text);
  const isCut = text.isFull || isLong;
  return `${text.shown}${isCut && hasEllipsis ? '...' : ''}`;
}

/** A text without blanks at its ends or beside each other. */
class ShownText implements HtmlReader {
  readonly #lengthMax: number;
  #length = 0;
  #hasBlankBehind = false;
  shown = '';
  /** There was more than had room. */
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
