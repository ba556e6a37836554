import { type KeyScope, keyScopes, type Superuser } from '../access/caller.ts';
import { AppError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import type { CollectionFinder } from '../collections/collection-store.ts';
import { invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import type { Actor } from '../logs/audit-entry.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { ListResult } from '../query/run-list.ts';
import { lookupByKey, sql } from '../sql/sql.ts';
import {
  decodeKeyExpires,
  decodeKeyName,
  decodeKeyScopes,
  deleteKey,
  insertKey,
  keyColumns,
  keyLimits,
  type KeyRow,
  listKeyRows,
  type MemberErrors,
  memberReader,
  newKey,
  toKeyRow,
} from './key-rows.ts';

/**
 * The credentials of a program, in place of a sign-in. The key itself is `ck_`, the id and 43 random characters; only its digest is stored,
 * so that a copy of the database or a backup is no credential.
 */
interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  /** Ids of the collections that it is bound to; null for all but the service's own. */
  readonly collections: readonly string[] | null;
  /** Ids of the endpoints of webhooks that it is bound to, also of those that were deleted since; null for all. */
  readonly endpoints: readonly string[] | null;
  /** The time from which the key is refused; empty for never. */
  readonly expires: Timestamp;
  readonly created: Timestamp;
  /** When it was last used, to the minute; empty if never. */
  readonly lastUsed: Timestamp;
}

export const apiKeyLimits = {
  ...keyLimits,
  collectionsMax: 200,
  endpointsMax: 100,
} as const;

export function toApiKey({ scopes, collections, endpoints, ...row }: KeyRow): ApiKey {
  // Written by createApiKey, which checked it.
  const storedScopes = JSON.parse(scopes) as readonly string[];
  // As above.
  const bound = JSON.parse(endpoints) as readonly string[] | null;
  return {
    id: row.id,
    name: row.name,
    // Scopes that a newer version has added grant nothing here.
    scopes: keyScopes.filter((scope) => storedScopes.includes(storedScope(scope, bound))),
    // As above.
    collections: JSON.parse(collections) as readonly string[] | null,
    endpoints: bound,
    expires: row.expires,
    created: row.created,
    lastUsed: row.lastUsed,
  };
}

/**
 * A scope of a key for some endpoints is stored under another name. To the version before, which may run beside this one and has no such
 * keys, it is a scope that grants nothing; otherwise the key would reach every endpoint there.
 */
function storedScope(scope: KeyScope, endpoints: readonly string[] | null): string {
  return endpoints === null ? scope : `${scope} of endpoints`;
}

export interface NewApiKey {
  readonly apiKey: ApiKey;
  /** The key itself; it must be shown now, as it is not stored. */
  readonly key: string;
}

/** Creates an API key and audits that. Throws bad_request. */
export async function createApiKey(instance: Instance, body: JsonObject, actor: Actor): Promise<NewApiKey> {
  // The key's collections may have been made through another node.
  await instance.refresh();
  const now = instance.clock.now();
  const endpoints = await instance.endpoints.stored(instance.database);
  const settings = decodeApiKey(body, { collections: instance.collections, endpoints, now });
  const { id, key } = newKey('ck_');
  const apiKey = { id, ...settings, created: toTimestamp(now), lastUsed: '' };
  await instance.database.write(async (tx) => {
    await insertKey(tx, toRow(apiKey), key);
    const entry = { action: 'key.create', target: apiKey.id, details: { ...settings } } as const;
    await instance.audit.append(tx, actor, entry);
  });
  return { apiKey, key };
}

function toRow({ scopes, collections, endpoints, ...rest }: ApiKey): KeyRow {
  return {
    ...rest,
    scopes: JSON.stringify(scopes.map((scope) => storedScope(scope, endpoints))),
    collections: JSON.stringify(collections),
    endpoints: JSON.stringify(endpoints),
  };
}

/** The members of a key that its owner sets. */
export type ApiKeySettings = Pick<ApiKey, 'name' | 'scopes' | 'collections' | 'endpoints' | 'expires'>;

export interface DecodeApiKeyContext {
  readonly collections: CollectionFinder;
  /** All endpoints of webhooks. */
  readonly endpoints: readonly { readonly id: string }[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

const settingNames = [
  'name',
  'scopes',
  'collections',
  'endpoints',
  'expires',
] as const satisfies readonly (keyof ApiKeySettings)[];
/** Members of a key that only answers have. They are ignored, so that an answer may be sent back as a new key. */
const readOnlyNames = ['id', 'key', 'created', 'lastUsed'] as const;

/** Reads a key's settings from a body. Throws bad_request with the problem of each member. */
function decodeApiKey(body: JsonObject, context: DecodeApiKeyContext): ApiKeySettings {
  const errors: MemberErrors = { ...unknownMembers(body, settingNames, readOnlyNames) };
  const member = memberReader(body, errors);
  const settings = {
    name: member('name', decodeKeyName, ''),
    scopes: member('scopes', (value) => decodeKeyScopes(value, keyScopes), []),
    collections: member('collections', (value) => decodeCollections(value, context), null),
    endpoints: member('endpoints', (value) => decodeEndpoints(value, context), null),
    expires: member('expires', (value) => decodeKeyExpires(value, context.now), ''),
  };
  // A key that may change definitions or add endpoints can read everything: a list of collections would only seem to bind it.
  const isUnbound = settings.scopes.some((scope) => !scope.startsWith('records:'));
  if (settings.collections !== null && isUnbound && errors['collections'] === undefined)
    errors['collections'] = invalidValue(
      'Only a key whose scopes are all of records can be bound to collections.',
    );
  // Records, definitions and settings lead around every list of endpoints.
  const isForMore = settings.scopes.some((scope) => !scope.startsWith('webhooks:'));
  if (settings.endpoints !== null && isForMore && errors['endpoints'] === undefined)
    errors['endpoints'] = invalidValue(
      'Only a key whose scopes are all of webhooks can be bound to endpoints.',
    );
  if (Object.keys(errors).length > 0)
    throw new AppError('bad_request', 'Failed to create API key.', { details: errors });
  return settings;
}

/** Decodes names or ids to ids. Null means every collection; an empty list is refused, as it must not mean the same. */
function decodeCollections(
  value: unknown,
  { collections }: DecodeApiKeyContext,
): DecodedValue<readonly string[] | null> {
  if (value === null) return { value };
  if (!Array.isArray(value) || value.length === 0 || value.length > apiKeyLimits.collectionsMax) {
    const message = `Must be null for all, or an array of 1 to ${apiKeyLimits.collectionsMax} names or ids of collections.`;
    return { error: invalidValue(message) };
  }
  const ids = new Set<string>();
  for (const item of value) {
    const collection = typeof item === 'string' ? collections.find(item) : undefined;
    if (collection === undefined)
      return { error: invalidValue(`There is no collection ${JSON.stringify(item)}.`) };
    if (collection.system)
      return { error: invalidValue(`The collection ${collection.name} needs the scope admin, and no list.`) };
    ids.add(collection.id);
  }
  return { value: [...ids] };
}

/** Null means every endpoint; an empty list is refused, as it must not mean the same. */
export function decodeEndpoints(
  value: unknown,
  { endpoints }: Pick<DecodeApiKeyContext, 'endpoints'>,
): DecodedValue<readonly string[] | null> {
  if (value === null) return { value };
  if (!Array.isArray(value) || value.length === 0 || value.length > apiKeyLimits.endpointsMax) {
    const message = `Must be null for all, or an array of 1 to ${apiKeyLimits.endpointsMax} ids of endpoints of webhooks.`;
    return { error: invalidValue(message) };
  }
  const ids = new Set<string>();
  for (const item of value) {
    const endpoint = endpoints.find(({ id }) => id === item);
    if (endpoint === undefined)
      return { error: invalidValue(`There is no endpoint ${JSON.stringify(item)}.`) };
    ids.add(endpoint.id);
  }
  return { value: [...ids] };
}

/** Revokes an API key and audits that: once this resolves, every node refuses the key. Throws not_found. */
export async function deleteApiKey(instance: Instance, id: string, actor: Actor): Promise<void> {
  await instance.database.write(async (tx) => {
    await deleteKey(tx, id);
    await instance.audit.append(tx, actor, { action: 'key.delete', target: id });
  });
}

/** Returns the API key that the caller sends. Throws forbidden for a superuser who sends none. */
export async function getOwnApiKey({ database }: Instance, { id, key }: Superuser): Promise<ApiKey> {
  const { names } = database;
  const [row] =
    key === undefined
      ? []
      : await database.tuples(
          lookupByKey(
            sql`SELECT ${keyColumns} FROM ${names.table('$api_key')} WHERE ${names.instance.condition} AND id = ${id}`,
          ),
        );
  if (row === undefined) throw new AppError('forbidden', 'The request was made without an API key.');
  return toApiKey(toKeyRow(row));
}

/** Returns a page of keys, without the secret part, by default in the order in which they were made. */
export async function listApiKeys(instance: Instance, query: ListQuery): Promise<ListResult<ApiKey>> {
  const page = await listKeyRows(instance, query);
  return { ...page, items: page.items.map(toApiKey) };
}
