import { QuotaExceeded } from '../base/errors.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database, Reader, Transaction } from '../storage/database.ts';
import type { Collection } from './collection.ts';

/**
 * The quotas of an instance that its database itself holds, whichever process changes it and in whatever way.
 *
 * Triggers on the tables of all collections but those of the system take from the room that `$quota` keeps, in the transaction of the change.
 * Without a quota of records there are no triggers. The rows are counted once, when the quota is set, while nobody else writes. Collections are
 * counted where some are created, which nobody else does at the same time.
 */
export interface TableQuotas {
  /** Grows with each change of the quotas. A process that does not know the latest must not bring an older one back. */
  readonly version: number;
  readonly records?: number;
  readonly collections?: number;
  /** Held in files/file-quota.ts. */
  readonly fileBytes?: number;
}

const ofRecords = 'records';
const ofCollections = 'collections';
const ofFileBytes = 'fileBytes';
/** The row whose `max` is the version. */
const ofVersion = 'version';

/** The maximum of what is counted without a quota. */
export const unlimited = Number.MAX_SAFE_INTEGER;

type Maxima = ReadonlyMap<string, number>;

/** Makes these the quotas. Does nothing when they are that already, or later ones are. */
export async function setTableQuotas(
  database: Database,
  collections: { all(): readonly Collection[] },
  quotas: TableQuotas,
): Promise<void> {
  const isSame = (maxima: Maxima): boolean =>
    maxima.get(ofRecords) === quotas.records &&
    maxima.get(ofCollections) === quotas.collections &&
    maxima.get(ofFileBytes) === quotas.fileBytes;
  if (isSame(await readMaxima(database))) return;
  const work = async (tx: Transaction): Promise<void> => {
    const maxima = await readMaxima(tx);
    const counted = collections.all().filter(isCounted);
    if (isSame(maxima) || (maxima.get(ofVersion) ?? 0) >= quotas.version) return;
    await setMax(tx, ofVersion, quotas.version);
    await setMax(tx, ofCollections, quotas.collections);
    await setFileMax(tx, maxima.get(ofFileBytes), quotas.fileBytes);
    const before = maxima.get(ofRecords);
    if (before === quotas.records) return;
    if (quotas.records === undefined) await stopCounting(tx, counted);
    else if (before === undefined) await beginCounting(tx, counted, quotas.records);
    else await changeMax(tx, before, quotas.records);
  };
  // On SQLite another thread counts, where that takes long.
  const alteredTables = collections.all().length;
  await database.write(work, { isExclusive: true, alteredTables });
}

async function setMax(tx: Transaction, name: string, max: number | undefined): Promise<void> {
  const { names } = tx;
  await tx.run(sql`DELETE FROM ${roomTable(tx)} WHERE ${names.instance.condition} AND name = ${name}`);
  if (max !== undefined)
    await tx.run(sql`
      INSERT INTO ${roomTable(tx)} (${names.instance.column}name, shard, room, max)
      VALUES (${names.instance.value}${name}, 0, 0, ${max})`);
}

/** Keeps what is taken. Without a row, what is in the store is measured again (files/file-quota.ts). */
async function setFileMax(
  tx: Transaction,
  before: number | undefined,
  max: number | undefined,
): Promise<void> {
  const { instance } = tx.names;
  if (before === max) return;
  if (before !== undefined && max !== undefined) {
    await tx.run(sql`
      UPDATE ${roomTable(tx)} SET room = room + ${max - before}, max = ${max}
      WHERE ${instance.condition} AND name = ${ofFileBytes}`);
    return;
  }
  await setMax(tx, 'filesMeasured', undefined);
  await setMax(tx, ofFileBytes, max);
  await tx.run(
    sql`UPDATE ${roomTable(tx)} SET room = max WHERE ${instance.condition} AND name = ${ofFileBytes}`,
  );
}

/** Throws QuotaExceeded when there are more collections than there may be, after some were created. */
async function requireRoomForCollections(tx: Transaction, maxima: Maxima): Promise<void> {
  const max = maxima.get(ofCollections);
  if (max === undefined) return;
  const { names } = tx;
  const [row] = await tx.tuples(
    sql`SELECT count(*) FROM ${names.table('$collection')} WHERE ${names.instance.condition} AND system = 0`,
  );
  if (Number(row?.[0]) > max) throw new QuotaExceeded(ofCollections);
}

/** How many records there are of how many; undefined without a quota. */
export async function readRecordQuota(
  reader: Reader,
): Promise<{ readonly used: number; readonly max: number } | undefined> {
  const [row] = await reader.tuples(
    sql`SELECT min(max), sum(room) FROM ${roomTable(reader)} WHERE ${ofThis(reader)}`,
  );
  const [max, room] = row ?? [];
  return typeof max === 'number' ? { max, used: max - Number(room) } : undefined;
}

/** Notes that a collection is about to be dropped with its records. */
export async function uncountRecords(tx: Transaction, collection: Collection): Promise<void> {
  if (!isCounted(collection) || !(await readMaxima(tx)).has(ofRecords)) return;
  await addRoom(tx, await countRows(tx, collection));
}

/**
 * Counts the records of collections from now on, which were created, or changed in a way that may have taken their triggers. Throws
 * QuotaExceeded.
 */
export async function countRecords(
  tx: Transaction,
  { created, changed }: { readonly created: readonly Collection[]; readonly changed: readonly Collection[] },
): Promise<void> {
  if (created.length + changed.length === 0) return;
  const maxima = await readMaxima(tx);
  if (created.some(isCounted)) await requireRoomForCollections(tx, maxima);
  if (!maxima.has(ofRecords)) return;
  for (const collection of [...created, ...changed].filter(isCounted)) {
    await dropTriggers(tx, collection);
    await makeTriggers(tx, collection);
  }
  let rows = 0;
  for (const collection of created.filter(isCounted)) rows += await countRows(tx, collection);
  if (rows === 0) return;
  await addRoom(tx, -rows);
  const quota = await readRecordQuota(tx);
  if (quota !== undefined && quota.used > quota.max) throw new QuotaExceeded(ofRecords);
}

function isCounted({ system, type }: Collection): boolean {
  return !system && type !== 'view';
}

async function beginCounting(
  tx: Transaction,
  collections: readonly Collection[],
  max: number,
): Promise<void> {
  const { names } = tx;
  let rows = 0;
  for (const collection of collections) {
    await makeTriggers(tx, collection);
    rows += await countRows(tx, collection);
  }
  for (let shard = 0; shard < (names.isConcurrent ? shards : 1); shard += 1)
    await tx.run(sql`
      INSERT INTO ${roomTable(tx)} (${names.instance.column}name, shard, room, max)
      VALUES (${names.instance.value}${ofRecords}, ${shard}, ${shard === 0 ? max - rows : 0}, ${max})`);
}

/** As in the function of the migration. */
const shards = 8;

async function stopCounting(tx: Transaction, collections: readonly Collection[]): Promise<void> {
  for (const collection of collections) await dropTriggers(tx, collection);
  await tx.run(sql`DELETE FROM ${roomTable(tx)} WHERE ${ofThis(tx)}`);
}

/** All of the room goes into one shard, as it may be less than nothing. */
async function changeMax(tx: Transaction, before: number, max: number): Promise<void> {
  const used = (await readRecordQuota(tx))?.used ?? before;
  await tx.run(sql`
    UPDATE ${roomTable(tx)} SET max = ${max}, room = CASE WHEN shard = 0 THEN CAST(${max - used} AS bigint) ELSE 0 END WHERE ${ofThis(tx)}`);
}

async function addRoom(tx: Transaction, rows: number): Promise<void> {
  await tx.run(sql`UPDATE ${roomTable(tx)} SET room = room + ${rows} WHERE ${ofThis(tx)} AND shard = 0`);
}

async function makeTriggers(tx: Transaction, { id, name }: Collection): Promise<void> {
  const { names } = tx;
  for (const statement of names.tables.rowCounting.make(names.collectionTable(name), id))
    await tx.run(statement);
}

async function dropTriggers(tx: Transaction, { id, name }: Collection): Promise<void> {
  const { names } = tx;
  for (const statement of names.tables.rowCounting.drop(names.collectionTable(name), id))
    await tx.run(statement);
}

async function countRows(tx: Transaction, { name }: Collection): Promise<number> {
  const [row] = await tx.tuples(sql`SELECT count(*) FROM ${tx.names.collectionTable(name)}`);
  return Number(row?.[0]);
}

/** The values of the quotas, by their names, without what is counted only. */
async function readMaxima(reader: Reader): Promise<Maxima> {
  const rows = await reader.tuples(
    sql`SELECT name, max FROM ${roomTable(reader)} WHERE ${reader.names.instance.condition} AND shard = 0 AND max < ${unlimited}`,
  );
  return new Map(rows.map(([name, max]) => [String(name), Number(max)]));
}

function roomTable({ names }: Reader): Sql {
  return names.table('$quota');
}

function ofThis({ names }: Reader): Sql {
  return sql`${names.instance.condition} AND name = ${ofRecords}`;
}
