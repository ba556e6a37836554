import { codeOf } from '../base/code-of.ts';
import { AppError } from '../base/errors.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';

/** Runs work on a table. An error of an engine gets the reason, which clients are not told, and what the operator can do. */
export async function explainFailure<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw reasonOf(error) === undefined
      ? error
      : new AppError(
          'unavailable',
          `The table ${table} cannot be copied: ${reasonOf(error)}. Create another, empty database and move again.`,
          { cause: error },
        );
  }
}

/** What the engine said. Undefined for an error that says itself what is to be done, and for bugs. */
function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof AppError || error instanceof UniqueViolation)) return undefined;
  const { cause } = error;
  return cause instanceof Error ? (reasonOf(cause) ?? (cause.message || codeOf(cause))) : undefined;
}
