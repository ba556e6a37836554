import type { Clock } from '../base/clock.ts';
import type { Sealer } from '../secrets/seal.ts';
import type { Database } from '../storage/database.ts';

/** What counting needs of an instance. */
export interface CountedInstance {
  readonly id: string;
  readonly database: Database;
  readonly dueClock: Clock;
  readonly sealer: Sealer;
}

/** More than nodes' clocks differ by. A window that ends this much later than a new one is from before a clock was set back. */
export const clockSlackMs = 10_000;

/** A store in which several nodes count together. It may answer late or never, and the caller then goes on without. */
export interface WindowStore {
  /** Distinguishes the store from all others that this process has open. */
  readonly id: string;
  /** Takes from a window, beginning one if there is none. Resolves when the question was answered, or will not be in time. */
  take(question: Question): Promise<'answered' | 'late'>;
  /** Gives back what was taken from the window that ends at `endMs`. */
  giveBack(key: string, taken: { readonly endMs: number; readonly count: number }): void;
}

export interface Question {
  readonly key: string;
  readonly max: number;
  readonly durationMs: number;
  /** Called when the question goes out, so that it covers all requests that wait by then. */
  readonly want: () => Want;
  /** Called at most once with the answer, before `take` resolves with `answered` or after it has resolved with `late`. */
  readonly answer: (share: Share) => void;
}

export interface Want {
  /** How many are needed. */
  readonly count: number;
  /** How many may be taken in reserve at most; each node's part is smaller where there are many. */
  readonly reserve: number;
}

/** What one node was given from a window. */
export interface Share {
  /** Milliseconds since 1970. */
  readonly endMs: number;
  readonly given: number;
  /** What all nodes have taken by now, this answer included. */
  readonly taken: number;
}
