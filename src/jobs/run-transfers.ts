import type { MessagePort } from 'node:worker_threads';
import { createLogger } from '../base/create-logger.ts';
import { AppError } from '../base/errors.ts';
import { codeOf } from '../base/process.ts';
import { type DataDirectory, messageOf, openDataDirectory } from '../open-data-directory.ts';
import type { TransferJob } from '../backups/job-store.ts';
import { runTransfer } from './run-transfer.ts';
import type { TransferAnswer, TransferRequest, TransferSettings } from './transfer-thread.ts';

/** Runs what the thread of backups is asked for, until that is ended. */
export function runTransfers(port: MessagePort, { config }: TransferSettings): void {
  const logger = createLogger({ ...config, logLevel: 'error' });
  let opening: Promise<DataDirectory> | undefined;
  const running = new Map<string, AbortController>();
  const run = async (job: TransferJob): Promise<TransferAnswer> => {
    const controller = new AbortController();
    running.set(job.id, controller);
    try {
      // Only the server deletes old audit entries.
      opening ??= openDataDirectory({ ...config, auditDays: 0 }, { logger });
      const result = await runTransfer({ data: await opening, config, signal: controller.signal }, job);
      return { id: job.id, kind: 'done', result };
    } catch (error) {
      const code = error instanceof AppError ? error.code : undefined;
      // The caller is told what is wrong; paths and codes of the system are for the operator.
      if (code === undefined || (error instanceof AppError && codeOf(error.cause) !== ''))
        logger.error('A backup or a restore failed.', { job: job.id, error });
      return { id: job.id, kind: 'failed', code, message: messageOf(error) };
    } finally {
      running.delete(job.id);
    }
  };
  // Only transfer-thread.ts holds the other end.
  port.on('message', (request: TransferRequest) => {
    if (request.kind === 'run') void run(request.job).then((answer) => port.postMessage(answer));
    else running.get(request.id)?.abort(new AppError('conflict', request.message));
  });
}
