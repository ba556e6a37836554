import { AppError } from '../base/errors.ts';

/**
 * A stored rule that no longer compiles because something it names was deleted or renamed. The message has nothing of the rule's
 * text, which names what the caller may not know of.
 */
export class BrokenRule extends AppError {
  /** For the log, without a stack: anybody may ask again and again. */
  readonly forLog: { readonly collection: string; readonly reason: string };

  constructor(cause: AppError, collection: string) {
    super('broken_rule', 'Something went wrong while processing your request.', { cause });
    this.forLog = { collection, reason: cause.message };
  }
}
