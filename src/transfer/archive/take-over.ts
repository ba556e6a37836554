import type { Timestamp } from '../../base/timestamp.ts';
import { CollectionStore } from '../../collections/collection-store.ts';
import { noteLostEvents } from '../../events/lost-events.ts';
import { readTrimmed } from '../../events/trimmed.ts';
import { identifier, joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { Database, InternalTable, NumberedTable, Reader, Transaction } from '../../storage/database.ts';
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
  });
}

/**
 * Has a backup take over from the instance that it replaces: what became of the deliveries that both have, so that nothing is sent again that
 * was delivered; where lanes, replays and consumers of the feed stand; which bodies were expunged; and the positions that are used, none of
 * which is given out again. Endpoints that are newer than the backup are gone, with all that was theirs.
 */
export async function takeOver(old: Snapshot, { database, now }: RestoredLog): Promise<void> {
  const [after, through] = [await lastEvent(database), await lastEvent(old)];
  await takeDeliveries(old, database, after);
  await takeReplays(old, database);
  await takeConsumers(old, database);
  await takeExpunged(old, database, after);
  await takePositions(old, database);
  if (through <= after) return;
  await database.write(async (tx) => {
    await goOnBehind(tx, events(tx), through);
    await noteLostEvents(tx, { after, through, restored: now });
  });
}

async function takeDeliveries(old: Snapshot, database: Database, after: number): Promise<void> {
  const { names } = database;
  const endpoints = (
    await database.tuples(
      sql`SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition}`,
    )
  ).map(([position]) => Number(position));
  if (endpoints.length === 0) return;
  const { position: trimmed } = await readTrimmed(old);
  const ofBoth = sql`endpoint${names.anyNumberOf(endpoints)}`;
  const range = sql`${ofBoth} AND event > ${trimmed} AND event <= ${after}`;
  const tables: readonly TakenTable[] = [
    // Those of endpoints of accounts are inserted after the events.
    { table: '$delivery', rows: range },
    { table: '$outcome', rows: range },
    { table: '$attempt', rows: range },
    { table: '$gap', rows: sql`${ofBoth} AND first <= ${after}` },
    { table: '$lane', rows: ofBoth },
  ];
  for (const one of tables) await takeRows(old, database, one);
  await takeDecided(old, database, after);
}

/** Lanes and decisions go on where the old ones stand, or at the end of what the backup has. */
async function takeDecided(old: Snapshot, database: Database, after: number): Promise<void> {
  const [row] = await old.tuples(sql`
    SELECT value FROM ${old.names.table('$instance_setting')} WHERE ${old.names.instance.condition} AND name = 'decided'`);
  await database.write(async (tx) => {
    const { names } = tx;
    const lane = names.table('$lane');
    for (const column of [sql`cursor`, sql`decided`])
      await tx.run(
        sql`UPDATE ${lane} SET ${column} = ${after} WHERE ${names.instance.condition} AND ${column} > ${after}`,
      );
    if (row === undefined) return;
    await tx.run(sql`
      UPDATE ${names.table('$instance_setting')} SET value = ${String(Math.min(Number(row[0]), after))}
      WHERE ${names.instance.condition} AND name = 'decided'`);
  });
}

async function takeReplays(old: Snapshot, database: Database): Promise<void> {
  const { names } = database;
  const [row] = await database.tuples(
    sql`SELECT max(number) FROM ${names.table('$replay')} WHERE ${names.instance.condition}`,
  );
  await takeRows(old, database, { table: '$replay', rows: sql`number <= ${Number(row?.[0] ?? 0)}` });
}

/** What was expunged since the backup does not come back with it. */
async function takeExpunged(old: Snapshot, database: Database, after: number): Promise<void> {
  const select = sql`
    SELECT position, body, expunged FROM ${old.names.table('$event')}
    WHERE ${old.names.instance.condition} AND position <= ${after} AND expunged IS NOT NULL`;
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
  const tables = collections.all().map(({ name }) => ({
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
