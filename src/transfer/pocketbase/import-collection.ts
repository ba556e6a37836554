import { assert } from '../../base/assert.ts';
import { AppError } from '../../base/errors.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { type Collection, superusersName } from '../../collections/collection.ts';
import { hasColumn } from '../../fields/field.ts';
import type { Instance } from '../../instances/instance.ts';
import { writeTokenSecrets } from '../../instances/token-secrets.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction } from '../../storage/database.ts';
import { UniqueViolation } from '../../storage/engine-errors.ts';
import { type ImportState, requireImportState, writeImportState } from './import-state.ts';
import { Omissions } from './omissions.ts';
import type { PlannedCollection } from './plan-import.ts';
import type { PocketbaseSource } from './pocketbase-source.ts';
import { RecordInserter } from './record-inserter.ts';
import { type ImportedRecord, RecordReader } from './record-reader.ts';

export interface CollectionImportOptions {
  readonly instance: Instance;
  readonly source: PocketbaseSource;
  readonly planned: PlannedCollection;
  /** The state before this collection. */
  readonly state: ImportState;
  /** Called now and then, synchronously, with the number of records read so far. */
  readonly onRecords: (count: number) => void;
}

export interface ImportedCollection {
  readonly state: ImportState;
  readonly omissions: Omissions;
}

/**
 * Creates a collection with all its records in one transaction: definition, table, secrets, records and its mark in the import state.
 * Writes no events. Throws bad_request when a unique index of the collection refuses records.
 */
export async function importCollection(options: CollectionImportOptions): Promise<ImportedCollection> {
  const { instance, planned } = options;
  try {
    return await instance.database.write((tx) => importInside(tx, options), { isExclusive: true });
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    const what = error.columns.length > 0 ? `in ${error.columns.join(', ')}` : `for ${error.index}`;
    throw new AppError(
      'bad_request',
      `The collection ${planned.collection.name} has records that are equal ${what}, which must not be.`,
      { cause: error },
    );
  }
}

async function importInside(tx: Transaction, options: CollectionImportOptions): Promise<ImportedCollection> {
  const { instance, planned, state } = options;
  const { collection, existing, secrets } = planned;
  await requireImportState(tx, state);
  // A new list for each try, because this work may run more than once.
  const omissions = new Omissions();
  let count = 0;
  const fill = async (): Promise<void> => {
    count = await importRecords(tx, options, omissions);
  };
  if (existing === undefined) await instance.collections.create(tx, collection, fill);
  else {
    if (existing !== collection) await instance.collections.update(tx, existing, collection);
    await fill();
  }
  await writeTokenSecrets(tx, instance.sealer, { collection: collection.id, secrets });
  const next = { ...state, done: { ...state.done, [collection.id]: count } };
  await writeImportState(tx, next);
  return { state: next, omissions };
}

/** Inserts the records; resolves to their number. */
async function importRecords(
  tx: Transaction,
  options: CollectionImportOptions,
  omissions: Omissions,
): Promise<number> {
  const { collection } = options.planned;
  const before = await countRecords(tx, collection);
  const present = await presentSuperusers(tx, collection);
  const inserter = new RecordInserter(tx, collection);
  let count = 0;
  let read = 0;
  const onRecords = (done: number): void => options.onRecords((read = done));
  for (const record of readRecords({ ...options, onRecords }, omissions)) {
    if (isPresent(record, present, { collection, omissions })) continue;
    const sent = inserter.add(record);
    if (sent !== undefined) await sent;
    count += 1;
  }
  await inserter.end();
  const after = await countRecords(tx, collection);
  assert(after - before === count, `${collection.name} has as many records more as were inserted`);
  requireAll(options, read);
  return count;
}

/** Throws bad_request unless every row that the source counts was read and nothing has been written to it meanwhile. */
function requireAll(
  { source: { database }, planned: { source } }: CollectionImportOptions,
  read: number,
): void {
  const counted = database.count(source.name);
  database.requireUnchanged();
  if (read === counted) return;
  throw new AppError(
    'bad_request',
    `The source is damaged: ${JSON.stringify(source.name)} counts ${counted} rows and has ${read}.`,
  );
}

async function countRecords(tx: Transaction, { name }: Collection): Promise<number> {
  const row = await tx.get(sql`SELECT count(*) AS count FROM ${tx.names.collectionTable(name)}`);
  return Number(row?.['count']);
}

/** Number of records read between two reports of progress. */
const stepRecords = 1_000;

/** Yields the readable records of a collection, in order. */
export function* readRecords(
  { instance, source, planned, onRecords }: Omit<CollectionImportOptions, 'state'>,
  omissions: Omissions,
): Generator<ImportedRecord> {
  const { name } = planned.source;
  const reader = new RecordReader(planned.collection, {
    columns: source.database.columnsOf(name) ?? [],
    now: toTimestamp(instance.clock.now()),
    omissions,
  });
  let count = 0;
  for (const row of source.database.rows(name, reader.columns)) {
    const record = reader.read(row);
    count += 1;
    if (count % stepRecords === 0) onRecords(count);
    if (record !== undefined) yield record;
  }
  onRecords(count);
}

/** Returns ids and e-mail addresses of the superusers that the instance already has; an empty set for other collections. */
async function presentSuperusers(tx: Transaction, { name }: Collection): Promise<ReadonlySet<string>> {
  if (name !== superusersName) return new Set();
  const rows = await tx.tuples(sql`SELECT id, email FROM ${tx.names.collectionTable(name)}`);
  return new Set(rows.flat().map(String));
}

/** True, and reported, for a superuser that the instance already has: existing superusers stay unchanged. */
function isPresent(
  { id, values }: ImportedRecord,
  present: ReadonlySet<string>,
  { collection, omissions }: { readonly collection: Collection; readonly omissions: Omissions },
): boolean {
  if (present.size === 0) return false;
  const email = values[collection.fields.filter(hasColumn).findIndex(({ name }) => name === 'email')];
  if (!present.has(id) && (email === '' || !present.has(String(email)))) return false;
  const why = 'This instance has a superuser with the same id or address, who stays as they are.';
  omissions.add({ of: collection.name, what: 'a record', why, record: id });
  return true;
}
