import { setImmediate as nextTurn } from 'node:timers/promises';

/** How much text is worked on in one turn of the event loop: less than 10 ms for whatever is done with each character. */
const sizeMax = 256 * 1024;

/** Divides work into turns of the event loop, so that a large answer or body does not hold up all others. */
export class Pauses {
  readonly #sizeMax: number;
  readonly #pause: () => Promise<void>;
  #size = 0;

  /** `pause` lets the event loop turn: inside a transaction, only the transaction itself may do that. */
  constructor(pieceSizeMax = sizeMax, pause: () => Promise<void> = nextTurn) {
    this.#sizeMax = pieceSizeMax;
    this.#pause = pause;
  }

  /** Notes work on so many characters. Returns a promise to await when that was enough for this turn; most work needs none. */
  after(size: number): Promise<void> | undefined {
    this.#size += size;
    if (this.#size < this.#sizeMax) return undefined;
    this.#size = 0;
    return this.#pause();
  }
}

/** Runs work whose steps yield how much each of them was. Small work is done in one turn. */
export async function inTurns<Result>(
  work: Generator<number, Result>,
  pauses: Pauses = new Pauses(),
): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const pause = pauses.after(step.value);
    if (pause !== undefined) await pause;
  }
}

/** Runs the same work in one go. */
export function atOnce<Result>(work: Generator<number, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

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
