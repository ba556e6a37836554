/** Clocks of nodes differ by less; a window that ends later than this after it could have ended is of a clock that was set back. */
export const clockSlackMs = 10_000;

/** Where several nodes count together. A question may be answered late, or never; whoever asked goes on without. */
export interface WindowStore {
  /** Tells it apart from all others that one process has open. */
  readonly id: string;
  /** Takes from a window, which begins with that if there is none. Resolves when it was answered, or will not be in time. */
  take(question: Question): Promise<'answered' | 'late'>;
  /** What was taken in the window that ends then was not used. */
  giveBack(key: string, taken: { readonly endMs: number; readonly count: number }): void;
}

export interface Question {
  readonly key: string;
  readonly max: number;
  readonly durationMs: number;
  /** Asked when the question goes out, so that all who wait by then are in it. */
  readonly want: () => Want;
  /** Called once, before the question is said to be answered; or after it was said to be late. */
  readonly answer: (share: Share) => void;
}

export interface Want {
  /** As much as is needed. */
  readonly count: number;
  /** As much as may be put by, of a share that is smaller where there are many nodes. */
  readonly reserve: number;
}

/** What one node was given of a window. */
export interface Share {
  /** Milliseconds since 1970. */
  readonly endMs: number;
  readonly given: number;
  /** By all nodes, with what was given. */
  readonly taken: number;
}
