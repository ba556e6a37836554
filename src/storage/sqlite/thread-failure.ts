import { AppError } from '../../base/errors.ts';
import { AnswerTooLarge } from '../database.ts';
import { EngineFailure, QueryTimeout, sqliteCode, toEngineError, UniqueViolation } from '../engine-errors.ts';

/** What a thread has failed with. Errors would lose their class and their codes on the way. */
export type ThreadFailure =
  | { readonly kind: 'late' }
  | { readonly kind: 'too large' }
  | { readonly kind: 'replaced'; readonly path: string }
  | {
      readonly kind: 'broken';
      readonly errcode: number | undefined;
      readonly message: string;
      readonly isCertain: boolean;
    }
  | { readonly kind: 'engine'; readonly errcode: number; readonly message: string }
  | { readonly kind: 'other'; readonly message: string };

/** Called in the thread. */
export function toFailure(error: unknown): ThreadFailure {
  if (error instanceof QueryTimeout) return { kind: 'late' };
  if (error instanceof AnswerTooLarge) return { kind: 'too large' };
  // The engine's own error is the cause of one of ours.
  const isOurs = error instanceof AppError || error instanceof UniqueViolation;
  const cause = isOurs ? error.cause : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  const errcode = sqliteCode(cause);
  if (error instanceof EngineFailure)
    return { kind: 'broken', errcode, message, isCertain: error.code === 'unavailable' };
  return errcode === undefined ? { kind: 'other', message } : { kind: 'engine', errcode, message };
}

/** Called in the thread of the caller: returns the error as a connection of that thread would have thrown it. */
export function toError(failure: ThreadFailure): unknown {
  switch (failure.kind) {
    case 'late':
      return new QueryTimeout();
    case 'too large':
      return new AnswerTooLarge();
    case 'replaced':
      return new EngineFailure(new Error(`${failure.path} was replaced by another file while it was open.`), {
        isCertain: true,
      });
    case 'broken':
      return new EngineFailure(driverError(failure), { isCertain: failure.isCertain });
    case 'engine':
      return toEngineError(driverError(failure));
    default:
      return new Error(failure.message);
  }
}

/** Returns the error as the driver would have thrown it: with its code. */
function driverError({
  errcode,
  message,
}: {
  readonly errcode: number | undefined;
  readonly message: string;
}): Error {
  return errcode === undefined ? new Error(message) : Object.assign(new Error(message), { errcode });
}
