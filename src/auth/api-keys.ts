import { type KeyScope, keyScopes, type Superuser } from '../access/caller.ts';
import { AppError, type FieldError, type FieldErrors, notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type JsonObject, ownMember } from '../base/json.ts';
import { fromTimestamp, type Timestamp, toTimestamp } from '../base/timestamp.ts';
import type { CollectionFinder } from '../collections/collection-store.ts';
import { readDate } from '../base/read-date.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import type { Actor } from '../logs/audit-entry.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver, type ListedTable, tableSource } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { digest, newSecretText } from '../secrets/digest.ts';
import { lookupByKey, sql } from '../sql/sql.ts';
import type { Transaction, Tuple } from '../storage/database.ts';

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
  /** Keys of one instance. */
  keysMax: 1_000,
  nameLengthMax: 255,
  collectionsMax: 200,
  endpointsMax: 100,
} as const;

/** The columns of `$api_key` in the order that {@link toApiKey} expects. */
export const apiKeyColumns = sql`id, name, scopes, collections, endpoints, expires, created, last_used`;

export function toApiKey(row: Tuple): ApiKey {
  const [id, name, scopes, collections, endpoints, expires, created, lastUsed] = row;
  // Written by createApiKey, which checked it.
  const storedScopes = JSON.parse(String(scopes)) as readonly string[];
  // As above.
  const bound = JSON.parse(String(endpoints)) as readonly string[] | null;
  return {
    id: String(id),
    name: String(name),
    // Scopes that a newer version has added grant nothing here.
    scopes: keyScopes.filter((scope) => storedScopes.includes(storedScope(scope, bound))),
    // As above.
    collections: JSON.parse(String(collections)) as readonly string[] | null,
    endpoints: bound,
    expires: String(expires),
    created: String(created),
    lastUsed: String(lastUsed),
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
  const apiKey = { id: newId(), ...settings, created: toTimestamp(now), lastUsed: '' };
  const key = `ck_${apiKey.id}${newSecretText()}`;
  await instance.database.write(async (tx) => {
    const table = tx.names.table('$api_key');
    const row = await tx.get(sql`SELECT count(*) AS keys FROM ${table} WHERE ${tx.names.instance.condition}`);
    if (Number(row?.['keys']) >= apiKeyLimits.keysMax) {
      const message = `Failed to create API key. There can be at most ${apiKeyLimits.keysMax} keys.`;
      throw new AppError('bad_request', message);
    }
    await insert(tx, apiKey, digest(key));
    const entry = { action: 'key.create', target: apiKey.id, details: { ...settings } } as const;
    await instance.audit.append(tx, actor, entry);
  });
  return { apiKey, key };
}

async function insert(tx: Transaction, apiKey: ApiKey, digested: string): Promise<void> {
  const { id, name, collections, endpoints, expires, created, lastUsed } = apiKey;
  const scopes = apiKey.scopes.map((scope) => storedScope(scope, endpoints));
  await tx.run(sql`
    INSERT INTO ${tx.names.table('$api_key')}
      (${tx.names.instance.column}id, name, digest, scopes, collections, endpoints, expires, created, last_used)
    VALUES (${tx.names.instance.value}${id}, ${name}, ${digested}, ${JSON.stringify(scopes)},
      ${JSON.stringify(collections)}, ${JSON.stringify(endpoints)}, ${expires}, ${created}, ${lastUsed})`);
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
  const errors: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(body, settingNames, readOnlyNames),
  };
  function member<Value>(
    name: string,
    decode: (value: unknown) => DecodedValue<Value>,
    fallback: Value,
  ): Value {
    const decoded = decode(ownMember(body, name) ?? null);
    if ('value' in decoded) return decoded.value;
    errors[name] = decoded.error;
    return fallback;
  }
  const settings = {
    name: member('name', decodeName, ''),
    scopes: member('scopes', decodeScopes, []),
    collections: member('collections', (value) => decodeCollections(value, context), null),
    endpoints: member('endpoints', (value) => decodeEndpoints(value, context), null),
    expires: member('expires', (value) => decodeExpires(value, context), ''),
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

function decodeName(value: unknown): DecodedValue<string> {
  if (value === null || value === '') return { error: fieldError('validation_required') };
  if (typeof value === 'string' && value.length <= apiKeyLimits.nameLengthMax) return { value };
  return { error: invalidValue(`Must be text of at most ${apiKeyLimits.nameLengthMax} characters.`) };
}

function decodeScopes(value: unknown): DecodedValue<readonly KeyScope[]> {
  if (value === null) return { error: fieldError('validation_required') };
  const names: readonly unknown[] = Array.isArray(value) ? value : [];
  const scopes = keyScopes.filter((scope) => names.includes(scope));
  if (scopes.length > 0 && names.every((item) => scopes.some((scope) => scope === item)))
    return { value: scopes };
  return { error: invalidValue(`Must be one or more of ${keyScopes.join(', ')}.`) };
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
function decodeEndpoints(
  value: unknown,
  { endpoints }: DecodeApiKeyContext,
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

function decodeExpires(value: unknown, { now }: DecodeApiKeyContext): DecodedValue<Timestamp> {
  if (value === null || value === '') return { value: '' };
  const expires = typeof value === 'string' ? readDate(value) : undefined;
  if (expires === undefined || expires === '') return { error: invalidValue('Must be a date.') };
  return fromTimestamp(expires) > now
    ? { value: expires }
    : { error: invalidValue('Must be in the future.') };
}

/** Revokes an API key and audits that: once this resolves, every node refuses the key. Throws not_found. */
export async function deleteApiKey(instance: Instance, id: string, actor: Actor): Promise<void> {
  await instance.database.write(async (tx) => {
    const { names } = tx;
    const deleted = await tx.run(
      sql`DELETE FROM ${names.table('$api_key')} WHERE ${names.instance.condition} AND id = ${id}`,
    );
    if (deleted === 0) throw notFound();
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
            sql`SELECT ${apiKeyColumns} FROM ${names.table('$api_key')} WHERE ${names.instance.condition} AND id = ${id}`,
          ),
        );
  if (row === undefined) throw new AppError('forbidden', 'The request was made without an API key.');
  return toApiKey(row);
}

const resolve = columnResolver({
  id: column('text', sql`id`),
  name: column('text', sql`name`),
  expires: column('date', sql`expires`),
  created: column('date', sql`created`),
  lastUsed: column('date', sql`last_used`),
});

const keys: ListedTable = { name: '$api_key', columns: apiKeyColumns, resolve };

/** Returns a page of keys, without the secret part, by default in the order in which they were made. */
export async function listApiKeys(instance: Instance, query: ListQuery): Promise<ListResult<ApiKey>> {
  const { database } = instance;
  const page = await runList(database, query, tableSource(database, keys, instance.clock.now()));
  return { ...page, items: page.items.map(toApiKey) };
}
