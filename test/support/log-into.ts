import { inspect } from 'node:util';
import type { Logger, LogMembers } from '../../src/base/logger.ts';

/** Keeps what is logged as warnings and errors, a line for each, for a test that looks at them in the end. */
export function logInto(lines: string[]): Logger {
  const at =
    (level: string) =>
    (message: string, { error }: LogMembers = {}) =>
      void lines.push(`${level}: ${message} ${error === undefined ? '' : inspect(error)}`);
  return { debug: () => undefined, info: () => undefined, warn: at('warn'), error: at('error') };
}
