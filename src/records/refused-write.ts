import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';

/** A record cannot be written as it was asked; by field, if it is for its values. What has failed for that {@link refusedAs} says. */
export class RefusedWrite extends AppError {
  constructor(details: FieldErrors = {}, cause?: unknown) {
    super('bad_request', 'The record cannot be written.', { details, cause });
  }
}

/** Throws RefusedWrite if any field has a problem. */
export function refuseProblems(problems: ReadonlyMap<string, FieldError>): void {
  if (problems.size > 0) throw new RefusedWrite(Object.fromEntries(problems));
}

/** Passes a write on; when it is refused, throws bad_request with this message. */
export function refusedAs<Result>(message: string, write: Promise<Result>): Promise<Result> {
  return write.catch((error: unknown) => {
    if (!(error instanceof RefusedWrite)) throw error;
    const { details, cause } = error;
    throw new AppError('bad_request', message, { details, cause });
  });
}
