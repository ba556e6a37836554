import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { limit, sql } from '../sql/sql.ts';
import type { Reader, Row, Transaction } from '../storage/database.ts';

/**
 * Jobs that bring many instances to one definition, as rows of the shared data: one for the job, and one for each of its instances, which are
 * fixed when it is created. The runner of any process takes a job up, and holds it by a lease; one job runs at a time.
 *
 *   job        waiting ──► running ──► done │ failed │ cancelled        retry: back to waiting, with what failed or was skipped
 *   instance   waiting ──► running ──► changed │ unchanged │ failed │ skipped
 *
 * What was running when its holder ended is waiting again for the next one: to apply a definition twice is to apply it once.
 */
export interface SchemaJob {
  readonly id: string;
  readonly state: SchemaJobState;
  /** Nothing is changed: the results say what would be. */
  readonly dryRun: boolean;
  readonly deleteMissing: boolean;
  /** No further instance is begun once so many have failed; 0 for any number. */
  readonly stopAfter: number;
  readonly created: Timestamp;
  /** Empty before it begins. */
  readonly started: Timestamp;
  /** Empty before it ends. */
  readonly ended: Timestamp;
  /** The number of its instances. */
  readonly total: number;
  /** How many of them are in each state. */
  readonly counts: Readonly<Record<SchemaResultState, number>>;
}

export const schemaJobStates = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;
export type SchemaJobState = (typeof schemaJobStates)[number];
export const schemaResultStates = [
  'waiting',
  'running',
  'changed',
  'unchanged',
  'failed',
  'skipped',
] as const;
export type SchemaResultState = (typeof schemaResultStates)[number];

export const schemaJobLimits = {
  /** Instances of one job. */
  instancesMax: 10_000,
  /** The JSON of its definitions, which is stored with it. */
  collectionsBytesMax: 4 * 1024 * 1024,
  /** Jobs that are not over. */
  openMax: 20,
  /** Jobs that are over, with their results. */
  keptMax: 20,
} as const;

/** What a job is to do, as its creation has checked it. */
export interface NewSchemaJob extends Pick<SchemaJob, 'dryRun' | 'deleteMissing' | 'stopAfter'> {
  /** The definitions as JSON. */
  readonly collections: string;
  readonly instances: readonly SchemaTarget[];
  /** The address of whoever asked for it, for the audit logs of the instances. */
  readonly address: string;
}

/** An instance of a job, by the id that it is known by and the slug that it had when the job was created. */
export interface SchemaTarget {
  readonly id: string;
  readonly slug: string;
}

export const jobColumns = sql`id, state, is_dry_run, delete_missing, stop_after, created, started, ended, total`;
export const isOpen = sql`state IN ('waiting', 'running')`;

/** Adds a job, and forgets the oldest ones that are over. Throws too_many_requests where too many are not over. */
export async function insertSchemaJob(tx: Transaction, job: NewSchemaJob, now: number): Promise<SchemaJob> {
  const { openMax, keptMax } = schemaJobLimits;
  const [jobs, results] = [tx.names.table('$schema_job'), tx.names.table('$schema_result')];
  const [open] = await tx.tuples(sql`SELECT count(*) FROM ${jobs} WHERE ${isOpen}`);
  if (Number(open?.[0]) >= openMax)
    throw new AppError('too_many_requests', `There are ${openMax} schema jobs that are not over.`, {
      retryAfter: 60,
    });
  const forgotten = sql`SELECT id FROM ${jobs} WHERE NOT (${isOpen}) AND position NOT IN (
    SELECT position FROM ${jobs} WHERE NOT (${isOpen}) ORDER BY position DESC${limit(keptMax)})`;
  await tx.run(sql`DELETE FROM ${results} WHERE job IN (${forgotten})`);
  await tx.run(sql`DELETE FROM ${jobs} WHERE id IN (${forgotten})`);
  const id = newId();
  const { dryRun, deleteMissing, stopAfter, collections, instances, address } = job;
  await tx.run(sql`
    INSERT INTO ${jobs} (id, state, holder, held_until, is_dry_run, delete_missing, stop_after, is_cancelled, collections, address,
      created, started, ended, total)
    VALUES (${id}, 'waiting', '', 0, ${dryRun ? 1 : 0}, ${deleteMissing ? 1 : 0}, ${stopAfter}, 0, ${collections}, ${address},
      ${toTimestamp(now)}, '', '', ${instances.length})`);
  const rows = instances.map(({ id: instance, slug }) => [id, instance, slug, 'waiting', '', '', '']);
  if (rows.length > 0)
    await tx.insertRows(sql`${results} (job, instance, slug, state, changes, error, ended)`, rows);
  return getSchemaJob(tx, id);
}

/** Throws not_found. */
export async function getSchemaJob(reader: Reader, id: string): Promise<SchemaJob> {
  const [job] = await readSchemaJobs(reader, [id]);
  if (job === undefined) throw new AppError('not_found', `There is no schema job ${id}.`);
  return job;
}

/** Returns the jobs with these ids, in any order. */
export async function readSchemaJobs(reader: Reader, ids: readonly string[]): Promise<readonly SchemaJob[]> {
  const { names } = reader;
  const rows = await reader.all(
    sql`SELECT ${jobColumns} FROM ${names.table('$schema_job')} WHERE id${names.anyOf(ids)}`,
  );
  const counted = await reader.tuples(sql`
    SELECT job, state, count(*) FROM ${names.table('$schema_result')} WHERE job${names.anyOf(ids)} GROUP BY job, state`);
  return rows.map((row) => {
    const own = new Map(
      counted.filter(([job]) => job === row['id']).map(([, state, count]) => [state, Number(count)]),
    );
    return toSchemaJob(row, (state) => own.get(state) ?? 0);
  });
}

export function toSchemaJob(row: Row, countOf: (state: SchemaResultState) => number): SchemaJob {
  const text = (name: string): string => String(row[name]);
  return {
    id: text('id'),
    // Only this file writes them.
    state: text('state') as SchemaJobState,
    dryRun: row['is_dry_run'] === 1,
    deleteMissing: row['delete_missing'] === 1,
    stopAfter: Number(row['stop_after']),
    created: text('created'),
    started: text('started'),
    ended: text('ended'),
    total: Number(row['total']),
    counts: {
      waiting: countOf('waiting'),
      running: countOf('running'),
      changed: countOf('changed'),
      unchanged: countOf('unchanged'),
      failed: countOf('failed'),
      skipped: countOf('skipped'),
    },
  };
}

/** Ends a job: no further instance is begun. One that is over stays as it is. Throws not_found. */
export async function cancelSchemaJob(tx: Transaction, id: string, now: number): Promise<SchemaJob> {
  const jobs = tx.names.table('$schema_job');
  const state = await lockJob(tx, id);
  if (state !== 'waiting' && state !== 'running') return getSchemaJob(tx, id);
  await skipWaiting(tx, id, { reason: 'The job was cancelled.', now });
  const end = sql`, state = 'cancelled', ended = ${toTimestamp(now)}`;
  // The instances that are being worked on come to their end before a job that runs does.
  await tx.run(sql`UPDATE ${jobs} SET is_cancelled = 1${state === 'waiting' ? end : sql``} WHERE id = ${id}`);
  return getSchemaJob(tx, id);
}

/**
 * Makes a job that is over wait again, for the instances that have failed or were skipped. Where there is none, it stays as it is. Throws
 * not_found, and bad_request for one that is not over.
 */
export async function retrySchemaJob(tx: Transaction, id: string): Promise<SchemaJob> {
  const [jobs, results] = [tx.names.table('$schema_job'), tx.names.table('$schema_result')];
  const state = await lockJob(tx, id);
  if (state === 'waiting' || state === 'running')
    throw new AppError('bad_request', 'The job is not over: its instances are still being worked on.');
  const count = await tx.run(sql`
    UPDATE ${results} SET state = 'waiting', changes = '', error = '', ended = ''
    WHERE job = ${id} AND state IN ('failed', 'skipped')`);
  if (count > 0)
    await tx.run(sql`
      UPDATE ${jobs} SET state = 'waiting', holder = '', held_until = 0, is_cancelled = 0, started = '', ended = '' WHERE id = ${id}`);
  return getSchemaJob(tx, id);
}

/** Throws not_found. */
async function lockJob(tx: Transaction, id: string): Promise<SchemaJobState> {
  const [row] = await tx.tuples(
    sql`SELECT state FROM ${tx.names.table('$schema_job')} WHERE id = ${id}${tx.names.locks.forUpdate}`,
  );
  if (row === undefined) throw new AppError('not_found', `There is no schema job ${id}.`);
  // Only this file writes it.
  return row[0] as SchemaJobState;
}

/** Skips the instances that were not begun. */
export async function skipWaiting(
  tx: Transaction,
  id: string,
  { reason, now }: { readonly reason: string; readonly now: number },
): Promise<void> {
  await tx.run(sql`
    UPDATE ${tx.names.table('$schema_result')} SET state = 'skipped', error = ${skippedError(reason)}, ended = ${toTimestamp(now)}
    WHERE job = ${id} AND state = 'waiting'`);
}

/** Returns the JSON of the error of an instance that is left as it is. */
export function skippedError(message: string): string {
  return JSON.stringify({ code: 'conflict', message, details: {} });
}
