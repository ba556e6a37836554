import { textDigest } from '../base/text-digest.ts';

/** A row as text, which is right as long as the row has this revision. */
export class RowText {
  readonly revision: number;
  readonly text: string;
  #digest: string | undefined;

  constructor(revision: number, text: string) {
    this.revision = revision;
    this.text = text;
  }

  /** Of the text: worked out once, however often it is shown. */
  get digest(): string {
    return (this.#digest ??= textDigest(this.text));
  }
}
