/**
 * Pieces are concatenated when there are this many: a client can send pieces of one byte, each of which takes hundreds of bytes. With a
 * larger number a body that counts as small could hold several times what a small body may.
 */
const looseMax = 128;

/** Bytes that come in pieces, held in little more memory than they are. */
export class Pieces {
  #pieces: Buffer[] = [];
  #looseCount = 0;
  #length = 0;

  /** Bytes. */
  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    this.#pieces.push(piece);
    this.#looseCount += 1;
    if (this.#looseCount < looseMax) return;
    this.#pieces.push(Buffer.concat(this.#pieces.splice(-looseMax)));
    this.#looseCount = 0;
  }

  /** Returns the bytes, and holds none any more. */
  take(): Buffer {
    const [only, another] = this.#pieces;
    const all = only !== undefined && another === undefined ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#looseCount = 0;
    this.#length = 0;
    return all;
  }
}
