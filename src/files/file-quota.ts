import { QuotaExceeded } from '../base/errors.ts';
import { unlimited } from '../collections/table-quotas.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import type { FilesInstance } from './file-removals.ts';

/*
 * The bytes of files, and the quota of them, which `$quota` keeps the room of. A file takes its room before it is put into the store, and gives it back
 * when it is removed from there, whatever became of its record. What is in the store already is measured before the first file that comes under the
 * quota, or when the usage of the instance is measured.
 */

/** Takes the room of files that are to be stored, in a transaction before that. Throws QuotaExceeded. */
export async function takeFileRoom(tx: Transaction, bytes: number): Promise<void> {
  const changed = await tx.run(sql`
    UPDATE ${roomTable(tx)} SET room = room - ${bytes} WHERE ${ofFiles(tx, 'fileBytes')} AND room >= ${bytes}`);
  if (changed === 0 && (await areFilesCounted(tx)))
    throw new QuotaExceeded('fileBytes', { code: 'quota_full' });
}

/** Gives back the room of files that were removed from the store. */
export async function freeFileRoom(tx: Transaction, bytes: number): Promise<void> {
  await tx.run(sql`UPDATE ${roomTable(tx)} SET room = room + ${bytes} WHERE ${ofFiles(tx, 'fileBytes')}`);
}

/**
 * Measures what is in the store, unless it was since the quota was set. Files that come or go meanwhile, through another node, may be counted twice or
 * not at all.
 */
export async function measureFiles({ database, files }: FilesInstance): Promise<void> {
  if (await hasRow(database, 'filesMeasured')) return;
  let bytes = 0;
  for await (const { size } of files.store.list()) bytes += size;
  await database.write(async (tx) => {
    const { names } = tx;
    const isFirst = await tx.run(sql`
      INSERT INTO ${roomTable(tx)} (${names.instance.column}name, shard, room, max)
      VALUES (${names.instance.value}'filesMeasured', 0, 0, 0) ON CONFLICT DO NOTHING`);
    if (isFirst === 0) return;
    await tx.run(sql`
      INSERT INTO ${roomTable(tx)} (${names.instance.column}name, shard, room, max)
      VALUES (${names.instance.value}'fileBytes', 0, ${unlimited}, ${unlimited}) ON CONFLICT DO NOTHING`);
    await freeFileRoom(tx, -bytes);
  });
}

/** Whether the bytes of files are counted: since they were measured, or a quota was set. */
export function areFilesCounted(reader: Reader): Promise<boolean> {
  return hasRow(reader, 'fileBytes');
}

/** Returns the bytes of the files, which were measured before. */
export async function readFileBytes(reader: Reader): Promise<number> {
  const [row] = await reader.tuples(
    sql`SELECT max - room FROM ${roomTable(reader)} WHERE ${ofFiles(reader, 'fileBytes')}`,
  );
  return Number(row?.[0] ?? 0);
}

async function hasRow(reader: Reader, name: string): Promise<boolean> {
  return (
    (await reader.tuples(sql`SELECT 1 FROM ${roomTable(reader)} WHERE ${ofFiles(reader, name)}`)).length > 0
  );
}

function roomTable({ names }: Reader): Sql {
  return names.table('$quota');
}

function ofFiles({ names }: Reader, name: string): Sql {
  return sql`${names.instance.condition} AND name = ${name} AND shard = 0`;
}
