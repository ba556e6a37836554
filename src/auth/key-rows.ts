import { AppError, type FieldError, type FieldErrors, notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type JsonObject, ownMember } from '../base/json.ts';
import { readDate } from '../base/read-date.ts';
import { fromTimestamp, type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { fieldError, invalidValue } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver, type ListedTable, tableSource } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { digest, isDigestOf, newSecretText } from '../secrets/digest.ts';
import { lookupByKey, sql } from '../sql/sql.ts';
import type { Transaction, Tuple } from '../storage/database.ts';

/** Whose keys they are: an instance's, or in the shared database the operator's. */
export type KeyOwner = Pick<Instance, 'database' | 'clock'>;

/** What a key begins with: `ck_` for those of an instance, `co_` for those of the operator. */
export type KeyPrefix = 'ck_' | 'co_';

export const keyLimits = {
  /** Keys of one owner. */
  keysMax: 1_000,
  nameLengthMax: 255,
} as const;

/** The columns of `$api_key` in the order that {@link KeyRow} is read. */
export const keyColumns = sql`id, name, scopes, collections, endpoints, expires, created, last_used`;

/** A row of `$api_key`; lists as JSON. */
export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: string;
  readonly collections: string;
  readonly endpoints: string;
  /** The time from which the key is refused; empty for never. */
  readonly expires: Timestamp;
  readonly created: Timestamp;
  /** When it was last used, to the minute; empty if never. */
  readonly lastUsed: Timestamp;
}

export function toKeyRow(row: Tuple): KeyRow {
  const [id, name, scopes, collections, endpoints, expires, created, lastUsed] = row.map(String);
  return {
    id: String(id),
    name: String(name),
    scopes: String(scopes),
    collections: String(collections),
    endpoints: String(endpoints),
    expires: String(expires),
    created: String(created),
    lastUsed: String(lastUsed),
  };
}

/** Makes a key: its prefix, an id and 43 random characters. Only its digest is stored, so that a copy of the database is no credential. */
export function newKey(prefix: KeyPrefix): { readonly id: string; readonly key: string } {
  const id = newId();
  return { id, key: `${prefix}${id}${newSecretText()}` };
}

/** Inserts the row of a key. Throws bad_request when there are too many. */
export async function insertKey(tx: Transaction, row: KeyRow, key: string): Promise<void> {
  const { names } = tx;
  const table = names.table('$api_key');
  const count = await tx.get(sql`SELECT count(*) AS keys FROM ${table} WHERE ${names.instance.condition}`);
  if (Number(count?.['keys']) >= keyLimits.keysMax)
    throw new AppError(
      'bad_request',
      `Failed to create API key. There can be at most ${keyLimits.keysMax} keys.`,
    );
  const { id, name, scopes, collections, endpoints, expires, created, lastUsed } = row;
  await tx.run(sql`
    INSERT INTO ${table} (${names.instance.column}id, name, digest, scopes, collections, endpoints, expires, created, last_used)
    VALUES (${names.instance.value}${id}, ${name}, ${digest(key)}, ${scopes}, ${collections}, ${endpoints}, ${expires}, ${created}, ${lastUsed})`);
}

/** Throws not_found. */
export async function deleteKey(tx: Transaction, id: string): Promise<void> {
  const { names } = tx;
  const deleted = await tx.run(
    sql`DELETE FROM ${names.table('$api_key')} WHERE ${names.instance.condition} AND id = ${id}`,
  );
  if (deleted === 0) throw notFound();
}

const KEY = /^(ck_|co_)([0-9a-z]{15})[0-9A-Za-z]{43}$/;

/**
 * Returns the row of a key that is valid now, and notes that it was used. The key is read each time, so that one revoked through any node is
 * refused at once by all. Undefined for a key that is wrong, expired or revoked.
 */
export async function findKey(owner: KeyOwner, prefix: KeyPrefix, text: string): Promise<KeyRow | undefined> {
  const [, start, id] = KEY.exec(text) ?? [];
  if (start !== prefix || id === undefined) return undefined;
  const { database, clock } = owner;
  const { names } = database;
  const select = sql`
    SELECT ${keyColumns}, digest FROM ${names.table('$api_key')} WHERE ${names.instance.condition} AND id = ${id}`;
  const [tuple] = await database.tuples(lookupByKey(select));
  if (tuple === undefined || !isDigestOf(String(tuple.at(-1)), text)) return undefined;
  const row = toKeyRow(tuple);
  if (row.expires !== '' && fromTimestamp(row.expires) <= clock.now()) return undefined;
  noteKeyUse(owner, id, row.lastUsed);
  return row;
}

const minuteMs = 60_000;

/** When this process last wrote a use, by the id of the key. */
const written = new WeakMap<KeyOwner, Map<string, number>>();

/**
 * Writes that a key was used, at most once a minute, without holding up the request. The time only informs: a failed write is
 * made up for by the next use after a minute.
 */
export function noteKeyUse(owner: KeyOwner, id: string, lastUsed: Timestamp): void {
  const now = owner.clock.now();
  if (lastUsed !== '' && now - fromTimestamp(lastUsed) < minuteMs) return;
  let uses = written.get(owner);
  if (uses === undefined || uses.size > keyLimits.keysMax)
    written.set(owner, (uses = new Map<string, number>()));
  if (now - (uses.get(id) ?? Number.NEGATIVE_INFINITY) < minuteMs) return;
  uses.set(id, now);
  const isWritten = owner.database.write((tx) =>
    // Another node may have written a later use.
    tx.run(sql`
      UPDATE ${tx.names.table('$api_key')} SET last_used = ${toTimestamp(now)}
      WHERE ${tx.names.instance.condition} AND id = ${id} AND last_used < ${toTimestamp(now)}`),
  );
  isWritten.catch(() => undefined);
}

const resolve = columnResolver({
  id: column('text', sql`id`),
  name: column('text', sql`name`),
  expires: column('date', sql`expires`),
  created: column('date', sql`created`),
  lastUsed: column('date', sql`last_used`),
});

const keys: ListedTable = { name: '$api_key', columns: keyColumns, resolve };

/** Returns a page of keys, without the secret part, by default in the order in which they were made. */
export async function listKeyRows(
  { database, clock }: KeyOwner,
  query: ListQuery,
): Promise<ListResult<KeyRow>> {
  const page = await runList(database, query, tableSource(database, keys, clock.now()));
  return { ...page, items: page.items.map(toKeyRow) };
}

/** The errors of a body by the name of the member. */
export type MemberErrors = Record<string, FieldError | FieldErrors>;

/**
 * Returns a function that decodes one member of a body. An absent member is decoded as null. When a member is wrong, its error is added to
 * `errors` and the fallback is returned.
 */
export function memberReader(body: JsonObject, errors: MemberErrors) {
  return <Value>(name: string, decode: (value: unknown) => DecodedValue<Value>, fallback: Value): Value => {
    const decoded = decode(ownMember(body, name) ?? null);
    if ('value' in decoded) return decoded.value;
    errors[name] = decoded.error;
    return fallback;
  };
}

export function decodeKeyName(value: unknown): DecodedValue<string> {
  if (value === null || value === '') return { error: fieldError('validation_required') };
  if (typeof value === 'string' && value.length <= keyLimits.nameLengthMax) return { value };
  return { error: invalidValue(`Must be text of at most ${keyLimits.nameLengthMax} characters.`) };
}

/** Decodes a list of some of these scopes, in their order. */
export function decodeKeyScopes<Scope extends string>(
  value: unknown,
  all: readonly Scope[],
): DecodedValue<readonly Scope[]> {
  if (value === null) return { error: fieldError('validation_required') };
  const names: readonly unknown[] = Array.isArray(value) ? value : [];
  const scopes = all.filter((scope) => names.includes(scope));
  if (scopes.length > 0 && names.every((item) => scopes.some((scope) => scope === item)))
    return { value: scopes };
  return { error: invalidValue(`Must be one or more of ${all.join(', ')}.`) };
}

/** `now` is in milliseconds since 1970. */
export function decodeKeyExpires(value: unknown, now: number): DecodedValue<Timestamp> {
  if (value === null || value === '') return { value: '' };
  const expires = typeof value === 'string' ? readDate(value) : undefined;
  if (expires === undefined || expires === '') return { error: invalidValue('Must be a date.') };
  return fromTimestamp(expires) > now
    ? { value: expires }
    : { error: invalidValue('Must be in the future.') };
}
