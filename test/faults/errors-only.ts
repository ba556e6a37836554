import type { Logger } from '../../src/base/logger.ts';

/** Says only what went wrong: of a run of faults everything else is expected. */
export const errorsOnly: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: console.error,
};
