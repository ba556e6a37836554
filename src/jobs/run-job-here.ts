import { holdLost, JobStore, type NewTransfer } from '../backups/job-store.ts';
import { newId } from '../base/ids.ts';
import { AppError } from '../base/errors.ts';
import { undoJob } from './undo-job.ts';
import { runTransfer, type TransferParts, type TransferResult } from './run-transfer.ts';

/** Runs a job in this process, which is not a server, and notes it as one. Throws what it fails for. */
export async function runJobHere(
  parts: Omit<TransferParts, 'signal'>,
  wish: NewTransfer,
): Promise<TransferResult> {
  const { home, dueClock } = parts.data;
  const jobs = new JobStore(home.background, dueClock);
  const holder = newId();
  const job = await jobs.begin(wish, holder);
  const lost = new AbortController();
  const release = jobs.keepHeld(job, () => lost.abort(holdLost()));
  try {
    const result = await runTransfer({ ...parts, signal: lost.signal }, job);
    await jobs.end(job, { state: 'done', bytes: result.bytes, message: '' });
    return result;
  } catch (error) {
    const message =
      error instanceof AppError ? error.message : 'It failed: see what the command has printed.';
    if (await jobs.renew(job)) {
      await undoJob(parts.data, job);
      await jobs.end(job, { state: 'failed', bytes: 0, message });
    }
    throw error;
  } finally {
    release();
  }
}
