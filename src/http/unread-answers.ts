import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { httpLimits } from './http-limits.ts';
import { MemoryBudget } from './memory-budget.ts';

/**
 * The memory of answers that were sent and that their clients have not read yet. When those of all clients together exceed the budget,
 * the connection of the oldest is destroyed: a client has five minutes to read an answer, but not everybody's memory.
 */
export class UnreadAnswers {
  readonly #budget: MemoryBudget;
  /** Number of answers given up whose memory is not free yet. */
  #closing = 0;

  constructor(bytesMax: number) {
    this.#budget = new MemoryBudget(bytesMax);
  }

  get bytes(): number {
    return this.#budget.bytes;
  }

  /** Counts an answer of this many bytes until its client has read it; call it right after `end`. */
  hold(response: ServerResponse, bytes: number): void {
    // Nothing is held of an answer that the system has taken at once. Node tells how much is left, but of a text only in characters.
    if (bytes <= httpLimits.smallAnswerBytesMax || response.socket?.writableLength === 0) return;
    let isGivenUp = false;
    const giveUp = (): void => {
      isGivenUp = true;
      this.#closing += 1;
      response.destroy();
    };
    response.once('close', () => {
      if (isGivenUp) this.#closing -= 1;
      this.#budget.release(giveUp);
    });
    this.#budget.hold(giveUp, bytes);
  }

  /**
   * Returns undefined, or a promise to await before a large answer is made or sent. Node frees the memory of a destroyed connection at the end of a
   * turn of the event loop, and a single turn could make hundreds of answers.
   */
  untilFreed(): Promise<void> | undefined {
    return this.#closing === 0 ? undefined : this.#waitForClosing();
  }

  async #waitForClosing(): Promise<void> {
    while (this.#closing > 0) await nextTurn();
  }
}

/** Those of all connections. */
export const unreadAnswers = new UnreadAnswers(httpLimits.answersBytesMax);
