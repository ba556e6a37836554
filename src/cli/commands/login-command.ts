import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { version } from '../../app.ts';
import type { ClientConfig } from '../../config/client-config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { clientFlags } from '../../config/config-flags.ts';
import { decodeToken } from '../../secrets/token.ts';
import { type Api, ApiRefusal, objectOf, Unreachable } from '../api/api.ts';
import { askLine, askSecret } from '../terminal/ask.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { addFlags, clientOf, flagsOf, isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { removeProfile, saveProfile } from '../api/profiles.ts';
import { remoteApi } from '../api/remote-api.ts';

const profileDefault = 'default';

/** `login` */
export function loginCommand(io: CommandIo): Command {
  const command = new Command('login').description(
    'sign in to a service as a superuser, and save the token in a profile',
  );
  command.option('--email <ADDRESS>', 'e-mail address of the superuser');
  command.option('--password-stdin', 'read the password from standard input');
  addFlags(command, clientFlags);
  command.action(async () => {
    const client = clientOf(flagsOf(command), io);
    const { profile = profileDefault } = client;
    const folder = requireFolder(client);
    const configured = client.isFromFolder ? undefined : client.url;
    const url = configured ?? (await ask(io, 'URL of the service: ', '--url'));
    const place = { url, instance: client.instance, version };
    const api = remoteApi({ ...place, token: client.token });
    const token = client.token ?? (await signIn(api, command, io));
    await requireSuperuser(remoteApi({ ...place, token }));
    await saveProfile(folder, profile, { url: api.place, token });
    await print(io, `Signed in to ${api.place}${until(token)}. The token is in the profile ${profile}.\n`);
  });
  return command;
}

/** `logout` */
export function logoutCommand(io: CommandIo): Command {
  const command = new Command('logout').description('delete the token of a service');
  command.option('--profile <NAME>', 'the profile to delete', profileDefault);
  command.action(async () => {
    const name = textOf(command, 'profile') ?? profileDefault;
    const folder = requireFolder(clientOf({}, io));
    if (!(await removeProfile(folder, name)))
      throw new CommandError(exitCodes.refused, `There is no profile ${name}.`);
    await print(io, `Profile ${name} deleted. Its token stays valid until it expires.\n`);
  });
  return command;
}

function requireFolder({ folder }: ClientConfig): string {
  if (folder !== undefined) return folder;
  throw new ConfigError('There is no folder for profiles: neither XDG_CONFIG_HOME nor HOME is set.');
}

async function signIn(api: Api, command: Command, io: CommandIo): Promise<string> {
  const identity = textOf(command, 'email') ?? (await ask(io, 'E-mail address: ', '--email'));
  const password = isSet(command, 'password-stdin')
    ? (await text(io.stdin)).replace(/\r?\n$/, '')
    : await askPassword(io);
  const path = '/api/collections/_superusers/auth-with-password';
  try {
    const { token } = objectOf(await api.request('POST', path, { body: { identity, password } }));
    if (typeof token === 'string') return token;
    throw new Unreachable(`${api.place} is not Chancery: it returned no token.`);
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.status >= 500) throw error;
    const reason =
      error.status === 401
        ? 'This account has a second factor: sign in with an API key, by --token.'
        : error.message;
    throw new CommandError(exitCodes.permission, reason, { cause: error });
  }
}

async function ask(io: CommandIo, question: string, flag: string): Promise<string> {
  if (io.stdin.isTTY !== true) throw new ConfigError(`Cannot prompt without a terminal: give ${flag}.`);
  return (await askLine(io, question)).trim();
}

async function askPassword(io: CommandIo): Promise<string> {
  if (io.stdin.isTTY === true) return askSecret(io, 'Password: ');
  throw new ConfigError('Cannot prompt without a terminal: give --password-stdin, or an API key by --token.');
}

/** Throws for a token that is none of a superuser, so that no profile is made of it. */
async function requireSuperuser(api: Api): Promise<void> {
  try {
    await api.request('GET', '/api/collections', { query: { perPage: 1, fields: 'id' } });
  } catch (error) {
    // A key for something else than definitions is a good one.
    const isNarrow = error instanceof ApiRefusal && error.status === 403 && /scope/.test(error.message);
    if (!isNarrow) throw error;
  }
}

function until(token: string): string {
  const expires = decodeToken(token)?.['exp'];
  return typeof expires === 'number' ? ` until ${new Date(expires * 1_000).toISOString().slice(0, 16)}Z` : '';
}
