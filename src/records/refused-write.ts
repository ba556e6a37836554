import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';

/**
 * The write of a record is refused; `details` has the fields at fault, if its values are. {@link refusedAs} gives it the message
 * that says which operation failed.
 */
export class RefusedWrite extends AppError {
  constructor(details: FieldErrors = {}, cause?: unknown) {
    super('bad_request', 'The record cannot be written.', { details, cause });
  }
}

/** Throws RefusedWrite if any field has a problem. */
export function refuseProblems(problems: ReadonlyMap<string, FieldError>): void {
  if (problems.size > 0) throw new RefusedWrite(Object.fromEntries(problems));
}

/** Passes the write's result on; when it is refused, throws bad_request with this message. */
export function refusedAs<Result>(message: string, write: Promise<Result>): Promise<Result> {
  return write.catch((error: unknown) => {
    if (!(error instanceof RefusedWrite)) throw error;
    const { details, cause } = error;
    throw new AppError('bad_request', message, { details, cause });
  });
}
