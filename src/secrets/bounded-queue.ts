import { busy } from '../base/errors.ts';

export interface QueueLimits {
  readonly runningMax: number;
  readonly waitingMax: number;
}

/** Runs work, first come first served. */
export type BoundedQueue = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * At most `runningMax` works at a time, at most `waitingMax` waiting; beyond, AppError `unavailable`. Without it a burst of
 * sign-ins would hold 19 MiB each and make all of them late, instead of a few refused.
 */
export function boundedQueue(limits: QueueLimits): BoundedQueue {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (running < limits.runningMax) {
      running++;
    } else if (waiting.length < limits.waitingMax) {
      // Whoever ends hands its place over, so `running` stays as it is.
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
