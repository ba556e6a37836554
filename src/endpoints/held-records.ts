import { baseAlias } from '../query/record-scope.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { InlineColumn, Names, Reader, Transaction } from '../storage/database.ts';

/**
 * The keys of the records that each endpoint with transitions holds: those that it was sent, and not told to delete. With the conditions of
 * the endpoint, they decide what a change is for it: see deliveries/transitions.ts. Keys are written in the transaction that writes the
 * delivery.
 */
export interface HeldKey {
  /** The number of the endpoint. */
  readonly endpoint: number;
  /** The id of the collection. */
  readonly collection: string;
  readonly record: string;
}

const columns: readonly InlineColumn[] = [
  ['endpoint', 'number'],
  ['collection', 'text'],
  ['record', 'text'],
];

/** The condition that an endpoint holds the record of the row `baseAlias`, or `whole`, that it also lacks no state of it. */
export function isHeldBy(
  names: Names,
  { endpoint, collection }: Omit<HeldKey, 'record'>,
  how: 'any' | 'whole' = 'any',
): Sql {
  const isWhole = how === 'whole' ? sql` AND h.is_stale = 0` : sql``;
  return sql`EXISTS (SELECT 1 FROM ${names.table('$held')} h
    WHERE ${names.instance.conditionOf('h')} AND h.endpoint = ${endpoint} AND h.collection = ${collection} AND h.record = ${baseAlias}.id${isWhole})`;
}

/** A text that identifies a key, for sets. */
export function heldText({ endpoint, collection, record }: HeldKey): string {
  return `${endpoint}/${collection}/${record}`;
}

/** Returns which of these keys are held, by their texts, and whether each is stale: the endpoint lacks a state of the record. */
export async function readHeld(
  reader: Reader,
  keys: readonly HeldKey[],
): Promise<ReadonlyMap<string, { readonly isStale: boolean }>> {
  if (keys.length === 0) return new Map();
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT h.endpoint, h.collection, h.record, h.is_stale FROM ${names.table('$held')} h JOIN ${tableOf(names, keys)}
      ON CAST(given.endpoint AS bigint) = h.endpoint AND given.collection = h.collection AND given.record = h.record
    WHERE ${names.instance.conditionOf('h')}`);
  return new Map(
    rows.map(([endpoint, collection, record, isStale]) => [
      heldText({ endpoint: Number(endpoint), collection: String(collection), record: String(record) }),
      { isStale: Number(isStale) === 1 },
    ]),
  );
}

/** Notes that endpoints hold these records, in the state that they are sent. */
export async function holdRecords(tx: Transaction, keys: readonly HeldKey[]): Promise<void> {
  if (keys.length === 0) return;
  const { names } = tx;
  const { column, value } = names.instance;
  await tx.run(sql`
    INSERT INTO ${names.table('$held')} (${column}endpoint, collection, record, is_stale)
    SELECT ${value}CAST(given.endpoint AS bigint), given.collection, given.record, CAST(0 AS bigint) FROM ${tableOf(names, keys)} WHERE TRUE
    ON CONFLICT (${column}endpoint, collection, record) DO UPDATE SET is_stale = 0`);
}

/** Notes that endpoints hold these records no more. */
export async function dropRecords(tx: Transaction, keys: readonly HeldKey[]): Promise<void> {
  if (keys.length === 0) return;
  const { names } = tx;
  await tx.run(sql`
    DELETE FROM ${names.table('$held')} WHERE ${names.instance.condition} AND (endpoint, collection, record) IN (
      SELECT CAST(given.endpoint AS bigint), given.collection, given.record FROM ${tableOf(names, keys)})`);
}

/** Locks keys until the transaction ends: a change that makes one of these records again waits. */
export async function lockHeld(tx: Transaction, keys: readonly HeldKey[]): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$held')} SET is_stale = is_stale WHERE ${names.instance.condition} AND (endpoint, collection, record) IN (
      SELECT CAST(given.endpoint AS bigint), given.collection, given.record FROM ${tableOf(names, keys)})`);
}

/** Notes that endpoints lack a state of a record that they hold: one of them, or all. */
export async function noteStale(
  tx: Transaction,
  { collection, record, endpoint }: Omit<HeldKey, 'endpoint'> & Partial<HeldKey>,
): Promise<void> {
  const { names } = tx;
  const ofOne = endpoint === undefined ? sql`` : sql` AND endpoint = ${endpoint}`;
  const isOfMirror = sql`endpoint IN (SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND transitions = 'true')`;
  await tx.run(sql`
    UPDATE ${names.table('$held')} SET is_stale = 1
    WHERE ${names.instance.condition} AND collection = ${collection} AND record = ${record} AND ${isOfMirror}${ofOne}`);
}

function tableOf(names: Names, keys: readonly HeldKey[]): Sql {
  return names.valuesTable(
    columns,
    keys.map(({ endpoint, collection, record }) => [endpoint, collection, record]),
  );
}

const forgottenMax = 1_000;

/** Deletes some of the keys of an endpoint, of one collection or of all. Returns how many; 0 when none is left. */
export async function forgetHeld(tx: Transaction, endpoint: number, collection?: string): Promise<number> {
  const { names } = tx;
  const table = names.table('$held');
  const ofCollection = collection === undefined ? sql`` : sql` AND collection = ${collection}`;
  const of = sql`${names.instance.condition} AND endpoint = ${endpoint}${ofCollection}`;
  return tx.run(sql`
    DELETE FROM ${table} WHERE ${of} AND (collection, record) IN (SELECT collection, record FROM ${table} WHERE ${of} ORDER BY collection, record${limit(forgottenMax)})`);
}
