import { AppError } from '../../base/errors.ts';
import { EngineFailure } from '../engine-errors.ts';

/** Seconds: an operator has to look after it, and to ask at once again would be of no use. */
const retryAfter = 30;

/** A file of the data that cannot be opened. Who asks is told that it is not available, the operator which file it is and why. */
export class UnopenedFile extends AppError {
  readonly explanation: string;

  constructor(path: string, error: AppError) {
    // Nothing was begun: its outcome is known, unlike that of a write to a medium that fails.
    const isBroken = error instanceof EngineFailure;
    const told = isBroken ? 'The service is not available, try again later.' : error.message;
    super(isBroken ? 'unavailable' : error.code, told, {
      cause: error,
      retryAfter: error.retryAfter ?? retryAfter,
    });
    this.name = 'UnopenedFile';
    this.explanation = `${path} cannot be opened: ${reasonOf(error)}`;
  }
}

/** The engine's own words, where there are any and they say more than ours. */
function reasonOf(error: AppError): string {
  const { cause, code } = error;
  return cause instanceof Error && code !== 'storage_full' ? `${cause.message}.` : error.message;
}
