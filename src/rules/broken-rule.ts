import { AppError } from '../base/errors.ts';

/**
 * Returns the error for a stored rule that no longer compiles because something it names was deleted or renamed. The message has
 * nothing of the rule's text, which names what the caller may not know of; `cause` is for the log.
 */
export function brokenRule(cause: AppError): AppError {
  return new AppError('broken_rule', 'Something went wrong while processing your request.', { cause });
}
