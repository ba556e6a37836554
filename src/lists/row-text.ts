import { textDigest } from '../base/text-digest.ts';

/** A row as text, valid as long as the row has this revision. */
export class RowText {
  readonly revision: number;
  readonly text: string;
  #digest: string | undefined;

  constructor(revision: number, text: string) {
    this.revision = revision;
    this.text = text;
  }

  /** The digest of the text, computed once, however often the text is sent. */
  get digest(): string {
    return (this.#digest ??= textDigest(this.text));
  }
}
