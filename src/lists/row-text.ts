import { crc32 } from 'node:zlib';

/** A row as text, which is right as long as the row has this revision. */
export class RowText {
  readonly revision: number;
  readonly text: string;
  #checksum: number | undefined;

  constructor(revision: number, text: string) {
    this.revision = revision;
    this.text = text;
  }

  /** CRC-32 of the text in UTF-8: worked out once, however often it is shown. */
  get checksum(): number {
    return (this.#checksum ??= crc32(this.text));
  }
}
