import { createWriteStream } from 'node:fs';
import { mkdir, rm, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import type { Collection } from '../../collections/collection.ts';
import { CollectionStore } from '../../collections/collection-store.ts';
import { createTable } from '../../collections/tables.ts';
import type { BlobStore } from '../../files/blob-store.ts';
import { typeOf } from '../../files/copy-store.ts';
import { identifier, joinSql, type Sql, sql } from '../../sql/sql.ts';
import { streamDigest } from '../../secrets/digest.ts';
import type { Database, NumberedTable, Transaction, Tuple, WriteOptions } from '../../storage/database.ts';
import type { InternalTable } from '../../storage/internal-table.ts';
import { placesOf } from '../placed-tables.ts';
import { type ArchivedFile, type Part, refusedArchive, type ArchivedRows } from './archive-format.ts';
import { parseRow } from './archive-rows.ts';
import type { FillingProgress } from './filling-progress.ts';
import type { Archive } from './read-archive.ts';
import { columnsOfRecords, readColumns } from './write-archive.ts';

export interface EmptyInstance {
  /** Just made: its tables are empty. */
  readonly database: Database;
  readonly logs: Database;
  /**
   * Returns where files are put, by the settings that are in the internal tables now. Throws where these cannot be used. Called before
   * anything else is written.
   */
  readonly openStore: () => Promise<BlobStore>;
  /** A folder of the local disk for files on their way to the store. */
  readonly uploadFolder: string;
  /** For an import that can be cut off and go on. */
  readonly progress?: FillingProgress | undefined;
  /** Called with each part that was read, and is whole. */
  readonly onPart?: (part: Part) => void;
  readonly onProgress?: (progress: { readonly what: string; readonly count: number }) => void;
}

/** Fills a new instance with the content of an archive: what it has afterwards is what the archive shows. Throws bad_request. */
export async function fillInstance(archive: Archive, instance: EmptyInstance): Promise<void> {
  const filling = new Filling(instance);
  await archive.read({
    rows: (part, pieces) => filling.addRows(part, pieces),
    hasFile: (part) => filling.hasFile(part),
    file: (part, content) => filling.addFile(part, content),
    whole: (part) => instance.onPart?.(part),
  });
}

class Filling {
  readonly #instance: EmptyInstance;
  #collections: CollectionStore | undefined;
  #store: BlobStore | undefined;
  #files = 0;

  constructor(instance: EmptyInstance) {
    this.#instance = instance;
  }

  async addRows(part: ArchivedRows, pieces: AsyncIterable<readonly string[]>): Promise<void> {
    try {
      await (part.kind === 'records' ? this.#addRecords(part, pieces) : this.#addTable(part, pieces));
    } catch (error) {
      // Rows that an engine or a decoder refuses were not written by an export, whatever their digest is.
      throw error instanceof AppError ? error : refusedArchive(`${part.name} cannot be stored.`, error);
    }
  }

  async #addTable(part: ArchivedRows, pieces: AsyncIterable<readonly string[]>): Promise<void> {
    const [table, place] = placesOf().find(([name]) => name === part.table) ?? [];
    if (table === undefined || place === 'control') throw refusedArchive(`there is no table ${part.table}.`);
    const target = place === 'logs' ? this.#instance.logs : this.#instance.database;
    await requireColumns(target, table, part);
    const { names } = target;
    const columns = columnList(part, identifier);
    const into = sql`${names.table(table)} (${names.instance.column}${columns})`;
    // Apart from the progress, which is in another database: what is there of it is replaced.
    if (place === 'logs')
      await target.write((tx) =>
        tx.run(sql`DELETE FROM ${names.table(table)} WHERE ${names.instance.condition}`),
      );
    const scope = scopeOf(target);
    await this.#insert(target, into, { part, pieces, scope });
    const first = part.columns[0]?.[0] ?? '';
    await goOn(target, { name: table, table: names.table(table), column: first }, part.last);
  }

  async #addRecords(part: ArchivedRows, pieces: AsyncIterable<readonly string[]>): Promise<void> {
    const { database, openStore } = this.#instance;
    this.#store ??= await openStore();
    this.#collections ??= await CollectionStore.load(database);
    const collection = this.#collections.find(part.table);
    if (collection?.name !== part.table || collection.type === 'view')
      throw refusedArchive(`there is no collection ${part.table}.`);
    requireFields(collection, part);
    if (this.#instance.progress?.isTableMade() !== true)
      await this.#write(database, (tx) => createTable(tx, collection), { isExclusive: true });
    const { names } = database;
    const table = names.collectionTable(part.table);
    const into = sql`${table} (${columnList(part, (column) => names.column(column))})`;
    await this.#insert(database, into, { part, pieces, scope: [] });
    await goOn(database, { name: part.table, table, column: '$position' }, part.last);
  }

  async #insert(
    target: Database,
    into: Sql,
    {
      part,
      pieces,
      scope,
    }: {
      readonly part: ArchivedRows;
      readonly pieces: AsyncIterable<readonly string[]>;
      readonly scope: Tuple;
    },
  ): Promise<void> {
    const progress = this.#progressOf(target);
    progress?.beginPart(part.name);
    let count = 0;
    for await (const piece of pieces) {
      const rows = (progress?.rest(piece) ?? piece).map((line) => [
        ...scope,
        ...parseRow(part.columns, line),
      ]);
      if (rows.length > 0) await this.#write(target, (tx) => tx.insertRows(into, rows));
      count += piece.length;
      this.#instance.onProgress?.({ what: part.table, count });
    }
  }

  /** Of what is stored with the progress in one transaction. */
  #progressOf(target: Database): FillingProgress | undefined {
    return target === this.#instance.database ? this.#instance.progress : undefined;
  }

  async #write(
    target: Database,
    work: (tx: Transaction) => Promise<unknown>,
    options?: WriteOptions,
  ): Promise<void> {
    const progress = this.#progressOf(target);
    if (progress === undefined) await target.write(work, options);
    else await progress.write(target, work, options);
  }

  /** Only where an import goes on, there may be any. */
  async hasFile({ key, bytes, sha256 }: ArchivedFile): Promise<boolean> {
    const { progress, onProgress } = this.#instance;
    if (progress?.resumed === undefined || (await this.#store?.find(key))?.size !== bytes) return false;
    const content = await this.#store?.read(key);
    if (content === undefined || (await streamDigest(content)) !== sha256) return false;
    progress.noteStoredFile();
    this.#files += 1;
    onProgress?.({ what: 'files', count: this.#files });
    return true;
  }

  async addFile({ key, bytes, modified }: ArchivedFile, content: AsyncIterable<Buffer>): Promise<void> {
    const { uploadFolder, onProgress } = this.#instance;
    if (this.#store === undefined) throw refusedArchive('it has files and no records.');
    const path = join(uploadFolder, `${newId()}.upload`);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      await pipeline(Readable.from(content), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      await utimes(path, modified / 1_000, modified / 1_000);
      await this.#store.put(key, { path, size: bytes, type: await typeOf(path, key) });
    } finally {
      await rm(path, { force: true });
    }
    this.#files += 1;
    onProgress?.({ what: 'files', count: this.#files });
  }
}

/** The instance of a row, where instances share the table. */
function scopeOf({ names }: Database): Tuple {
  return names.instance.value.values;
}

function columnList({ columns }: ArchivedRows, toSql: (name: string) => Sql): Sql {
  return joinSql(
    columns.map(([name]) => toSql(name)),
    ', ',
  );
}

/** The names of columns are put into statements: they have to be those of the table. */
async function requireColumns(target: Database, table: InternalTable, part: ArchivedRows): Promise<void> {
  const expected = new Map(await readColumns(target, table));
  const isSame = ([name, kind]: ArchivedRows['columns'][number]): boolean => expected.get(name) === kind;
  if (expected.size !== part.columns.length || !part.columns.every(isSame))
    throw refusedArchive(`the table ${table} has other columns.`);
}

function requireFields(collection: Collection, part: ArchivedRows): void {
  const expected = new Map(columnsOfRecords(collection));
  const isSame = ([name, kind]: ArchivedRows['columns'][number]): boolean => expected.get(name) === kind;
  if (expected.size !== part.columns.length || !part.columns.every(isSame))
    throw refusedArchive(`the collection ${collection.name} has other fields.`);
}

async function goOn(target: Database, table: NumberedTable, last: number | null): Promise<void> {
  if (last === null) return;
  if (!Number.isSafeInteger(last)) throw refusedArchive(`the last position of ${table.name} is no number.`);
  await target.write(async (tx) => {
    for (const statement of tx.names.positions.goOnBehind(table, last)) await tx.run(statement);
  });
}
