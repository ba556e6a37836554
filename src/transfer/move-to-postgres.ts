import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { codeOf } from '../base/process.ts';
import { requireViewsFit, restoreViews } from '../definitions/restore-views.ts';
import type { Collection } from '../collections/collection.ts';
import { createTable } from '../collections/tables.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { Instance } from '../instances/instance.ts';
import type { Loan } from '../instances/open-instances.ts';
import { identifier, sql, type Sql } from '../sql/sql.ts';
import type { DataHome } from '../storage/data-home.ts';
import type { Database, Reader, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import { countWaiting } from '../deliveries/log/count-waiting.ts';
import { copyTable, type TableCopy } from './copy-table.ts';
import { clearMoveMark, markMove } from './move-mark.ts';
import { operatorPlaces, type Place, placesOf } from './placed-tables.ts';

/**
 * The map of this folder: copies everything of a data directory into an empty PostgreSQL database, row by row, with the
 * columns that the tables really have (copy-table.ts). Ids, secrets, positions and times stay as they are, so that tokens,
 * API keys, ETags and webhooks that are still to be sent keep their meaning.
 *
 * Until the move is complete, the database carries a mark (move-mark.ts), with which no server starts. The data directory is only read.
 */
export interface Move {
  readonly source: {
    readonly home: DataHome;
    readonly instances: readonly InstanceEntry[];
    readonly borrow: (entry: InstanceEntry) => Promise<Loan>;
  };
  readonly target: DataHome;
  readonly clock: Clock;
  /** Called now and then with the table that is being copied. */
  readonly onProgress: (progress: MoveProgress) => void;
}

export interface MoveProgress {
  /** The slug of the instance. */
  readonly instance: string;
  readonly table: string;
  readonly rows: number;
}

export interface MovedInstance {
  readonly slug: string;
  readonly collections: number;
  readonly records: number;
  /** Webhooks that are still to be sent. */
  readonly pending: number;
}

/** Throws bad_request, before anything is written, for a target that is not empty. */
export async function moveToPostgres(move: Move): Promise<readonly MovedInstance[]> {
  const { source, target, clock } = move;
  const { control } = target;
  await requireAllViewsFit(move);
  await markMove(control, clock.now());
  const moved: MovedInstance[] = [];
  await requireUnchanged(source.home.control, async () => {
    await copyInternal('control', { source: source.home.control, target: control, report: () => {} });
    for (const entry of source.instances) {
      const loan = await source.borrow(entry);
      try {
        moved.push(await moveInstance(move, loan.instance));
      } finally {
        loan.release();
      }
    }
  });
  // The internal tables, which all instances share.
  for (const [table] of placesOf()) await analyze(control, control.names.table(table));
  await clearMoveMark(control);
  return moved;
}

/** A query is written for one engine, and the other one may refuse it. */
async function requireAllViewsFit({ source, target }: Move): Promise<void> {
  for (const entry of source.instances) {
    const loan = await source.borrow(entry);
    try {
      const { slug, collections } = loan.instance;
      await requireViewsFit(target.control, collections.all(), slug);
    } finally {
      loan.release();
    }
  }
}

/** Throws conflict when another process has written to the database during the work: a command, as servers are locked out. */
async function requireUnchanged(database: Database, work: () => Promise<void>): Promise<void> {
  const before = database.state();
  await work();
  if (database.state() === before) return;
  throw new AppError(
    'conflict',
    'The data directory was changed during the move. Create another, empty database and move again.',
  );
}

async function moveInstance(move: Move, instance: Instance): Promise<MovedInstance> {
  const { id, slug, collections } = instance;
  const report: Report = (table, rows) => move.onProgress({ instance: slug, table, rows });
  const target = await move.target.openInstance(id, { read: () => Promise.resolve(() => undefined) });
  try {
    let records = 0;
    await requireUnchanged(instance.database, async () => {
      const copy = { source: instance.database, target, report };
      await copyInternal('instance', copy);
      const tables = collections.all().filter(({ type }) => type !== 'view');
      for (const collection of tables) records += await copyRecords(copy, collection);
      await restoreViews(target);
    });
    await moveLogs(move, id, report);
    return {
      slug,
      collections: collections.all().length,
      records,
      pending: await patiently(target, countWaiting),
    };
  } finally {
    await target.stop();
  }
}

async function moveLogs(move: Move, instanceId: string, report: Report): Promise<void> {
  const source = await move.source.home.openLogs(instanceId);
  try {
    const target = await move.target.openLogs(instanceId);
    try {
      await copyInternal('logs', { source, target, report });
    } finally {
      await target.stop();
    }
  } finally {
    await source.stop();
  }
}

type Report = (table: string, rows: number) => void;

interface Copy {
  readonly source: Reader;
  readonly target: Database;
  readonly report: Report;
}

async function copyInternal(place: Place, { source, target, report }: Copy): Promise<void> {
  const { names } = target;
  for (const [table, its] of placesOf()) {
    const isOfOperator = place === 'control' && operatorPlaces.includes(table);
    if (its !== place && !isOfOperator) continue;
    const into = names.table(table);
    const copy = { source, table, target, into, isScoped: place !== 'control' || isOfOperator };
    await explainFailure(table, () => copyWhole({ ...copy, onRows: reportOf(report, table) }));
  }
}

async function copyRecords({ source, target, report }: Copy, collection: Collection): Promise<number> {
  const table = collection.name;
  const into = target.names.collectionTable(table);
  return await explainFailure(table, async () => {
    await target.write((tx) => createTable(tx, collection), { isExclusive: true });
    const onRows = reportOf(report, table);
    const count = await copyWhole({ source, table, target, into, isScoped: false, onRows });
    await analyze(target, into);
    return count;
  });
}

function reportOf(report: Report, table: string): (rows: number) => void {
  return (rows) => report(table, rows);
}

/** Copies a table and counts again. */
async function copyWhole(copy: TableCopy): Promise<number> {
  const { source, table, target, into, isScoped } = copy;
  const scope = isScoped ? target.names.instance.condition : sql`TRUE`;
  const before = await countRows(target, into, scope);
  const { count, position } = await copyTable(copy);
  const sourceCount = await countRows(source, identifier(table), sql`TRUE`);
  const targetCount = (await patiently(target, (tx) => countRows(tx, into, scope))) - before;
  if (sourceCount !== count || targetCount !== count) {
    const counts = `${sourceCount} rows of which ${count} were read and ${targetCount} arrived`;
    throw new AppError('conflict', `The table ${table} has ${counts}: is the data directory in use?`);
  }
  if (position !== undefined) await goOnBehind(target, { table: into, position, scope });
  return count;
}

/** Runs a statement over a whole table: an exclusive transaction has minutes for it, any other ten seconds. */
function patiently<Result>(target: Database, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
  return target.write(work, { isExclusive: true });
}

/** Otherwise the first plans would be those for an empty table. */
async function analyze(target: Database, table: Sql): Promise<void> {
  await patiently(target, (tx) => tx.run(sql`ANALYZE ${table}`));
}

/** Lets the positions of new rows follow the copied ones. The instances share one sequence, which other rows may have taken further. */
async function goOnBehind(
  target: Database,
  { table, position, scope }: { readonly table: Sql; readonly position: string; readonly scope: Sql },
): Promise<void> {
  const sequence = sql`pg_get_serial_sequence(${table.text}, ${position})`;
  const highest = sql`(SELECT max(${identifier(position)}) FROM ${table} WHERE ${scope})`;
  await patiently(target, (tx) =>
    tx.tuples(sql`SELECT setval(${sequence}, greatest(${highest}, nextval(${sequence})))`),
  );
}

async function countRows(reader: Reader, table: Sql, scope: Sql): Promise<number> {
  const row = await reader.get(sql`SELECT count(*) AS count FROM ${table} WHERE ${scope}`);
  return Number(row?.['count']);
}

/** Runs work on a table. An error of an engine gets its reason, which clients do not see, and a remedy for the operator. */
async function explainFailure<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw reasonOf(error) === undefined
      ? error
      : new AppError(
          'unavailable',
          `The table ${table} cannot be copied: ${reasonOf(error)}. Create another, empty database and move again.`,
          { cause: error },
        );
  }
}

/** The message of the engine. Undefined for an error with a remedy of its own, and for bugs. */
function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof AppError || error instanceof UniqueViolation)) return undefined;
  const { cause } = error;
  return cause instanceof Error ? (reasonOf(cause) ?? (cause.message || codeOf(cause))) : undefined;
}
