import { type HtmlReader, type HtmlTag, readHtml } from '../base/html-text.ts';
import type { EmailTemplate } from '../collections/collection.ts';
import type { Settings } from '../settings/settings.ts';

/** The values of a template's placeholders. A placeholder without a value in this mail stays as written. */
export interface MailValues {
  readonly meta: Settings['meta'];
  readonly token?: string;
  readonly otp?: string;
  readonly otpId?: string;
  readonly alertInfo?: string;
  /** `{RECORD:name}`: the value of a field as text. */
  readonly field: (name: string) => string;
}

const PLACEHOLDER = /\{(?:(APP_NAME|APP_URL|TOKEN|OTP|OTP_ID|ALERT_INFO)|RECORD:(\w{1,255}))\}/g;

/** Names may be as long as a text field, but a header line should not be. */
const subjectLengthMax = 255;

/** Fills a template. Values may come from anyone who signs up, so they are escaped in the body and kept on one line in the subject. */
export function renderMail(template: EmailTemplate, values: MailValues): MailText {
  return {
    subject: fill(template.subject, values, (value) => value)
      .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .slice(0, subjectLengthMax)
      .toWellFormed(),
    html: fill(template.body, values, escapeHtml),
  };
}

/** Fills placeholders in one pass: values are not searched again, or an account named `{TOKEN}` would put the token into a subject. */
function fill(text: string, values: MailValues, write: (value: string) => string): string {
  const { meta, token, otp, otpId, alertInfo } = values;
  const words: Readonly<Record<string, string | undefined>> = {
    APP_NAME: meta.appName,
    APP_URL: meta.appURL.replace(/\/+$/, ''),
    TOKEN: token,
    OTP: otp,
    OTP_ID: otpId,
    ALERT_INFO: alertInfo,
  };
  return text.replaceAll(PLACEHOLDER, (whole, name: string | undefined, field: string | undefined) => {
    const value = field === undefined ? words[name ?? ''] : values.field(field);
    return value === undefined ? whole : write(value);
  });
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/**
 * A mail as it is to be sent. The map of this folder:
 *
 *   template and values ── render-mail ──► Mail ── mailer ── send-mail ──► the instance's mail server
 *                                                    └── sent mails are in the log, while developing
 *
 * Nothing in here touches a database: a mail is made from data read earlier, and sent while no request waits for it.
 */
export interface Mail extends MailText {
  readonly sender: { readonly name: string; readonly address: string };
  /** One address, which has passed the check of an e-mail field. */
  readonly to: string;
}

export interface MailText {
  /** One line of plain text. */
  readonly subject: string;
  readonly html: string;
}

/** What became of a mail. `sent` means that a server accepted it, not that it has arrived. */
export type MailResult =
  | { readonly kind: 'sent' }
  | { readonly kind: 'kept' }
  | { readonly kind: 'failed'; readonly reason: string };

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

  /** Writes the target in angle brackets, so that the following text is not read as a part of it (RFC 3986, appendix C). */
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
