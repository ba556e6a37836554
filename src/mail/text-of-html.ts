import { readHtml, type HtmlReader, type HtmlTag } from '../base/read-html.ts';

/** Returns the plain text that a reader of the HTML would see, with paragraphs, and with the target behind each link. */
export function textOfHtml(html: string): string {
  const text = new PlainText();
  readHtml(html, text);
  return text.written;
}

/** Gaps between two words, in order of size: of several adjacent ones the largest is written. */
const gaps = ['', ' ', '\n', '\n\n'] as const;
const [none, blank, line, paragraph] = [0, 1, 2, 3] as const;

const paragraphs = new Set('blockquote dl h1 h2 h3 h4 h5 h6 hr ol p pre table ul'.split(' '));
const cells = new Set(['td', 'th']);
/** Link targets worth showing. Those with blanks or angle brackets are left out: their end would not be recognised in the text. */
const shownTarget = /^(?:https?|mailto):[^\s<>]+$/i;

class PlainText implements HtmlReader {
  readonly isFull = false;
  written = '';
  #gap: number = none;
  /** The link that is open, with its words so far. */
  #link: { readonly target: string; text: string } | undefined;

  text(part: string): void {
    for (const [index, word] of part.split(/\s+/).entries()) {
      if (index > 0) this.#leave(blank);
      if (word !== '') this.#write(word);
    }
  }

  tag({ name, isOpening, isBlock }: HtmlTag): void {
    if (name === 'a') this.#endLink();
    else if (name === 'br') this.#leave(this.#gap >= line ? paragraph : line);
    else if (paragraphs.has(name)) this.#leave(paragraph);
    else if (isBlock) this.#leave(cells.has(name) ? blank : line);
    if (name === 'li' && isOpening) this.text('- ');
  }

  link(target: string): void {
    this.#link = { target: target.trim(), text: '' };
  }

  /** Writes the target in angle brackets, so that what follows is not taken for a part of it (RFC 3986, appendix C). */
  #endLink(): void {
    const { target = '', text = '' } = this.#link ?? {};
    this.#link = undefined;
    if (text !== target && shownTarget.test(target)) this.text(` <${target}>`);
  }

  #leave(gap: number): void {
    if (this.written !== '') this.#gap = Math.max(this.#gap, gap);
  }

  #write(word: string): void {
    this.written += `${gaps[this.#gap] ?? ''}${word}`;
    this.#gap = none;
    if (this.#link !== undefined) this.#link.text += word;
  }
}
