import { AppError } from '../../base/errors.ts';
import { EngineFailure, unavailableSeconds, unavailableText } from '../engine-errors.ts';

/** A data file cannot be opened. The client learns only that the service is unavailable, the operator which file it is and why. */
export class UnopenedFile extends AppError {
  override readonly explanation: string;

  constructor(path: string, error: AppError) {
    // An EngineFailure may say `outcome_unknown`, which is wrong here: nothing was begun.
    const isBroken = error instanceof EngineFailure;
    const told = isBroken ? unavailableText : error.message;
    super(isBroken ? 'unavailable' : error.code, told, {
      cause: error,
      retryAfter: error.retryAfter ?? unavailableSeconds,
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
