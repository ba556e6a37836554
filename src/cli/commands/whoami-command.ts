import { Command } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import { superusersId } from '../../instances/system-collections.ts';
import { decodeToken } from '../../secrets/token.ts';
import { type Api, ApiRefusal, objectOf, recordsPath } from '../api/api.ts';
import { addApiFlags, findService, type Service, withApi, withOperatorApi } from '../api/with-api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { isSet } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';
import { showItem } from '../terminal/show.ts';

/** `whoami` */
export function whoamiCommand(io: CommandIo): Command {
  const command = new Command('whoami').description(
    'show which service commands use, and who they are there',
  );
  addApiFlags(command);
  command.action(async () => {
    const service = await findService(command, io);
    const item = service === undefined ? await ofData(command, io) : await ofService(command, io, service);
    await showItem(io, item, { isJson: isSet(command, 'json') });
  });
  return command;
}

/** Whoever can open the data may do everything. */
function ofData(command: Command, io: CommandIo): Promise<JsonObject> {
  return withApi(command, io, async (api) => ({
    place: api.place,
    kind: 'operator',
    scopes: ['everything'],
    ...(await instanceMembers(api)),
  }));
}

async function ofService(command: Command, io: CommandIo, service: Service): Promise<JsonObject> {
  const { token, profile = '' } = service;
  if (token === undefined) throw notSignedIn(service.url);
  const bare = token.replace(/^bearer\s+/i, '');
  if (bare.startsWith('co_'))
    return withOperatorApi({ command, io }, async (api) => {
      const key = await getKey(api, '/api/operator/keys/current');
      return { place: api.place, profile, kind: 'operator key', ...key };
    });
  return withApi(command, io, async (api) => {
    const place = { place: api.place, profile };
    const claims = decodeToken(bare);
    return claims === undefined
      ? { ...place, kind: 'API key', ...(await getKey(api, '/api/keys/current')) }
      : { ...place, ...(await accountMembers(api, claims)), ...(await instanceMembers(api)) };
  });
}

function notSignedIn(place: string): CommandError {
  return new CommandError(
    exitCodes.permission,
    `There is no token for ${place}: sign in with chancery login, or give one with --token.`,
  );
}

async function getKey(api: Api, path: string): Promise<JsonObject> {
  const { id, name, scopes, collections, endpoints, expires, lastUsed } = objectOf(
    await api.request('GET', path),
  );
  return {
    id,
    name,
    scopes,
    ...restriction({ collections, endpoints }),
    expires: expires || 'never',
    lastUsed,
  };
}

/** A key is restricted to what it lists; null is no restriction. */
function restriction(lists: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => Array.isArray(list)));
}

async function accountMembers(api: Api, { id, collectionId, exp }: JsonObject): Promise<JsonObject> {
  const account = await api
    .request('GET', recordsPath(String(collectionId), String(id)), {
      query: { fields: 'email,collectionName' },
    })
    .then(objectOf)
    .catch((error: unknown): JsonObject => {
      // The view rule of the collection may hide the account from itself.
      if (error instanceof ApiRefusal && [403, 404].includes(error.status)) return {};
      throw error;
    });
  const isSuperuser = collectionId === superusersId;
  return {
    kind: isSuperuser ? 'superuser' : 'user',
    id,
    email: account['email'],
    ...(!isSuperuser && { collection: account['collectionName'] ?? collectionId }),
    ...(isSuperuser && { scopes: ['everything'] }),
    expires: typeof exp === 'number' ? new Date(exp * 1_000).toISOString() : '',
  };
}

/** Health tells superusers more than others. */
async function instanceMembers(api: Api): Promise<JsonObject> {
  const { data } = objectOf(await api.request('GET', '/api/health'));
  const { instanceId, version: ofService } = objectOf({ status: 200, json: data ?? {} });
  return { ...(instanceId !== undefined && { instance: instanceId, version: ofService }) };
}
