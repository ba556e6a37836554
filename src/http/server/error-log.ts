import type { FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { BrokenRule } from '../../access/rule.ts';
import type { ErrorAnswer } from '../error-response.ts';

/** How often requests that were refused for lack of something are told. */
const intervalMs = 1_000;
/** Reasons that are told apart in a line; they quote causes, which may differ each time. */
const reasonsMax = 10;
const reasonLengthMax = 300;

interface Refusals {
  count: number;
  /** Of the first of them. */
  readonly requestId: string;
  readonly reasons: Map<string, number>;
}

/**
 * Tells the operator of requests that failed: a bug with its stack at once, and what is bound to happen under load or while the
 * database is away as one line a second for each status, with how many there were of each reason.
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
      this.#logger.warn('A rule no longer compiles.', { requestId, method, ...error.forLog });
  }

  /** Tells what has been counted. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [status, { count, requestId, reasons }] of this.#refusals) {
      const told = [...reasons].map(([reason, times]) => `${times} × ${reason}`).join(' ');
      const message = `${count} ${count === 1 ? 'request was' : 'requests were'} answered ${status}: ${told}`;
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

/** True for what happens to a service that works as it should: nothing was done, and the client may try again. */
function isExpected(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'unavailable' || error.code === 'storage_full');
}

/** What the client was told, and what is behind it. */
function reasonOf(error: AppError): string {
  const { message } = error;
  const cause = error.explanation ?? innermost(error).message;
  return (cause === message ? message : `${message} (${cause})`).slice(0, reasonLengthMax);
}

function innermost(error: Error): Error {
  return error.cause instanceof Error ? innermost(error.cause) : error;
}
