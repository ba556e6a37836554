import type { Caller } from '../access/caller.ts';
import { AppError } from '../base/errors.ts';
import { fromTimestamp, type Timestamp, toTimestamp } from '../base/timestamp.ts';
import type { Instance } from '../instances/instance.ts';
import { isDigestOf } from '../secrets/digest.ts';
import { lookupByKey, sql } from '../sql/sql.ts';
import { existingEndpoints } from '../endpoints/endpoint-reach.ts';
import { apiKeyColumns, apiKeyLimits, toApiKey } from './api-keys.ts';

const KEY = /^ck_([0-9a-z]{15})[0-9A-Za-z]{43}$/;

/** True for an API key; a token never begins like one, as it is JSON in base64, whose first letters are `ey`. */
export function isApiKey(text: string): boolean {
  return text.startsWith('ck_');
}

/**
 * Returns the caller that a key stands for. The key is read each time, so that one revoked through any node is refused at once by
 * all. Throws unauthorized for a key that is wrong, expired or revoked: a program must get an error, not go on as a guest.
 */
export async function callerOfKey(instance: Instance, text: string): Promise<Caller> {
  const [, id] = KEY.exec(text) ?? [];
  if (id === undefined) throw refusal();
  const { database, clock } = instance;
  const select = sql`
    SELECT ${apiKeyColumns}, digest FROM ${database.names.table('$api_key')}
    WHERE ${database.names.instance.condition} AND id = ${id}`;
  const [row] = await database.tuples(lookupByKey(select));
  if (row === undefined || !isDigestOf(String(row.at(-1)), text)) throw refusal();
  const { scopes, collections, endpoints: bound, expires, lastUsed } = toApiKey(row);
  if (expires !== '' && fromTimestamp(expires) <= clock.now()) throw refusal();
  noteKeyUse(instance, id, lastUsed);
  const endpoints = bound && (await existingEndpoints(database, bound));
  return { kind: 'superuser', id, key: { scopes, collections, endpoints } };
}

function refusal(): AppError {
  return new AppError('unauthorized', 'The API key is not valid, has expired or was revoked.');
}

const minuteMs = 60_000;

/** When this process last wrote a use, by the id of the key. */
const written = new WeakMap<Instance, Map<string, number>>();

/**
 * Writes that a key was used, at most once a minute, without holding up the request. The time only informs: a failed write is
 * made up for by the next use after a minute.
 */
export function noteKeyUse(instance: Instance, id: string, lastUsed: Timestamp): void {
  const now = instance.clock.now();
  if (lastUsed !== '' && now - fromTimestamp(lastUsed) < minuteMs) return;
  let uses = written.get(instance);
  if (uses === undefined || uses.size > apiKeyLimits.keysMax)
    written.set(instance, (uses = new Map<string, number>()));
  if (now - (uses.get(id) ?? Number.NEGATIVE_INFINITY) < minuteMs) return;
  uses.set(id, now);
  const isWritten = instance.database.write((tx) =>
    // Another node may have written a later use.
    tx.run(sql`
      UPDATE ${tx.names.table('$api_key')} SET last_used = ${toTimestamp(now)}
      WHERE ${tx.names.instance.condition} AND id = ${id} AND last_used < ${toTimestamp(now)}`),
  );
  isWritten.catch(() => undefined);
}
