import { AppError } from '../base/errors.ts';

/**
 * What is told of a rule that was stored and does not compile any more, as what it names was deleted or renamed. Nothing of its
 * text, which names what the caller may not know of; `cause` is for the log.
 */
export function brokenRule(cause: AppError): AppError {
  return new AppError('broken_rule', 'Something went wrong while processing your request.', { cause });
}
