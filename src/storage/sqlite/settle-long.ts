import { AssertionFailed } from '../../base/assert.ts';
import type { WriterThread } from './writer-thread.ts';

/**
 * Runs a work whose statements another thread runs. The event loop turns while they run, but only then: a work that awaits something else
 * than its `tx` is failed, as everywhere.
 */
export function settleLong(thread: WriterThread, work: () => Promise<unknown>): Promise<unknown> {
  let isWorking = true;
  const settled = new Promise((resolve, reject) => {
    const look = (): void => {
      if (isWorking && thread.isIdle)
        reject(new AssertionFailed('a transaction awaited something else than its tx'));
    };
    // What the work does with an answer, it does in the turn of the answer.
    thread.onIdle = () => setImmediate(look);
    thread.onIdle();
    work().then(resolve, reject);
  });
  return settled.finally(() => {
    isWorking = false;
    thread.onIdle = undefined;
  });
}
