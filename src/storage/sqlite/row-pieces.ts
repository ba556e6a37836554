import { bytesOfTuple, type Tuple } from '../database.ts';

/** A message of so many characters and bytes, or of so many rows, is received in less than 10 ms. */
const sizeMax = 256 * 1024;
const rowsMax = 1_000;

/** The rows of a search, to be sent from one thread to another a piece at a time: a message is received in one go, while all else waits. */
export class RowPieces {
  readonly #rows: readonly Tuple[];
  #at = 0;

  constructor(rows: readonly Tuple[]) {
    this.#rows = rows;
  }

  /** Returns the next rows, one at least where there is one, and whether they are the last. */
  next(): { readonly rows: readonly Tuple[]; readonly isLast: boolean } {
    const from = this.#at;
    let size = 0;
    do {
      size += bytesOfTuple(this.#rows[this.#at] ?? []);
      this.#at += 1;
    } while (this.#at < this.#rows.length && this.#at - from < rowsMax && size < sizeMax);
    return { rows: this.#rows.slice(from, this.#at), isLast: this.#at >= this.#rows.length };
  }
}
