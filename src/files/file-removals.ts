import type { Clock } from '../base/clock.ts';
import { busy } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { chosenTexts } from '../fields/chosen-texts.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { type Field, fieldColumn } from '../fields/field.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Database, InlineColumn, Names, Reader, Transaction } from '../storage/database.ts';
import { isBlobName } from './blob-store.ts';
import type { InstanceFiles } from './instance-files.ts';

/**
 * The files that are to be removed, each with the time when it is due: rows of `$file_removal`, by the key of the file.
 *
 *   an upload comes in ──► row, due later ──► file in the store ──► the record is written, and the row deleted with it
 *   a record is deleted, or a file left out of it ──► with it a row, due at once
 *   the sweeper ──► removes the files that are due, then their rows
 *
 * So a file that no record names always has a row, whenever a process dies, and a record never names a file that is not there. Nothing
 * becomes of a row that is due but a removal: whoever writes a record has to be there before.
 */
export const removalTimes = {
  /** How long an upload that belongs to no record yet is kept. With the sweeper's interval, less than an hour. */
  unclaimedMs: 45 * 60_000,
  /** A record can be written with an upload until so long before that is due: clocks of nodes differ, and a commit takes time. */
  marginMs: 5 * 60_000,
} as const;

const columns: readonly InlineColumn[] = [
  ['key', 'text'],
  ['due', 'number'],
];

/** What this room needs of an instance. */
export interface FilesInstance {
  readonly id: string;
  readonly database: Database;
  readonly files: InstanceFiles;
  /** The time for what several nodes compare. */
  readonly dueClock: Clock;
  /** What the operator lets it use. */
  readonly quotas: () => { readonly fileBytes?: number };
}

/** Notes files that are to be removed at `due` (milliseconds since 1970), unless they are noted already. */
export async function noteRemovals(tx: Transaction, keys: readonly string[], due: number): Promise<void> {
  if (keys.length === 0) return;
  const { names } = tx;
  const rows = keys.map((key) => [key, due]);
  await tx.run(sql`
    INSERT INTO ${names.table('$file_removal')} (${names.instance.column}key, due)
    SELECT ${names.instance.value}key, CAST(due AS bigint) FROM ${names.valuesTable(columns, rows)} WHERE TRUE
    ON CONFLICT (${names.instance.column}key) DO NOTHING`);
}

/**
 * Lets uploads stay, as this transaction writes the record that names them. Throws unavailable when one may have been removed by the
 * time of the commit.
 */
export async function claimUploads(tx: Transaction, keys: readonly string[], now: number): Promise<void> {
  const { names } = tx;
  // The sum keeps the engine from finding the rows by their time, of which there may be as many as there are uploads.
  const claimed = await tx.run(sql`
    DELETE FROM ${names.table('$file_removal')}
    WHERE ${names.instance.condition} AND key${names.anyOf(keys)} AND due + 0 > ${now + removalTimes.marginMs}`);
  if (claimed !== keys.length) throw busy(new Error('an upload waited too long for its record'));
}

/** Makes noted removals due at this time. Those that are not noted are left out. */
export async function dueAt(tx: Transaction, keys: readonly string[], due: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$file_removal')} SET due = ${due} WHERE ${names.instance.condition} AND key${names.anyOf(keys)}`);
}

/** Makes all noted removals due at this time. */
export async function allDueAt(tx: Transaction, due: number): Promise<void> {
  const { names } = tx;
  await tx.run(
    sql`UPDATE ${names.table('$file_removal')} SET due = ${due} WHERE ${names.instance.condition}`,
  );
}

/** Returns the keys that were noted still. */
export async function forgetRemovals(tx: Transaction, keys: readonly string[]): Promise<readonly string[]> {
  const { names } = tx;
  const rows = await tx.returning(
    sql`DELETE FROM ${names.table('$file_removal')} WHERE ${names.instance.condition} AND key${names.anyOf(keys)} RETURNING key`,
  );
  return rows.map(([key]) => String(key));
}

/** The setting of an instance until when no file of it is removed, in milliseconds since 1970. */
const heldName = 'files_held_until';

/** Keeps all files until this time, whatever is due: what an archive shows may name them. */
export async function holdRemovals(tx: Transaction, until: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value)
    VALUES (${names.instance.value}${heldName}, ${String(until)})
    ON CONFLICT (${names.instance.column}name) DO UPDATE SET value = excluded.value`);
}

/** Returns the keys of some files that are due, the first that are; none while they are held. */
export async function readDue(
  reader: Reader,
  { now, max }: { readonly now: number; readonly max: number },
): Promise<readonly string[]> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT key FROM ${names.table('$file_removal')} WHERE ${names.instance.condition} AND due <= ${now} AND NOT EXISTS (
      SELECT 1 FROM ${names.table('$instance_setting')}
      WHERE ${names.instance.condition} AND name = ${heldName} AND CAST(value AS bigint) > ${now})
    ORDER BY due${limit(max)}`);
  return rows.map(([key]) => String(key));
}

/** Returns when the next file is due, in milliseconds since 1970; undefined when none is noted. */
export async function readNextDue(reader: Reader): Promise<number | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT min(due) FROM ${names.table('$file_removal')} WHERE ${names.instance.condition}`,
  );
  const due = row?.[0] ?? null;
  return due === null ? undefined : Number(due);
}

/** Returns the ids of the instances that share a PostgreSQL database and have files that are due. */
export async function readDueInstances(database: Database, now: number): Promise<readonly string[]> {
  const rows = await database.tuples(
    sql`SELECT DISTINCT instance_id FROM chancery.file_removal WHERE due <= ${now}`,
  );
  return rows.map(([id]) => String(id));
}

/** The key of a file in the store. */
export function fileKey(collectionId: string, recordId: string, name: string): string {
  return `${collectionId}/${recordId}/${name}`;
}

/** The names in the value of a file field. */
export function fileNames(field: Field, stored: StoredValue): readonly string[] {
  // The options of a file field were made by its type, and limit the number of names.
  return chosenTexts.read(stored, field.options as Parameters<typeof chosenTexts.read>[1]) ?? [];
}

/**
 * Notes the files that a change of a definition is going to lose, while its table is still as it was: those of fields that go, and
 * all but the last one of a field that keeps one file only. `after` is undefined when the whole collection goes.
 */
export async function noteLostFiles(
  tx: Transaction,
  { files, dueClock }: FilesInstance,
  { before, after }: { readonly before: Collection; readonly after: Collection | undefined },
): Promise<void> {
  // A view shows files of others.
  if (before.type === 'view') return;
  const now = dueClock.now();
  const statements = before.fields.flatMap((field) => {
    const stays = after?.fields.find(({ id, type }) => id === field.id && type === 'file');
    const isReduced = stays !== undefined && fieldColumn(field) === 'json' && fieldColumn(stays) === 'text';
    if (field.type !== 'file' || (stays !== undefined && !isReduced)) return [];
    return [insertLost(tx.names, { collection: before, field, isReduced, now })];
  });
  for (const statement of statements) await tx.run(statement);
  if (statements.length > 0) tx.afterCommit(() => files.noteDue(now));
}

interface LostField {
  readonly collection: Collection;
  readonly field: Field;
  /** Whether the last file of each record stays. */
  readonly isReduced: boolean;
  readonly now: number;
}

function insertLost(names: Names, { collection, field, isReduced, now }: LostField): Sql {
  const { dialect } = names;
  const column = sql`r.${names.column(field.name)}`;
  const file = sql`"$file"`;
  const isMultiple = fieldColumn(field) === 'json';
  const name = isMultiple ? dialect.valueOfEach(file).sql : column;
  const from = sql`${names.collectionTable(collection.name)} AS r`;
  const each = isMultiple ? sql` CROSS JOIN ${dialect.each(column, file)}` : sql``;
  const isLost = isReduced ? sql`${name} <> ${dialect.lastOf(column)}` : sql`${name} <> ''`;
  return sql`
    INSERT INTO ${names.table('$file_removal')} (${names.instance.column}key, due)
    SELECT ${names.instance.value}CAST(${`${collection.id}/`} AS text) || r.id || '/' || ${name}, CAST(${now} AS bigint)
    FROM ${from}${each} WHERE ${isLost}
    ON CONFLICT (${names.instance.column}key) DO NOTHING`;
}

/** Whether a key can be that of a file. An import may have brought names that cannot. */
export function isFileKey(key: string): boolean {
  const parts = key.split('/');
  return parts.length === 3 && parts.every(isBlobName);
}
