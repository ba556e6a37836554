import type { Writable } from 'node:stream';
import { AppError } from '../../base/errors.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import type { Collection } from '../../collections/collection.ts';
import { CollectionStore } from '../../collections/collection-store.ts';
import { fieldColumn } from '../../fields/field.ts';
import type { BlobStore } from '../../files/blob-store.ts';
import { fileKey, fileNames } from '../../files/file-removals.ts';
import { identifier, joinSql, type Sql, sql } from '../../sql/sql.ts';
import type { InlineKind, Tuple } from '../../storage/database.ts';
import type { InternalTable } from '../../storage/internal-table.ts';
import type { Migration } from '../../storage/migrate.ts';
import { instanceMigrations } from '../../storage/migrations/instance-migrations.ts';
import type { InstanceSnapshot, Snapshot } from '../../storage/snapshot.ts';
import { placesOf } from '../placed-tables.ts';
import {
  archiveFormat,
  type ArchiveCounts,
  type ArchivedKey,
  filePart,
  type Manifest,
  manifestName,
  type Part,
  partsName,
  recordsPart,
  signedText,
  type ArchivedRows,
  tablePart,
} from './archive-format.ts';
import { type ArchivedColumns, rowLine } from './archive-rows.ts';
import { templateCondition, templateRow } from './template-rows.ts';
import { ZipWriter } from './zip-writer.ts';

export interface ArchiveSource {
  readonly about: Manifest['instance'];
  readonly snapshot: InstanceSnapshot;
  readonly store: Pick<BlobStore, 'find' | 'read'>;
  readonly key: ArchivedKey;
  /** Whether it is to have definitions and settings only. */
  readonly isTemplate?: boolean;
  readonly version: string;
  /** The moment of the snapshot, in milliseconds since 1970. */
  readonly nowMs: number;
  /** Returns the MAC of a text by the master key. */
  readonly macOf: (text: string) => string;
  /** Called with each part that was written. */
  readonly onPart?: (part: Part) => void;
  /** Called with what is being written. */
  readonly onProgress?: (progress: ArchiveProgress) => void;
}

export interface ArchiveProgress {
  /** The table, the collection, or the files of a collection. */
  readonly what: string;
  /** Rows or files so far. */
  readonly count: number;
}

/** The steps of the schema that rows have, by their names: another version may have others. */
export const layout = layoutOf(instanceMigrations);

function layoutOf(steps: readonly Migration[]): string {
  return `${steps.length} ${steps.at(-1)?.name}`;
}

/** Returns the steps that a layout names; undefined for one that this version does not know. */
export function stepsOf(named: string): readonly Migration[] | undefined {
  const steps = instanceMigrations.slice(0, Number.parseInt(named, 10) || 0);
  return steps.length > 0 && layoutOf(steps) === named ? steps : undefined;
}

/** Writes an archive, and ends `to`. What takes memory is a piece of rows, and the name of each file. Rejects, and destroys `to`, on failure. */
export async function writeArchive(source: ArchiveSource, to: Writable): Promise<Manifest> {
  const writing = new Writing(source, new ZipWriter(to));
  return writing.run();
}

class Writing {
  readonly #source: ArchiveSource;
  readonly #zip: ZipWriter;
  readonly #parts: Part[] = [];
  #counts: ArchiveCounts = { collections: 0, records: 0, events: 0, files: 0, bytes: 0 };

  constructor(source: ArchiveSource, zip: ZipWriter) {
    this.#source = source;
    this.#zip = zip;
  }

  async run(): Promise<Manifest> {
    try {
      const { data, logs } = this.#source.snapshot;
      const collections = await CollectionStore.load(data);
      this.#add('collections', collections.all().length);
      for (const [table, place] of placesOf()) {
        const from = place === 'logs' ? logs : data;
        if (place !== 'control' && from !== undefined) await this.#addTable(from, table);
      }
      // A view has its query, and nothing else.
      const tables = collections.all().filter(({ type }) => type !== 'view');
      for (const collection of tables) await this.#addRecords(data, collection);
      if (this.#source.isTemplate !== true)
        for (const collection of tables) await this.#addFiles(data, collection);
      return await this.#finish();
    } catch (error) {
      await this.#zip.abort();
      throw error;
    }
  }

  async #addTable(from: Snapshot, table: InternalTable): Promise<void> {
    const { names } = from;
    const isTemplate = this.#source.isTemplate === true;
    const condition = isTemplate ? templateCondition(table) : sql`TRUE`;
    if (condition === undefined) return;
    const columns = await readColumns(from, table);
    const first = columns[0]?.[0] ?? '';
    const numbered = { name: table, table: names.table(table), column: first };
    const last = numberNames.has(first) ? await readLast(from, numbered) : null;
    const order = joinSql((orders[table] ?? [first]).map(identifier), ', ');
    const select = sql`
      SELECT ${columnList(columns, identifier)} FROM ${names.table(table)} WHERE ${names.instance.condition} AND ${condition} ORDER BY ${order}`;
    const part = { kind: 'table', name: tablePart(table), table, columns, last } as const;
    const { rows } = await this.#addRows(
      from.scan(select),
      part,
      isTemplate ? (row) => templateRow(table, row) : undefined,
    );
    if (table === '$event') this.#add('events', rows);
  }

  async #addRecords(from: Snapshot, collection: Collection): Promise<void> {
    const { names } = from;
    const { name } = collection;
    const columns = columnsOfRecords(collection);
    const table = names.collectionTable(name);
    const select = sql`
      SELECT ${columnList(columns, (column) => names.column(column))} FROM ${table} ORDER BY ${names.column(positionColumn)}`;
    const { isTemplate = false } = this.#source;
    const last = isTemplate ? null : await readLast(from, { name, table, column: positionColumn });
    const part = { kind: 'records', name: recordsPart(name), table: name, columns, last } as const;
    const { rows } = await this.#addRows(isTemplate ? noRows() : from.scan(select), part);
    this.#add('records', rows);
  }

  async #addRows(
    rows: ReturnType<Snapshot['scan']>,
    part: Omit<ArchivedRows, 'rows' | 'bytes' | 'sha256'>,
    change: (row: Tuple) => Tuple = (row) => row,
  ): Promise<ArchivedRows> {
    const { onProgress } = this.#source;
    let count = 0;
    async function* content(): AsyncGenerator<Uint8Array> {
      for await (const piece of rows) {
        yield Buffer.from(piece.map((row) => rowLine(part.columns, change(row))).join(''));
        count += piece.length;
        onProgress?.({ what: part.table, count });
      }
    }
    const written = await this.#zip.add(part.name, content());
    const whole = { ...part, rows: count, ...written };
    this.#note(whole);
    return whole;
  }

  async #addFiles(from: Snapshot, { id, name, fields }: Collection): Promise<void> {
    const ofFiles = fields.filter(({ type }) => type === 'file');
    if (ofFiles.length === 0) return;
    const { names } = from;
    const columns = joinSql([sql`id`, ...ofFiles.map((field) => names.column(field.name))], ', ');
    let count = 0;
    for await (const rows of from.scan(sql`SELECT ${columns} FROM ${names.collectionTable(name)}`))
      for (const [record, ...values] of rows)
        for (const [at, field] of ofFiles.entries())
          for (const file of fileNames(field, String(values[at] ?? ''))) {
            await this.#addFile(fileKey(id, String(record), file));
            count += 1;
            this.#source.onProgress?.({ what: `files of ${name}`, count });
          }
    this.#add('files', count);
  }

  async #addFile(key: string): Promise<void> {
    const { store } = this.#source;
    const [state, content] = [await store.find(key), await store.read(key)];
    if (state === undefined || content === undefined)
      throw new AppError(
        'conflict',
        `The file ${key} is missing, which a record names: see chancery doctor.`,
      );
    const name = filePart(key);
    // Images and the like are compressed already.
    const written = await this.#zip.add(name, content, { isCompressed: false });
    this.#note({ kind: 'file', name, key, modified: state.modifiedMs, ...written });
  }

  #note(part: Part): void {
    this.#parts.push(part);
    this.#source.onPart?.(part);
    this.#add('bytes', part.bytes);
  }

  #add(name: keyof ArchiveCounts, count: number): void {
    this.#counts = { ...this.#counts, [name]: this.#counts[name] + count };
  }

  async #finish(): Promise<Manifest> {
    const { about: instance, key, version, nowMs, macOf, isTemplate } = this.#source;
    const { sha256 } = await this.#zip.add(partsName, linesOfParts(this.#parts));
    const unsigned: Manifest = {
      format: archiveFormat,
      version,
      layout,
      created: toTimestamp(nowMs),
      ...(isTemplate === true && { template: true }),
      instance,
      key,
      counts: this.#counts,
      parts: sha256,
      mac: '',
    };
    const manifest = { ...unsigned, mac: macOf(signedText(unsigned)) };
    await this.#zip.add(manifestName, once(`${JSON.stringify(manifest, undefined, 2)}\n`));
    await this.#zip.end();
    return manifest;
  }
}

/** The first columns of tables whose rows are numbered. */
const numberNames: ReadonlySet<string> = new Set(['position', 'number']);

/** The keys of tables whose first column is not unique. */
const orders: Partial<Readonly<Record<InternalTable, readonly string[]>>> = {
  $secret: ['collection', 'record', 'name'],
  $delivery: ['event', 'endpoint'],
  $outcome: ['event', 'endpoint'],
  $attempt: ['event', 'endpoint', 'number'],
  $gap: ['endpoint', 'first'],
  $endpoint_hour: ['endpoint', 'hour', 'result', 'latency'],
  $endpoint_day: ['endpoint', 'day', 'result', 'latency'],
};

const positionColumn = '$position';
const hiddenColumns: ArchivedColumns = [
  [positionColumn, 'number'],
  ['id', 'text'],
  ['$revision', 'number'],
];

const kindsOfColumns = { text: 'text', number: 'number', bool: 'number', json: 'text' } as const;

function columnList(columns: ArchivedColumns, toSql: (name: string) => Sql): Sql {
  return joinSql(
    columns.map(([name]) => toSql(name)),
    ', ',
  );
}

export function columnsOfRecords({ fields }: Collection): ArchivedColumns {
  const own = fields.flatMap((field): ArchivedColumns => {
    const column = field.name === 'id' ? undefined : fieldColumn(field);
    return column === undefined ? [] : [[field.name, kindsOfColumns[column]]];
  });
  return [...hiddenColumns, ...own];
}

/** Returns the columns of an internal table, beginning with the one that numbers its rows, if there is one. */
export async function readColumns(
  reader: Pick<Snapshot, 'names' | 'tuples'>,
  table: InternalTable,
): Promise<ArchivedColumns> {
  const rows = await reader.tuples(reader.names.columnsOf(table));
  const columns = rows.map(([name, kind]): ArchivedColumns[number] => [
    String(name),
    // The engines name the kinds so.
    String(kind) as InlineKind,
  ]);
  // The engines have the others in another order: an archive is the same whichever it is from.
  const [first, ...others] = columns;
  return first === undefined ? [] : [first, ...others.toSorted(([a], [b]) => (a < b ? -1 : 1))];
}

async function readLast(
  snapshot: Snapshot,
  table: { readonly name: string; readonly table: Sql; readonly column: string },
): Promise<number | null> {
  const [row] = await snapshot.tuples(snapshot.names.positions.last(table));
  return row === undefined || row[0] === null ? null : Number(row[0]);
}

async function* linesOfParts(parts: readonly Part[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield* once(`${JSON.stringify(part)}\n`);
}

// oxlint-disable-next-line require-yield -- There are none.
async function* noRows(): AsyncGenerator<readonly Tuple[]> {}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
