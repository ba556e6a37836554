import { write, writeSync } from 'node:fs';
import { codeOf } from './code-of.ts';

/** In characters; what is said while nobody reads for so long is lost. */
const waitingMax = 16 * 1024 * 1024;
const fullMs = 100;

/**
 * Lines for whoever reads a descriptor, written by a thread of the pool: a reader who is slow holds up nobody, and one who is gone is no
 * reason to fail. What is left when the process ends is tried once: that must not keep it from ending.
 */
export class LineOutput {
  readonly #descriptor: number;
  #waiting: string[] = [];
  #length = 0;
  #isWriting = false;
  #isGone = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    process.once('exit', () => this.#writeRest());
  }

  write(line: string): void {
    if (this.#isGone || this.#length + line.length > waitingMax) return;
    this.#waiting.push(line);
    this.#length += line.length;
    if (!this.#isWriting) this.#writeNext();
  }

  #writeNext(): void {
    this.#isWriting = this.#waiting.length > 0;
    if (this.#isWriting) this.#send(Buffer.from(this.#take()));
  }

  #take(): string {
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#length = 0;
    return text;
  }

  #send(bytes: Buffer): void {
    write(this.#descriptor, bytes, (error, count) => {
      if (error === null && count < bytes.length) this.#send(bytes.subarray(count));
      else if (error === null) this.#writeNext();
      else if (codeOf(error) === 'EAGAIN') setTimeout(() => this.#send(bytes), fullMs).unref();
      else this.#isGone = true;
    });
  }

  #writeRest(): void {
    const rest = this.#take();
    try {
      if (!this.#isGone && rest !== '') writeSync(this.#descriptor, rest);
    } catch {
      // Nobody is left to be told.
    }
  }
}
