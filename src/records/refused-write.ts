import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';
import { mayWriteField } from './may-write-field.ts';
import type { WriteScope } from './record-write.ts';

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

/**
 * Passes the write's result on; when it is refused, throws bad_request with this message and the problems of all fields but those
 * that `isHidden`.
 */
export function refusedAs<Result>(
  message: string,
  write: Promise<Result>,
  isHidden: (name: string) => boolean = () => false,
): Promise<Result> {
  return write.catch((error: unknown) => {
    if (!(error instanceof RefusedWrite)) throw error;
    const { details: all, cause } = error;
    const details = Object.fromEntries(Object.entries(all).filter(([name]) => !isHidden(name)));
    throw new AppError('bad_request', message, { details, cause });
  });
}

/** Returns whether a name is that of a field which the caller may not know of. A problem of it would tell the name. */
export function hiddenFrom({ instance, facts }: WriteScope, collection: string): (name: string) => boolean {
  const isSuperuser = facts.caller.kind === 'superuser';
  return (name) =>
    instance.collections
      .find(collection)
      ?.fields.some((field) => field.name === name && !mayWriteField(field, isSuperuser)) === true;
}
