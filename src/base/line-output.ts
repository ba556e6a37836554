import { writeSync } from 'node:fs';
import { codeOf } from './code-of.ts';

/** In bytes; what is said while nobody reads for so long is lost. */
const waitingMax = 16 * 1024 * 1024;
const retryMs = 100;
/** What passes: a reader who is slow, and a disk that is full. */
const passing: ReadonlySet<unknown> = new Set(['EAGAIN', 'ENOSPC', 'EDQUOT']);

/**
 * Lines for whoever reads a descriptor. Each is written at once, as the next thing that is done may end the process. One who reads
 * too slowly of what cannot wait is tried again, as is a file on a disk that is full, and one who is gone is no reason to fail, nor to go
 * on at the end of the process.
 */
export class LineOutput {
  readonly #descriptor: number;
  #waiting: Buffer[] = [];
  #length = 0;
  #isGone = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    process.once('exit', () => this.#writeWaiting());
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#isGone || this.#length + bytes.length > waitingMax) return;
    this.#waiting.push(bytes);
    this.#length += bytes.length;
    // Whoever waits already has a timer.
    if (this.#waiting.length === 1) this.#writeOrRetry();
  }

  #writeOrRetry(): void {
    this.#writeWaiting();
    if (this.#waiting.length > 0) setTimeout(() => this.#writeOrRetry(), retryMs).unref();
  }

  #writeWaiting(): void {
    let rest = Buffer.concat(this.#waiting);
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#descriptor, rest));
    } catch (error) {
      this.#isGone = !passing.has(codeOf(error));
    }
    this.#waiting = this.#isGone || rest.length === 0 ? [] : [rest];
    this.#length = this.#isGone ? 0 : rest.length;
  }
}
