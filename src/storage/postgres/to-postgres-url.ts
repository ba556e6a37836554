import { AppError } from '../../base/errors.ts';

const modes = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * An operator's URL as `pg` shall read it. To `pg` every mode but `disable` and `no-verify` means that the server's certificate
 * is verified in full, of which it warns at each use of another name. Throws AppError, without a word of the URL: it may hold a
 * password.
 */
export function toPostgresUrl(url: string): string {
  // The host may be empty: then it is a parameter, or a socket.
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
