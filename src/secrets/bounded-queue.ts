import { busy } from '../base/errors.ts';

export interface QueueLimits {
  readonly runningMax: number;
  readonly waitingMax: number;
}

/** Runs work in the order of arrival. */
export type BoundedQueue = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Makes a queue that runs at most `runningMax` works at once and lets at most `waitingMax` wait; more are refused with AppError
 * `unavailable`. Without it each sign-in of a burst would hold 19 MiB and all would be late, instead of a few refused.
 */
export function boundedQueue(limits: QueueLimits): BoundedQueue {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (running < limits.runningMax) {
      running++;
    } else if (waiting.length < limits.waitingMax) {
      // Work that ends passes its place on, so `running` stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      throw busy();
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
