import type { FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { BrokenRule } from '../../access/rule.ts';
import type { ErrorAnswer } from '../error-response.ts';

/** How often requests that failed for lack of a resource are logged. */
const intervalMs = 1_000;
/** Distinct reasons in a line; they quote causes, which may differ each time. */
const reasonsMax = 10;
const reasonLengthMax = 300;

interface Refusals {
  count: number;
  /** Of the first of them. */
  readonly requestId: string;
  readonly reasons: Map<string, number>;
}

/**
 * Logs requests that failed: a bug with its stack at once, and errors that are expected under load or without the database as one line
 * a second for each status, with the count of each reason.
 */
export class ErrorLog {
  readonly #logger: Logger;
  readonly #refusals = new Map<number, Refusals>();
  #timer: NodeJS.Timeout | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  note(
    error: unknown,
    { id: requestId, method }: Pick<FastifyRequest, 'id' | 'method'>,
    { status, isOurs }: ErrorAnswer,
  ): void {
    if (isOurs && isExpected(error)) this.#count(error, { status, requestId });
    else if (isOurs) this.#logger.error('A request failed.', { requestId, method, status, error });
    else if (error instanceof BrokenRule)
      this.#logger.warn('A stored rule is invalid and now denies everyone.', {
        requestId,
        method,
        ...error.forLog,
      });
  }

  /** Logs the counts. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [status, { count, requestId, reasons }] of this.#refusals) {
      const counts = [...reasons].map(([reason, times]) => `${times} × ${reason}`).join(' ');
      const message = `${count} ${count === 1 ? 'request was' : 'requests were'} answered ${status}: ${counts}`;
      this.#logger.error(message, { status, requestId });
    }
    this.#refusals.clear();
  }

  #count(
    error: AppError,
    { status, requestId }: Pick<Refusals, 'requestId'> & { readonly status: number },
  ): void {
    this.#timer ??= setTimeout(() => this.flush(), intervalMs).unref();
    const refusals = this.#refusals.get(status) ?? {
      count: 0,
      requestId,
      reasons: new Map<string, number>(),
    };
    this.#refusals.set(status, refusals);
    refusals.count += 1;
    const { reasons } = refusals;
    const own = reasonOf(error);
    const reason = reasons.has(own) || reasons.size < reasonsMax ? own : 'Other reasons.';
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
}

/** True for errors of a healthy service: nothing was done, and the client may retry. */
function isExpected(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'unavailable' || error.code === 'storage_full');
}

/** Returns the message of the answer, and its cause. */
function reasonOf(error: AppError): string {
  const { message } = error;
  const cause = error.explanation ?? innermost(error).message;
  return (cause === message ? message : `${message} (${cause})`).slice(0, reasonLengthMax);
}

function innermost(error: Error): Error {
  return error.cause instanceof Error ? innermost(error.cause) : error;
}
