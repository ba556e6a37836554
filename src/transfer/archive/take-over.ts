import { fromTimestamp, type Timestamp } from '../../base/timestamp.ts';
import { CollectionStore } from '../../collections/collection-store.ts';
import { type LostEvents, noteLostEvents, readLostEvents } from '../../events/lost-events.ts';
import { readTrimmed } from '../../events/trimmed.ts';
import { markReconcile } from '../../deliveries/reconcile-marks.ts';
import { identifier, joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { Database, NumberedTable, Reader, Transaction } from '../../storage/database.ts';
import type { InternalTable } from '../../storage/internal-table.ts';
import type { Snapshot } from '../../storage/snapshot.ts';
import { readColumns } from './write-archive.ts';

export interface RestoredLog {
  /** That of the backup, filled. */
  readonly database: Database;
  /** When it is restored. */
  readonly now: Timestamp;
}

/** Where it is not known what came after a backup, its log goes on so far behind it: no cursor of then reaches there. */
const positionsLost = 2 ** 31;

/** Has the log of a backup go on behind every event that may have come after it, where no instance is left that could tell. */
export async function goOnBehindLost(database: Database, now: Timestamp): Promise<void> {
  const after = await lastEvent(database);
  const through = after + positionsLost;
  await database.write(async (tx) => {
    await goOnBehind(tx, events(tx), through);
    await noteLostEvents(tx, { after, through, restored: now });
    await resendHeld(tx, now);
  });
}

/** Has endpoints with transitions sent all that they hold, as it is in the backup, and told to delete what the backup does not have. */
async function resendHeld(tx: Transaction, now: Timestamp): Promise<void> {
  const { names } = tx;
  await tx.run(sql`UPDATE ${names.table('$held')} SET is_stale = 1 WHERE ${names.instance.condition}`);
  await markReconcile(tx, { now: fromTimestamp(now) });
}

/**
 * Has a backup take over from the instance that it replaces: what became of the deliveries that both have, so that nothing is sent again that
 * was delivered; what endpoints with transitions hold; where lanes, replays and consumers of the feed stand; which bodies were expunged; and the positions that are used, none of
 * which is given out again. Endpoints that are newer than the backup are gone, with all that was theirs.
 */
export async function takeOver(old: Snapshot, { database, now }: RestoredLog): Promise<void> {
  const after = await lastEvent(database);
  const lost = await readLostEvents(old);
  const common = commonEnd(after, lost, await readLostEvents(database));
  // The old instance may have no event yet behind those that it has lost itself.
  const through = Math.max(await lastEvent(old), ...lost.map((range) => range.through));
  await takeDeliveries(old, database, { after, common });
  await takeReplays(old, database);
  await takeConsumers(old, database);
  await takeExpunged(old, database, common);
  await takePositions(old, database);
  await database.write((tx) => resendHeld(tx, now));
  if (through <= after) return;
  await database.write(async (tx) => {
    await goOnBehind(tx, events(tx), through);
    await noteLostEvents(tx, { after, through, restored: now });
  });
}

/** How far a backup goes, and how far it has the same events as the instance that it replaces. */
interface SharedLog {
  readonly after: number;
  readonly common: number;
}

/**
 * The last position up to which both logs have the same events. A backup from before another restore has events that the old instance has
 * lost: what became of those, only the backup knows.
 */
function commonEnd(after: number, old: readonly LostEvents[], restored: readonly LostEvents[]): number {
  const isShared = ({ after: start, through }: LostEvents): boolean =>
    restored.some((range) => range.after === start && range.through === through);
  return Math.min(after, ...old.filter((range) => !isShared(range)).map((range) => range.after));
}

async function takeDeliveries(old: Snapshot, database: Database, shared: SharedLog): Promise<void> {
  const { names } = database;
  const rows = await database.tuples(
    sql`SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition}`,
  );
  if (rows.length === 0) return;
  const { after, common } = shared;
  const { position: trimmed } = await readTrimmed(old);
  const ofBoth = sql`endpoint${names.anyNumberOf(rows.map(([position]) => Number(position)))}`;
  const range = sql`${ofBoth} AND event > ${trimmed} AND event <= ${common}`;
  if (common < after) await splitGaps(database, common, 'first');
  // Deliveries of endpoints of accounts are inserted after the events.
  for (const table of ['$delivery', '$outcome', '$attempt'] as const)
    await takeRows(old, database, { table, rows: range });
  await takeRows(old, database, { table: '$gap', rows: sql`${ofBoth} AND first <= ${common}` });
  if (common < after) await splitGaps(database, common, 'last');
  await takeLanes(old, database, { ofBoth, ...shared });
  await takeRows(old, database, { table: '$held', rows: ofBoth });
}

/** Has ranges that a lane has passed over begin behind a position, or end there: what the other log has on the other side is not of them. */
async function splitGaps(database: Database, common: number, side: 'first' | 'last'): Promise<void> {
  const set = side === 'first' ? sql`first = ${common + 1}` : sql`last = ${common}`;
  await database.write((tx) =>
    tx.run(sql`
      UPDATE ${tx.names.table('$gap')} SET ${set}
      WHERE ${tx.names.instance.condition} AND first <= ${common} AND last > ${common}`),
  );
}

/** Lanes and decisions go on where the old ones stand, or at the end of what both have, or behind that where the backup stands. */
async function takeLanes(
  old: Snapshot,
  database: Database,
  { ofBoth, after, common }: SharedLog & { readonly ofBoth: Sql },
): Promise<void> {
  const place = (before: number, own: number): number =>
    before < common ? before : Math.min(Math.max(own, common), after);
  const own = await readLanes(database);
  await takeRows(old, database, { table: '$lane', rows: ofBoth });
  const lanes = await readLanes(database);
  const decided = [await readDecided(old), await readDecided(database)] as const;
  await database.write(async (tx) => {
    const { names } = tx;
    for (const [endpoint, before] of lanes) {
      const cursor = place(before.cursor, own.get(endpoint)?.cursor ?? common);
      const apart =
        before.decided === null ? null : place(before.decided, own.get(endpoint)?.decided ?? common);
      await tx.run(sql`
        UPDATE ${names.table('$lane')} SET cursor = ${cursor}, decided = CAST(${apart} AS bigint)
        WHERE ${names.instance.condition} AND endpoint = ${endpoint}`);
    }
    if (decided[0] === undefined || decided[1] === undefined) return;
    await tx.run(sql`
      UPDATE ${names.table('$instance_setting')} SET value = ${String(place(decided[0], decided[1]))}
      WHERE ${names.instance.condition} AND name = 'decided'`);
  });
}

interface LanePlace {
  readonly cursor: number;
  readonly decided: number | null;
}

async function readLanes(reader: Reader): Promise<ReadonlyMap<number, LanePlace>> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT endpoint, cursor, decided FROM ${names.table('$lane')} WHERE ${names.instance.condition}`,
  );
  return new Map(
    rows.map(([endpoint, cursor, decided]) => [
      Number(endpoint),
      { cursor: Number(cursor), decided: decided === null || decided === undefined ? null : Number(decided) },
    ]),
  );
}

/** Returns up to where events are decided for endpoints of accounts; undefined where there are none. */
async function readDecided(reader: Reader): Promise<number | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = 'decided'`);
  return row && Number(row[0]);
}

async function takeReplays(old: Snapshot, database: Database): Promise<void> {
  const { names } = database;
  const [row] = await database.tuples(
    sql`SELECT max(number) FROM ${names.table('$replay')} WHERE ${names.instance.condition}`,
  );
  await takeRows(old, database, { table: '$replay', rows: sql`number <= ${Number(row?.[0] ?? 0)}` });
}

/** What was expunged since the backup does not come back with it. */
async function takeExpunged(old: Snapshot, database: Database, common: number): Promise<void> {
  const select = sql`
    SELECT position, body, expunged FROM ${old.names.table('$event')}
    WHERE ${old.names.instance.condition} AND position <= ${common} AND expunged IS NOT NULL`;
  for await (const piece of old.scan(select))
    await database.write(async (tx) => {
      const { names } = tx;
      for (const [position, body, expunged] of piece)
        await tx.run(sql`
          UPDATE ${names.table('$event')} SET body = ${body ?? ''}, hidden = NULL, context = NULL, expunged = ${expunged ?? ''}
          WHERE ${names.instance.condition} AND position = ${position ?? 0}`);
    });
}

async function lastEvent(reader: Reader): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT max(position) FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
  );
  return Math.max(Number(row?.[0] ?? 0), (await readTrimmed(reader)).position);
}

interface TakenTable {
  readonly table: InternalTable;
  /** Which of its rows. */
  readonly rows: Sql;
}

/** Puts the rows of the old instance into the place of those that the backup has. */
async function takeRows(old: Snapshot, database: Database, { table, rows }: TakenTable): Promise<void> {
  const { names } = database;
  const columns = (await readColumns(old, table)).map(([name]) => identifier(name));
  const list = joinSql(columns, ', ');
  await database.write((tx) =>
    tx.run(sql`DELETE FROM ${names.table(table)} WHERE ${names.instance.condition} AND ${rows}`),
  );
  const select = sql`SELECT ${list} FROM ${old.names.table(table)} WHERE ${old.names.instance.condition} AND ${rows}`;
  const into = sql`${names.table(table)} (${names.instance.column}${list})`;
  const scope = names.instance.value.values;
  for await (const piece of old.scan(select))
    await database.write((tx) =>
      tx.insertRows(
        into,
        piece.map((row) => [...scope, ...row]),
      ),
    );
}

/** Consumers stand where they have read to: those that have read what is lost are told so. */
async function takeConsumers(old: Snapshot, database: Database): Promise<void> {
  const rows = await old.tuples(
    sql`SELECT name, position FROM ${old.names.table('$consumer')} WHERE ${old.names.instance.condition}`,
  );
  await database.write(async (tx) => {
    const { names } = tx;
    for (const [name, position] of rows)
      await tx.run(sql`
        UPDATE ${names.table('$consumer')} SET position = ${position ?? 0} WHERE ${names.instance.condition} AND name = ${name ?? ''}`);
  });
}

/** No record, endpoint or replay gets a position that another had in the old instance. */
async function takePositions(old: Snapshot, database: Database): Promise<void> {
  const collections = await CollectionStore.load(database);
  const { names } = database;
  const ofTables = collections.all().filter(({ type }) => type !== 'view');
  const tables = ofTables.map(({ name }) => ({
    name,
    table: names.collectionTable(name),
    oldTable: old.names.collectionTable(name),
    column: '$position',
  }));
  const internal = (
    [
      ['$replay', 'number'],
      ['$endpoint', 'position'],
    ] as const
  ).map(([name, column]) => ({
    name,
    table: names.table(name),
    oldTable: old.names.table(name),
    column,
  }));
  const oldCollections = await CollectionStore.load(old);
  for (const { oldTable, ...table } of [...tables, ...internal]) {
    if (table.column === '$position' && oldCollections.find(table.name)?.name !== table.name) continue;
    const [row] = await old.tuples(old.names.positions.last({ ...table, table: oldTable }));
    const last = Number(row?.[0] ?? 0);
    if (last > 0) await database.write((tx) => goOnBehind(tx, table, last));
  }
}

function events({ names }: Transaction): NumberedTable {
  return { name: '$event', table: names.table('$event'), column: 'position' };
}

async function goOnBehind(tx: Transaction, table: NumberedTable, position: number): Promise<void> {
  for (const statement of tx.names.positions.goOnBehind(table, position)) await tx.run(statement);
}
