import { isHeldAs, keepHeld, type JobHold, leaseMs } from '../backups/job-lease.ts';
import type { Clock } from '../base/clock.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Database, Reader, Row, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import {
  isOpen,
  jobColumns,
  type NewSchemaJob,
  type SchemaJobState,
  type SchemaResultState,
  skipWaiting,
  toSchemaJob,
} from './schema-jobs.ts';

/** A job that a runner holds. */
export interface HeldSchemaJob extends Pick<
  NewSchemaJob,
  'collections' | 'address' | 'dryRun' | 'deleteMissing' | 'stopAfter'
> {
  readonly id: string;
  readonly holder: string;
}

/** An instance that is to be brought to the definition. */
export interface SchemaTask {
  readonly position: number;
  readonly instance: string;
  /** What was about to be changed, as JSON, when an earlier holder ended; empty otherwise. */
  readonly begun: string;
}

/** What came of an instance, with its changes and its error as JSON; empty for none. */
export interface SchemaOutcome {
  readonly state: Exclude<SchemaResultState, 'waiting' | 'running'>;
  readonly changes: string;
  readonly error: string;
}

/** The jobs as a runner works them off. */
export class SchemaWork {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(database: Database, clock: Pick<Clock, 'now'>) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Takes up the job that has waited longest, or one whose holder has ended; undefined where there is none, or another one runs. */
  async claim(holder: string): Promise<HeldSchemaJob | undefined> {
    if (!(await this.#hasWork())) return undefined;
    try {
      return await this.#database.write((tx) => this.#claim(tx, holder));
    } catch (error) {
      // Another process was faster.
      if (error instanceof UniqueViolation) return undefined;
      throw error;
    }
  }

  async #hasWork(): Promise<boolean> {
    const rows = await this.#database.tuples(
      sql`SELECT state, held_until FROM ${this.#database.names.table('$schema_job')} WHERE ${isOpen}`,
    );
    const running = rows.find(([state]) => state === 'running');
    return running === undefined ? rows.length > 0 : Number(running[1]) < this.#clock.now();
  }

  async #claim(tx: Transaction, holder: string): Promise<HeldSchemaJob | undefined> {
    const { names } = tx;
    const [jobs, results] = [names.table('$schema_job'), names.table('$schema_result')];
    const now = this.#clock.now();
    const find = (state: SchemaJobState): Promise<Row | undefined> =>
      tx.get(sql`
        SELECT ${jobColumns}, held_until, collections, address FROM ${jobs} WHERE state = ${state}
        ORDER BY position${limit(1)}${names.locks.forUpdate}`);
    const running = await find('running');
    if (running !== undefined && Number(running['held_until']) >= now) return undefined;
    const row = running ?? (await find('waiting'));
    if (row === undefined) return undefined;
    const { id, started, dryRun, deleteMissing, stopAfter } = toSchemaJob(row, () => 0);
    const began = started === '' ? toTimestamp(now) : started;
    await tx.run(sql`
      UPDATE ${jobs} SET state = 'running', holder = ${holder}, held_until = ${now + leaseMs}, started = ${began} WHERE id = ${id}`);
    await tx.run(sql`UPDATE ${results} SET state = 'waiting' WHERE job = ${id} AND state = 'running'`);
    const [collections, address] = [String(row['collections']), String(row['address'])];
    return { id, holder, dryRun, deleteMissing, stopAfter, collections, address };
  }

  /** Renews the hold on a job until the returned function is called. */
  keepHeld({ id, holder }: HeldSchemaJob): () => void {
    const hold: JobHold = { table: '$schema_job', id, holder };
    // Each step looks at the hold.
    return keepHeld({ database: this.#database, clock: this.#clock }, hold, () => undefined);
  }

  /** Begins the next instance of a job; undefined where there is none, or none is to be begun any more. */
  begin(job: HeldSchemaJob): Promise<SchemaTask | undefined> {
    return this.#database.write(async (tx) => {
      if (!(await this.#mayBegin(tx, job))) return undefined;
      const results = tx.names.table('$schema_result');
      const [row] = await tx.tuples(sql`
        SELECT position, instance, changes FROM ${results} WHERE job = ${job.id} AND state = 'waiting' ORDER BY position${limit(1)}`);
      if (row === undefined) return undefined;
      const position = Number(row[0]);
      await tx.run(sql`UPDATE ${results} SET state = 'running' WHERE position = ${position}`);
      return { position, instance: String(row[1]), begun: String(row[2]) };
    });
  }

  /** The lock on the job keeps two from beginning one instance, and a cancellation from being overlooked. */
  async #mayBegin(tx: Transaction, job: HeldSchemaJob): Promise<boolean> {
    const { names } = tx;
    const [row] = await tx.tuples(sql`
      SELECT is_cancelled FROM ${names.table('$schema_job')} WHERE ${isHeldAs(job)}${names.locks.forUpdate}`);
    return row?.[0] === 0 && !(await hasStopped(tx, job));
  }

  /** Notes what is about to be changed. Returns false where another process holds the job by now: then nothing may be changed. */
  async note(job: HeldSchemaJob, { position }: SchemaTask, changes: string): Promise<boolean> {
    const count = await this.#database.write((tx) =>
      tx.run(sql`
        UPDATE ${tx.names.table('$schema_result')} SET changes = ${changes} WHERE ${isOwn(tx, job, position)}`),
    );
    return count > 0;
  }

  /** Notes what came of an instance, unless another process holds the job by now. */
  async settle(
    job: HeldSchemaJob,
    { position }: SchemaTask,
    { state, changes, error }: SchemaOutcome,
  ): Promise<void> {
    const ended = toTimestamp(this.#clock.now());
    await this.#database.write((tx) =>
      tx.run(sql`
        UPDATE ${tx.names.table('$schema_result')} SET state = ${state}, changes = ${changes}, error = ${error}, ended = ${ended}
        WHERE ${isOwn(tx, job, position)}`),
    );
  }

  /** Lets another process take the job up at once. */
  async release(job: HeldSchemaJob): Promise<void> {
    await this.#database.write((tx) =>
      tx.run(sql`UPDATE ${tx.names.table('$schema_job')} SET held_until = 0 WHERE ${isHeldAs(job)}`),
    );
  }

  /** Ends a job of which no instance is to be begun any more, unless another process holds it by now. */
  async end(job: HeldSchemaJob): Promise<void> {
    const now = this.#clock.now();
    await this.#database.write(async (tx) => {
      const { names } = tx;
      const jobs = names.table('$schema_job');
      const [row] = await tx.tuples(
        sql`SELECT is_cancelled FROM ${jobs} WHERE ${isHeldAs(job)}${names.locks.forUpdate}`,
      );
      if (row === undefined) return;
      const failed = await countFailed(tx, job);
      if (await hasStopped(tx, job))
        await skipWaiting(tx, job.id, { reason: `The job stopped after ${failed} failures.`, now });
      const state: SchemaJobState = row[0] === 1 ? 'cancelled' : failed > 0 ? 'failed' : 'done';
      await tx.run(
        sql`UPDATE ${jobs} SET state = ${state}, ended = ${toTimestamp(now)} WHERE ${isHeldAs(job)}`,
      );
    });
  }
}

async function hasStopped(tx: Transaction, job: HeldSchemaJob): Promise<boolean> {
  return job.stopAfter > 0 && (await countFailed(tx, job)) >= job.stopAfter;
}

async function countFailed(tx: Transaction, { id }: HeldSchemaJob): Promise<number> {
  const [row] = await tx.tuples(sql`
    SELECT count(*) FROM ${tx.names.table('$schema_result')} WHERE job = ${id} AND state = 'failed'`);
  return Number(row?.[0]);
}

/** Holds for an instance of a job that this holder works on. */
function isOwn({ names }: Reader, job: HeldSchemaJob, position: number): Sql {
  return sql`position = ${position} AND state = 'running'
    AND EXISTS (SELECT 1 FROM ${names.table('$schema_job')} WHERE ${isHeldAs(job)})`;
}
