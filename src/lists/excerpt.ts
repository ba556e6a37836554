import { readHtml, type HtmlReader, type HtmlTag } from '../base/read-html.ts';
import { listLimits } from './list-limits.ts';

/** What `:excerpt(100,true)` asks for. */
export interface Excerpt {
  /** In characters: code points. */
  readonly lengthMax: number;
  /** Whether three dots are appended where the text is cut. */
  readonly hasEllipsis: boolean;
}

/** Returns the beginning of the text that this HTML shows (http-api section 7), in time at most linear in the length of the HTML. */
export function excerpt(html: string, { lengthMax, hasEllipsis }: Excerpt): string {
  const isLong = html.length > listLimits.excerptSourceLengthMax;
  const text = new ShownText(lengthMax);
  // The cut may split a surrogate pair.
  readHtml(isLong ? html.slice(0, listLimits.excerptSourceLengthMax).toWellFormed() : html, text);
  const isCut = text.isFull || isLong;
  return `${text.shown}${isCut && hasEllipsis ? '...' : ''}`;
}

/** Collects a text, with white space collapsed to single blanks and none at its ends. */
class ShownText implements HtmlReader {
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
