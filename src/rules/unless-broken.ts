import { AppError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';

/**
 * For a rule that only adds to an answer: what `ask` finds, or `otherwise` where the rule does not compile any more, as it is for
 * those whom it does not admit. The rest of the answer is not to be lost with it.
 */
export async function unlessBroken<Found>(
  { logger }: { readonly logger: Logger },
  otherwise: Found,
  ask: () => Promise<Found>,
): Promise<Found> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'broken_rule') throw error;
    logger.warn('A rule no longer compiles: it admits nobody.', { error });
    return otherwise;
  }
}
