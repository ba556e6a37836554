import { writeSync } from 'node:fs';
import { codeOf } from './process.ts';

/** How a part reports to the operator. app.ts passes a real logger; members must never hold a secret. */
export interface Logger {
  debug(message: string, members?: LogMembers): void;
  info(message: string, members?: LogMembers): void;
  warn(message: string, members?: LogMembers): void;
  error(message: string, members?: LogMembers): void;
}

export type LogMembers = Readonly<Record<string, unknown>>;

/** Bytes kept while the reader does not read; lines beyond that are lost. */
const waitingMax = 16 * 1024 * 1024;
const retryMs = 100;
/** Errors that may pass: a slow reader, or a full disk. */
const passing: ReadonlySet<unknown> = new Set(['EAGAIN', 'ENOSPC', 'EDQUOT']);

/**
 * Writes lines to a descriptor, each at once, as the process may end right after. Bytes that a slow reader or a full disk does not
 * take are kept and tried again. Once the reader is gone, lines are dropped without an error, also at the end of the process.
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
    // Lines that wait already have a timer.
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
