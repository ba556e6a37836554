import { AppError } from '../../base/errors.ts';

const modes = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * Converts an operator's URL for `pg`. To `pg` every `sslmode` but `disable` and `no-verify` means `verify-full`, and it logs a warning
 * for each other name. Throws an AppError without any part of the URL, which may hold a password.
 */
export function toPostgresUrl(url: string): string {
  // The host may be empty if it is a parameter or a socket, which `URL` would refuse.
  if (!URL.canParse(url.replace('@/', '@host/'))) {
    const hint = 'in a password, characters such as / # ? are written as %2F %23 %3F';
    throw new AppError('unavailable', `The URL of PostgreSQL cannot be read: ${hint}.`);
  }
  const mode = /[?&]sslmode=([^&]*)/.exec(url)?.[1];
  if (mode === undefined || /[?&]uselibpqcompat=true(?:&|$)/.test(url)) return url;
  if (!modes.includes(mode))
    throw new AppError('unavailable', `The sslmode of PostgreSQL must be one of ${modes.join(', ')}.`);
  return url.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/, '$1verify-full');
}
