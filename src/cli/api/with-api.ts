import type { Command } from 'commander';
import { version } from '../../app.ts';
import { isJsonObject } from '../../base/json.ts';
import { systemClock } from '../../base/clock.ts';
import type { ClientConfig } from '../../config/client-config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { clientFlags, dataFlags } from '../../config/config-flags.ts';
import { defaultSlug } from '../../instances/instance-directory.ts';
import { superusersId } from '../../instances/system-collections.ts';
import { decodeToken } from '../../secrets/token.ts';
import { type Api, ApiRefusal, objectOf } from './api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { addFlags, clientOf, configOf, flagsOf } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';
import type { LocalOperatorUse } from './with-local-api.ts';
import { findProfile, findProfileOf } from './profiles.ts';
import { baseOf, remoteApi } from './remote-api.ts';

/** Adds the flags that say which service or data a command works on, and the one for JSON. */
export function addApiFlags(command: Command): void {
  command.option('--json', 'print JSON');
  addFlags(command, [...clientFlags, ...dataFlags]);
}

/** Runs `work` with the Api that the flags of the command, the environment or the user's profile name. */
export async function withApi<Result>(
  command: Command,
  io: CommandIo,
  work: (api: Api) => Promise<Result>,
): Promise<Result> {
  const service = await findService(command, io);
  if (service === undefined) {
    // Imported on demand: what is asked of a service elsewhere needs none of it.
    const { withLocalApi } = await import('./with-local-api.ts');
    const slug = clientOf(flagsOf(command), io).instance ?? defaultSlug;
    return withLocalApi({ config: configOf(command, io), slug }, io, work);
  }
  const api = remoteApi({ ...service, version });
  if (service.token !== undefined) await requireValid(api, service.token);
  return work(api);
}

/** A command over the Api of the operator. */
export interface OperatorCommand extends LocalOperatorUse {
  readonly command: Command;
  readonly io: CommandIo;
}

/** As {@link withApi}, with the Api of the operator: the token is an operator key. */
export async function withOperatorApi<Result>(
  { command, io, ...use }: OperatorCommand,
  work: (api: Api) => Promise<Result>,
): Promise<Result> {
  const service = await findService(command, io);
  if (service !== undefined) {
    const api = remoteApi({ ...service, instance: undefined, version });
    return work(api).catch((error: unknown) => {
      throw explainRefusal(error, api.place);
    });
  }
  // As above.
  const { withLocalOperatorApi } = await import('./with-local-api.ts');
  return withLocalOperatorApi({ config: configOf(command, io), io, ...use }, work);
}

/** Without operator keys a service answers as if it had no operator API, and refuses other credentials without saying which it takes. */
function explainRefusal(error: unknown, place: string): unknown {
  if (!(error instanceof ApiRefusal)) return error;
  const isOff = error.status === 404 && !error.message.startsWith('There is no');
  const why = isOff
    ? `The operator API of ${place} is off: create an operator key on its machine with chancery operator key create.`
    : `${place} needs an operator key: give one with --token.`;
  return isOff || error.status === 401
    ? new CommandError(exitCodes.permission, why, { cause: error })
    : error;
}

/** Returns the URL of the service that the command works on; undefined where that is data of this machine. */
export async function findServiceUrl(command: Command, io: CommandIo): Promise<string | undefined> {
  return (await findService(command, io))?.url;
}

/** Returns the service that the command works on; undefined where that is data of this machine. */
export async function findService(command: Command, io: CommandIo): Promise<Service | undefined> {
  const client = clientOf(flagsOf(command), io);
  return client.kind === 'data' ? undefined : serviceOf(client);
}

/** A service as a command reaches it. */
export interface Service {
  readonly url: string;
  /** The slug; undefined where none was named. */
  readonly instance: string | undefined;
  readonly token: string | undefined;
  /** Undefined where the token is that of no profile. */
  readonly profile: string | undefined;
}

/** Returns the service that is named or was signed in to last; undefined for data of this machine. */
async function serviceOf({
  kind,
  url,
  profile,
  token,
  instance,
  folder,
}: ClientConfig): Promise<Service | undefined> {
  if (url !== undefined && profile !== undefined)
    throw new ConfigError('--url and --profile name a service each: give one of them.');
  if (url !== undefined) {
    const base = baseOf(url);
    const profileOfUrl = token === undefined ? await findProfileOf(folder, base) : undefined;
    return { url: base, instance, token: token ?? profileOfUrl?.token, profile: profileOfUrl?.name };
  }
  const stored = await findProfile(folder, profile);
  if (stored === undefined && profile !== undefined)
    throw new ConfigError(
      `There is no profile ${profile}: sign in with chancery login --profile ${profile}.`,
    );
  if (stored === undefined && kind === undefined && token !== undefined)
    throw new ConfigError('--token is for a service: name it with --url.');
  if (stored === undefined) return undefined;
  const name = token === undefined ? stored.name : undefined;
  return { url: baseOf(stored.url), instance, token: token ?? stored.token, profile: name };
}

/**
 * Throws when the token is no longer valid. The service takes the sender of such a token for a guest, and answers with what guests may see:
 * a list would be short without a word.
 */
async function requireValid(api: Api, token: string): Promise<void> {
  const claims = decodeToken(token.replace(/^bearer\s+/i, ''));
  // An API key is refused by the service itself.
  if (claims === undefined) return;
  const { exp, collectionId } = claims;
  const isOver = typeof exp === 'number' && exp * 1_000 <= systemClock.now();
  if (isOver || !(await isKnown(api, collectionId))) {
    const why = isOver ? 'has expired' : 'is not valid any more';
    throw new CommandError(
      exitCodes.permission,
      `The token for ${api.place} ${why}: sign in again with chancery login, or give another with --token.`,
    );
  }
}

/** Whether the service knows the account of a token that has not expired. Health tells superusers more than others. */
async function isKnown(api: Api, collectionId: unknown): Promise<boolean> {
  if (collectionId !== superusersId) return true;
  const { data } = objectOf(await api.request('GET', '/api/health'));
  return isJsonObject(data) && data['version'] !== undefined;
}
