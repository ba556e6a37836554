import {
  decodeKeyExpires,
  decodeKeyName,
  decodeKeyScopes,
  deleteKey,
  findKey,
  insertKey,
  type KeyRow,
  listKeyRows,
  type MemberErrors,
  memberReader,
  newKey,
} from '../auth/key-rows.ts';
import { tokenOf } from '../auth/authenticate.ts';
import { AppError, notFound } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { unknownMembers } from '../fields/field-error.ts';
import type { Actor, WrittenActor } from '../logs/audit-entry.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { ListResult } from '../query/run-list.ts';
import { limit, sql } from '../sql/sql.ts';
import type { OperatorControl } from './operator-control.ts';

/** The scopes of operator keys. `admin` includes all the others. */
export const operatorScopes = [
  'instances:read',
  'instances:write',
  'keys:write',
  'usage:read',
  'metrics',
  'admin',
] as const;

export type OperatorScope = (typeof operatorScopes)[number];

/** The credentials of a program of the operator. The key itself is `co_`, the id and 43 random characters. */
export interface OperatorKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly OperatorScope[];
  /** The time from which the key is refused; empty for never. */
  readonly expires: Timestamp;
  readonly created: Timestamp;
  /** When it was last used, to the minute; empty if never. */
  readonly lastUsed: Timestamp;
}

/** Creates a key and audits that. Throws bad_request with the problem of each member. */
export async function createOperatorKey(
  { database, clock, audit }: OperatorControl,
  body: JsonObject,
  actor: Actor,
): Promise<{ readonly operatorKey: OperatorKey; readonly key: string }> {
  const now = clock.now();
  const settings = decodeSettings(body, now);
  const { id, key } = newKey('co_');
  const operatorKey: OperatorKey = { id, ...settings, created: toTimestamp(now), lastUsed: '' };
  const row: KeyRow = {
    ...operatorKey,
    scopes: JSON.stringify(settings.scopes),
    collections: 'null',
    endpoints: 'null',
  };
  await database.write(async (tx) => {
    await insertKey(tx, row, key);
    await audit.append(tx, actor, { action: 'key.create', target: id, details: { ...settings } });
  });
  return { operatorKey, key };
}

type KeySettings = Pick<OperatorKey, 'name' | 'scopes' | 'expires'>;

function decodeSettings(body: JsonObject, now: number): KeySettings {
  const errors: MemberErrors = { ...unknownMembers(body, ['name', 'scopes', 'expires']) };
  const member = memberReader(body, errors);
  const settings = {
    name: member('name', decodeKeyName, ''),
    scopes: member('scopes', (value) => decodeKeyScopes(value, operatorScopes), []),
    expires: member('expires', (value) => decodeKeyExpires(value, now), ''),
  };
  if (Object.keys(errors).length > 0)
    throw new AppError('bad_request', 'Failed to create operator key.', { details: errors });
  return settings;
}

function toOperatorKey({ id, name, scopes, expires, created, lastUsed }: KeyRow): OperatorKey {
  // Written by createOperatorKey, which checked it.
  const stored = JSON.parse(scopes) as readonly string[];
  return {
    id,
    name,
    // Scopes that a newer version has added grant nothing here.
    scopes: operatorScopes.filter((scope) => stored.includes(scope)),
    expires,
    created,
    lastUsed,
  };
}

/** Returns a page of keys, without the secret part. */
export async function listOperatorKeys(
  operator: OperatorControl,
  query: ListQuery,
): Promise<ListResult<OperatorKey>> {
  const page = await listKeyRows(operator, query);
  return { ...page, items: page.items.map(toOperatorKey) };
}

/** Revokes a key and audits that: once this resolves, every node refuses it. Throws not_found. */
export async function revokeOperatorKey(
  { database, audit }: OperatorControl,
  id: string,
  actor: Actor,
): Promise<void> {
  await database.write(async (tx) => {
    await deleteKey(tx, id);
    await audit.append(tx, actor, { action: 'key.delete', target: id });
  });
}

/** Whether there is any key. Without one, the operator's routes are not there. */
export async function hasOperatorKey({ database }: OperatorControl): Promise<boolean> {
  const { names } = database;
  const select = sql`SELECT 1 FROM ${names.table('$api_key')} WHERE ${names.instance.condition}${limit(1)}`;
  return (await database.tuples(select)).length > 0;
}

/**
 * Returns the key of a request with this header. Throws unauthorized for a key that is wrong, expired or revoked, and for any other
 * credential, and audits that; not_found where there is no key at all, as if there were no such route.
 */
export async function findOperatorCaller(
  operator: OperatorControl,
  header: string | undefined,
  guest: WrittenActor,
): Promise<OperatorKey> {
  const row = await findKey(operator, 'co_', tokenOf(header ?? ''));
  if (row !== undefined) return toOperatorKey(row);
  if (!(await hasOperatorKey(operator))) throw notFound();
  if (header !== undefined) operator.audit.note(guest, { action: 'key.use', outcome: 'refused' });
  throw new AppError('unauthorized', 'The request requires a valid operator key.');
}

/** Throws forbidden for a key without the scope. */
export function requireOperatorScope({ scopes }: OperatorKey, scope: OperatorScope | 'any'): void {
  if (scope === 'any' || scopes.includes(scope) || scopes.includes('admin')) return;
  throw new AppError('forbidden', `The operator key needs the scope ${scope}.`);
}
