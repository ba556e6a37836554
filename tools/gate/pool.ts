import { type Job, type JobEnd, runJob } from './job.ts';

export interface PoolOptions {
  readonly atOnce: number;
  /** Told of each job as it ends. Returns whether others may still begin. */
  readonly onEnd: (end: JobEnd) => boolean;
}

/** Runs jobs in their order, some at once. Resolves when all that have begun are over. */
export async function runPool(jobs: readonly Job[], { atOnce, onEnd }: PoolOptions): Promise<void> {
  const waiting = [...jobs];
  const work = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift())
      if (!onEnd(await runJob(job))) waiting.length = 0;
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
