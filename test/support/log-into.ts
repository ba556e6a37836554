import { inspect } from 'node:util';
import type { Logger, LogMembers } from '../../src/base/logger.ts';

/** Returns a logger that adds a line to `lines` for each warning and error. */
export function logInto(lines: string[]): Logger {
  const at =
    (level: string) =>
    (message: string, { error }: LogMembers = {}) =>
      void lines.push(`${level}: ${message} ${error === undefined ? '' : inspect(error)}`);
  return { debug: () => undefined, info: () => undefined, warn: at('warn'), error: at('error') };
}
