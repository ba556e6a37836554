import { AppError } from '../../base/errors.ts';
import { EngineFailure } from '../engine-errors.ts';

/** In seconds. An operator has to act first, so an immediate retry would be useless. */
const retryAfter = 30;

/** A data file cannot be opened. The client learns only that the service is unavailable, the operator which file it is and why. */
export class UnopenedFile extends AppError {
  override readonly explanation: string;

  constructor(path: string, error: AppError) {
    // An EngineFailure says `outcome_unknown`, which is wrong here: nothing was begun.
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

/** The engine's own message, where there is one and it says more than ours. */
function reasonOf(error: AppError): string {
  const { cause, code } = error;
  return cause instanceof Error && code !== 'storage_full' ? `${cause.message}.` : error.message;
}
