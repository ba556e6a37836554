import type { MessagePort } from 'node:worker_threads';
import { createLogger } from '../base/create-logger.ts';
import { AppError } from '../base/errors.ts';
import { type DataDirectory, messageOf, openDataDirectory } from '../open-data-directory.ts';
import { importUploaded, runTransfer } from './run-transfer.ts';
import type { TransferAnswer, TransferRequest, TransferSettings, TransferWork } from './transfer-thread.ts';

/** Runs what the thread of backups is asked for, until that is ended. */
export function runTransfers(port: MessagePort, { config }: TransferSettings): void {
  const logger = createLogger({ ...config, logLevel: 'error' });
  let opening: Promise<DataDirectory> | undefined;
  const running = new Map<string, AbortController>();
  const run = async (request: TransferWork): Promise<TransferAnswer> => {
    const { id } = request;
    const controller = new AbortController();
    running.set(id, controller);
    try {
      // Only the server deletes old audit entries.
      opening ??= openDataDirectory({ ...config, auditDays: 0 }, { logger });
      const parts = { data: await opening, config, signal: controller.signal };
      const result = await (request.kind === 'job'
        ? runTransfer(parts, request.job)
        : importUploaded(parts, request.archive, logger));
      return { id, kind: 'done', result };
    } catch (error) {
      const refusal = error instanceof AppError ? error : undefined;
      // The caller is told what is wrong; paths and codes of the system are for the operator.
      if (refusal === undefined || isOfSystem(refusal.cause))
        logger.error('A backup, restore or import failed.', { job: id, error });
      return {
        id,
        kind: 'failed',
        code: refusal?.code,
        message: messageOf(error),
        details: refusal?.details ?? {},
      };
    } finally {
      running.delete(id);
    }
  };
  // Only transfer-thread.ts holds the other end.
  port.on('message', (request: TransferRequest) => {
    if (request.kind === 'cancel') running.get(request.id)?.abort(new AppError('conflict', request.message));
    else void run(request).then((answer) => port.postMessage(answer));
  });
}

/** Whether an error is one of the system: of a disk or a connection, and not of what was read. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
