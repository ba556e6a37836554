import { isDeepStrictEqual } from 'node:util';
import { type Caller, reachedEndpoints, reachesEndpoint, type User } from '../access/caller.ts';
import { AppError, type FieldError, type FieldErrors, notFound } from '../base/errors.ts';
import { invalidValue } from '../fields/field-error.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Names, Reader } from '../storage/database.ts';
import { namedOptions } from './endpoint-options.ts';
import { type Endpoint, endpointView } from './endpoint.ts';

/*
 * API keys that are bound to endpoints: for receivers of webhooks that manage their own endpoints. `reachesEndpoint` decides which those
 * are. Routes check the ids in their paths (http/endpoint-keys.ts), lists use the condition below, and changes the members that are allowed.
 */

/** Returns those of the endpoints that still exist. */
export async function existingEndpoints(reader: Reader, ids: readonly string[]): Promise<readonly string[]> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT id FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND id${names.anyOf(ids)} AND deleted = ''`,
  );
  const existing = new Set(rows.map(([id]) => String(id)));
  return ids.filter((id) => existing.has(id));
}

/** Returns the ids of the endpoints of an account, in the order of creation. */
export async function ownEndpoints(reader: Reader, owner: string): Promise<readonly string[]> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT id FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND owner = ${owner} AND deleted = '' ORDER BY position`,
  );
  return rows.map(([id]) => String(id));
}

/** Returns an account as the owner of endpoints. */
export function ownerText({ collectionId, id }: Pick<User, 'collectionId' | 'id'>): string {
  return `${collectionId}/${id}`;
}

/** Returns the body of a new endpoint, with the account as its owner. Throws forbidden for another owner. */
export function ownedBody(
  caller: Caller,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (caller.kind !== 'user') return body;
  const owner = ownerText(caller);
  if (body['owner'] !== undefined && body['owner'] !== '' && body['owner'] !== owner) {
    const details = { owner: invalidValue('Must be the account itself.') };
    throw new AppError('forbidden', 'An account may make endpoints of its own alone.', { details });
  }
  // A superuser's definition could otherwise match an account's endpoint, whose secret the account knows.
  if (body['name'] !== undefined && body['name'] !== '') {
    const details = { name: invalidValue('Must be empty: names are given by superusers.') };
    throw new AppError('forbidden', 'An account may not name its endpoints.', { details });
  }
  return { ...body, owner };
}

/** Returns the condition that a column holds the number of an endpoint that the caller reaches; undefined where it reaches all. */
export function isReached(names: Names, number: Sql, caller: Caller): Sql | undefined {
  const ids = reachedEndpoints(caller);
  if (ids === null) return undefined;
  return sql`${number} IN (
    SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND id${names.anyOf(ids)} AND deleted = '')`;
}

/** Throws not_found for an endpoint that the caller does not reach, as for one that does not exist. */
export function requireEndpoint(caller: Caller, id: string): void {
  if (!reachesEndpoint(caller, id)) throw notFound();
}

/**
 * Members that decide where and how an endpoint receives events, and not which. A key that is bound to it may change these and no others, so that it
 * never reads more than the creator of the endpoint allowed. Other members are rejected, new options too.
 */
const changeableMembers: ReadonlySet<string> = new Set([
  'url',
  'description',
  'headers',
  'maxInFlight',
  'timeoutMs',
  'schedule',
  'order',
  'batch',
  'coalesce',
  'onExhausted',
  'maxAgeSeconds',
  'rateLimit',
  'contact',
]);

/**
 * Returns the members of a change that the caller may not change, each with its error. Unchanged members have none. They are compared as
 * in responses, before collections are looked up: otherwise the error would show which collections exist.
 */
export function refusedMembers(
  caller: Caller,
  body: Readonly<Record<string, unknown>>,
  existing: Endpoint,
): FieldErrors {
  if (reachedEndpoints(caller) === null) return {};
  const view = endpointView(existing);
  const refused: Record<string, FieldError> = {};
  for (const [name] of namedOptions) {
    // The view rules limit what the owner of an endpoint receives. Names are for superusers.
    const isChangeable =
      caller.kind === 'user' ? name !== 'owner' && name !== 'name' : changeableMembers.has(name);
    if (isChangeable || body[name] === undefined) continue;
    if (!isDeepStrictEqual(body[name], view[name])) refused[name] = notChangeable;
  }
  return refused;
}

const notChangeable = invalidValue('The API key is bound to the endpoint and may not change this.');

/** Throws forbidden, with each member that the caller may not change. */
export function requireChangeable(
  caller: Caller,
  body: Readonly<Record<string, unknown>>,
  existing: Endpoint,
): void {
  const details = refusedMembers(caller, body, existing);
  const names = Object.keys(details);
  if (names.length === 0) return;
  const message = `The API key is bound to endpoints and may not change their ${names.join(', ')}.`;
  throw new AppError('forbidden', message, { details });
}
