import type { Caller } from '../access/caller.ts';
import { type RuleInput, ruleInputOfCaller } from '../access/rule-input.ts';
import { AppError, busy } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Names, Reader, Row, Transaction } from '../storage/database.ts';

/**
 * The durable state of a delete that is done in steps.
 *
 *   checking ──► running ──► done
 *       └───────────┴──► stopping ──► failed
 */
export type RemovalState = 'checking' | 'running' | 'stopping' | 'done' | 'failed';

export interface RemovalJob {
  readonly id: string;
  /** The request for it: its caller, and how many webhooks have led to it. */
  readonly input: RuleInput;
  /** Id of the collection of the record that goes last. */
  readonly collection: string;
  readonly record: string;
  readonly state: RemovalState;
  /** Records to delete, as far as they were discovered. */
  readonly leavingCount: number;
  /** How many of them were checked, in the order of discovery. */
  readonly checked: number;
  /** Where the check of the next one goes on: the id of a collection that refers to it, and the position of the last record. */
  readonly atCollection: string;
  readonly atPosition: number;
  readonly deleted: number;
  /** Records that were saved without a reference. */
  readonly changed: number;
  /** Why it has failed; empty otherwise. */
  readonly cause: string;
  readonly created: string;
  readonly updated: string;
}

/** Jobs of an instance that are not finished. */
const activeMax = 100;
/** How long a finished job can be read. */
const finishedLifetimeMs = 24 * 60 * 60_000;

const isActive = sql`state IN ('checking', 'running', 'stopping')`;

/** Adds a job whose only record is the one to be deleted. Throws conflict when that is leaving already, unavailable. */
export async function insertJob(
  tx: Transaction,
  { instance, input }: { readonly instance: Instance; readonly input: RuleInput },
  removed: { readonly collection: Collection; readonly record: string; readonly lease: Lease },
): Promise<string> {
  const { names } = tx;
  const { collection, record, lease } = removed;
  const now = toTimestamp(instance.clock.now());
  const expiry = toTimestamp(instance.clock.now() - finishedLifetimeMs);
  await tx.run(
    sql`DELETE FROM ${names.table('$job')} WHERE ${names.instance.condition} AND NOT (${isActive}) AND updated < ${expiry}`,
  );
  const [count] = await tx.tuples(
    sql`SELECT count(*) FROM ${names.table('$job')} WHERE ${names.instance.condition} AND ${isActive}`,
  );
  if (Number(count?.[0]) >= activeMax) throw busy();
  const id = newId();
  const hops = input.headers.get('x_service_hops');
  const origin = JSON.stringify({ caller: input.caller, hops });
  await tx.run(sql`
    INSERT INTO ${names.table('$job')} (${names.instance.column}id, origin, collection, record, state, found, checked, at_collection,
      at_position, deleted, changed, cause, holder, held_until, created, updated)
    VALUES (${names.instance.value}${id}, ${origin}, ${collection.id}, ${record}, 'checking', 1, 0, '', 0, 0, 0, '', ${lease.holder},
      ${lease.until}, ${now}, ${now})`);
  const isAdded = await addLeaving(tx, id, { collection: collection.id, record, position: 0 });
  if (!isAdded) throw leavingAlready();
  return id;
}

function leavingAlready(): AppError {
  return new AppError('conflict', 'The record is being deleted already.');
}

/** Throws conflict where a record is leaving: a step that deletes it locks it now and then, and a write that waits for the lock gets this answer. */
export async function requireNotLeaving(
  reader: Reader,
  { id: collection }: Pick<Collection, 'id'>,
  record: string,
): Promise<void> {
  if ((await leavingAmong(reader, collection, [record])).size > 0) throw leavingAlready();
}

/** The process that works on a job, and until when (milliseconds since 1970). */
export interface Lease {
  readonly holder: string;
  readonly until: number;
}

/** Locks a job and extends the lease; undefined when another process has claimed it, or it has finished. */
export async function holdJob(tx: Transaction, id: string, lease: Lease): Promise<RemovalJob | undefined> {
  const { names } = tx;
  const lockCount = await tx.run(sql`
    UPDATE ${names.table('$job')} SET held_until = ${lease.until}
    WHERE ${names.instance.condition} AND id = ${id} AND holder = ${lease.holder} AND ${isActive}`);
  return lockCount === 0 ? undefined : readJob(tx, id);
}

/**
 * Claims a job whose lease has expired. Where no other process uses the database, a job of another `process` is free too: that process
 * has ended.
 */
export async function claimJob(
  tx: Transaction,
  { lease, process, now }: { readonly lease: Lease; readonly process: string; readonly now: number },
): Promise<string | undefined> {
  const { names } = tx;
  const isFree = names.isConcurrent
    ? sql`held_until <= ${now}`
    : sql`(held_until <= ${now} OR substr(holder, 1, ${process.length}) <> ${process})`;
  const [row] = await tx.tuples(sql`
    SELECT id FROM ${names.table('$job')} WHERE ${names.instance.condition} AND ${isActive} AND ${isFree} ORDER BY updated LIMIT 1${names.locks.skipLocked}`);
  if (row === undefined) return undefined;
  const id = String(row[0]);
  await tx.run(sql`
    UPDATE ${names.table('$job')} SET holder = ${lease.holder}, held_until = ${lease.until} WHERE ${names.instance.condition} AND id = ${id}`);
  return id;
}

/** Ends a lease, so that another may go on at once. */
export async function releaseJob(tx: Transaction, id: string, { holder }: Lease): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$job')} SET held_until = 0 WHERE ${names.instance.condition} AND id = ${id} AND holder = ${holder}`);
}

export async function saveJob(tx: Transaction, job: RemovalJob, now: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$job')} SET state = ${job.state}, found = ${job.leavingCount}, checked = ${job.checked},
      at_collection = ${job.atCollection}, at_position = ${job.atPosition}, deleted = ${job.deleted}, changed = ${job.changed},
      cause = ${job.cause}, updated = ${toTimestamp(now)}
    WHERE ${names.instance.condition} AND id = ${job.id}`);
}

export async function readJob(reader: Reader, id: string): Promise<RemovalJob | undefined> {
  const { names } = reader;
  const row = await reader.get(
    sql`SELECT * FROM ${names.table('$job')} WHERE ${names.instance.condition} AND id = ${id}`,
  );
  return row && fromRow(row);
}

/** Returns whether an instance has a job that is not finished. */
export async function hasJobs(reader: Reader): Promise<boolean> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT 1 FROM ${names.table('$job')} WHERE ${names.instance.condition} AND ${isActive} LIMIT 1`,
  );
  return row !== undefined;
}

function fromRow(row: Row): RemovalJob {
  // Written by `insertJob`.
  const { caller, hops } = JSON.parse(String(row['origin'])) as {
    readonly caller: Caller;
    readonly hops: string | null;
  };
  const headers = { get: (name: string) => (name === 'x_service_hops' ? hops : null) };
  return {
    id: String(row['id']),
    input: { ...ruleInputOfCaller(caller), headers },
    collection: String(row['collection']),
    record: String(row['record']),
    // A closed set of ours.
    state: String(row['state']) as RemovalState,
    leavingCount: Number(row['found']),
    checked: Number(row['checked']),
    atCollection: String(row['at_collection']),
    atPosition: Number(row['at_position']),
    deleted: Number(row['deleted']),
    changed: Number(row['changed']),
    cause: String(row['cause']),
    created: String(row['created']),
    updated: String(row['updated']),
  };
}

/** A record to delete. Records are deleted in the reverse order of their positions. */
export interface LeavingRecord {
  /** Id of its collection. */
  readonly collection: string;
  readonly record: string;
  readonly position: number;
}

/** Returns false for a record that is leaving already. */
export async function addLeaving(
  tx: Transaction,
  job: string,
  { collection, record, position }: LeavingRecord,
): Promise<boolean> {
  const { names } = tx;
  const added = await tx.run(sql`
    INSERT INTO ${names.table('$leaving')} (${names.instance.column}collection, record, job, position)
    VALUES (${names.instance.value}${collection}, ${record}, ${job}, ${position}) ON CONFLICT DO NOTHING`);
  return added > 0;
}

/** Returns the first records of a job from a position on. */
export async function leavingFrom(
  tx: Transaction,
  job: string,
  { position, max }: { readonly position: number; readonly max: number },
): Promise<readonly LeavingRecord[]> {
  const { names } = tx;
  return leaving(
    tx,
    sql`${names.instance.condition} AND job = ${job} AND position >= ${position} ORDER BY position LIMIT CAST(${max} AS bigint)`,
  );
}

/** Returns the records of a job that were discovered last, which are deleted first. */
export async function lastLeaving(
  tx: Transaction,
  job: string,
  max: number,
): Promise<readonly LeavingRecord[]> {
  const { names } = tx;
  return leaving(
    tx,
    sql`${names.instance.condition} AND job = ${job} ORDER BY position DESC LIMIT CAST(${max} AS bigint)`,
  );
}

async function leaving(tx: Transaction, where: Sql): Promise<readonly LeavingRecord[]> {
  const rows = await tx.tuples(
    sql`SELECT collection, record, position FROM ${tx.names.table('$leaving')} WHERE ${where}`,
  );
  return rows.map(([collection, record, position]) => ({
    collection: String(collection),
    record: String(record),
    position: Number(position),
  }));
}

export async function removeLeaving(
  tx: Transaction,
  { collection, record }: Pick<LeavingRecord, 'collection' | 'record'>,
): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    DELETE FROM ${names.table('$leaving')} WHERE ${names.instance.condition} AND collection = ${collection} AND record = ${record}`);
}

/** Returns which of these records are leaving. */
export async function leavingAmong(
  reader: Reader,
  collection: string,
  records: readonly string[],
): Promise<ReadonlySet<string>> {
  if (records.length === 0) return new Set();
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT record FROM ${names.table('$leaving')}
    WHERE ${names.instance.condition} AND collection = ${collection} AND record${names.anyOf(records)}`);
  return new Set(rows.map(([record]) => String(record)));
}

/** The condition that the record of a row, whose id is in the column `id`, is not leaving. */
export function staysHere(names: Names, { id }: Pick<Collection, 'id'>): Sql {
  return sql`NOT EXISTS (SELECT 1 FROM ${names.table('$leaving')} l WHERE ${names.instance.conditionOf('l')} AND l.collection = ${id} AND l.record = id)`;
}
