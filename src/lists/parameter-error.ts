import { AppError } from '../base/errors.ts';
import { invalidValue } from '../fields/field-error.ts';

/** Returns the error for a list parameter, under its name in the query. */
export function parameterError(name: string, message: string): AppError {
  return new AppError('bad_request', message, { details: { [name]: invalidValue(message) } });
}
