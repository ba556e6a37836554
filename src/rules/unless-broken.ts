import type { Logger } from '../base/logger.ts';
import { BrokenRule } from './broken-rule.ts';

/**
 * Returns what `ask` finds, or `otherwise` where its rule no longer compiles, as for callers whom it does not admit. For rules
 * that only add to an answer, the rest of which is not to be lost.
 */
export async function unlessBroken<Found>(
  { logger }: { readonly logger: Logger },
  otherwise: Found,
  ask: () => Promise<Found>,
): Promise<Found> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof BrokenRule)) throw error;
    logger.warn('A rule no longer compiles: it admits nobody.', error.forLog);
    return otherwise;
  }
}
