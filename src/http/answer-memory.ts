import type { Writable } from 'node:stream';
import { busy } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import type { Holding, Ledger } from '../base/ledger.ts';
import type { ReservedMemory } from './instance-request.ts';

/** A text takes up to two bytes for each character; and what was dropped is free only some time later, as much again at most. */
const bytesPerCharacter = 2;

/**
 * The memory of one answer in the shared ledger: admitted before rows are read, and held until the client has received the answer or its
 * connection has ended.
 */
export class AnswerMemory implements ReservedMemory {
  readonly #ledger: Ledger;
  readonly #share: Share;
  #holding: Holding | undefined;
  #sending: Holding | undefined;

  constructor(ledger: Ledger, share: Share) {
    this.#ledger = ledger;
    this.#share = share;
  }

  async admit(length: number): Promise<void> {
    // Nobody waits for memory while holding some.
    this.release();
    this.#holding = await this.#ledger.hold(this.#share, bytesPerCharacter * length);
  }

  extend(length: number): void {
    if (this.#holding === undefined || !this.#ledger.grow(this.#holding, bytesPerCharacter * length))
      throw busy();
  }

  /** Reserves memory for an answer that is about to be sent. Throws unavailable, unless it must be sent: then another is evicted. */
  async admitAnswer(length: number, { isCertain }: { readonly isCertain: boolean }): Promise<void> {
    if (this.#holding === undefined && !isCertain) return this.admit(length);
    const bytes = bytesPerCharacter * length;
    this.#holding ??= this.#ledger.holdAnyway(this.#share);
    if (isCertain || bytes <= this.#holding.amount) this.#ledger.set(this.#holding, bytes);
    else this.extend(length - this.#holding.amount / bytesPerCharacter);
  }

  /** Holds the memory until the client has received the answer. */
  holdUntilClosed(response: Writable): void {
    const holding = this.#holding;
    this.#holding = undefined;
    this.#sending = holding;
    if (holding === undefined) return;
    // It would not close again.
    if (response.closed) {
      this.#ledger.release(holding);
      return;
    }
    response.once('close', () => this.#ledger.release(holding));
    this.#ledger.offer(holding, () => void response.destroy());
  }

  /** Sets how much of an answer that is being sent is left. */
  note(length: number): void {
    if (this.#sending !== undefined) this.#ledger.set(this.#sending, bytesPerCharacter * length);
  }

  /** Releases the memory of an answer that is not being sent. */
  release(): void {
    if (this.#holding !== undefined) this.#ledger.release(this.#holding);
    this.#holding = undefined;
  }
}
