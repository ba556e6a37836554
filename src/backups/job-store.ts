import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { AppError, busy } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { appendOperatorEvent } from '../instances/operator-events.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Database, Row, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import { isHeldAs, keepHeld, type JobHold, leaseMs, type LeaseParts, renewHold } from './job-lease.ts';

/**
 * Backups, restores and verifications, as rows of the shared data. Whoever asks for one adds it; the job runner of any process
 * takes it up, and holds it by a lease. What was ended by a crash is marked as failed when its lease is over: whoever notices takes the
 * hold over first. A holder that comes back later cannot finish the job (`requireHeld`).
 *
 *   waiting ──► running ──► done │ failed
 */
export interface TransferJob {
  readonly id: string;
  /** The instance, by what it is known by (`shownId`): a restore does not change it. */
  readonly instance: string;
  readonly kind: TransferKind;
  /** The name of the backup. */
  readonly backup: string;
  /** Where it is: empty for the place that the settings of the instance name; otherwise a folder, or `s3://bucket/prefix`. */
  readonly place: string;
  /** Whether a schedule asked for it: old ones are then removed. */
  readonly isAuto: boolean;
  readonly state: TransferState;
  readonly requested: Timestamp;
  /** Empty before it begins. */
  readonly started: Timestamp;
  /** Empty before it ends. */
  readonly ended: Timestamp;
  /** The size of the backup; 0 before it is known. */
  readonly bytes: number;
  /** Why it failed, in words. */
  readonly message: string;
  /** Who holds it; empty before it begins. */
  readonly holder: string;
}

/** A job as its holder knows it. */
type HeldJob = Pick<TransferJob, 'id' | 'holder'>;

/** `export`: an archive that is no backup · `template`: one without records and secrets · `clone`: a copy, whose slug is the name of the backup. */
export type TransferKind = 'backup' | 'restore' | 'verify' | 'export' | 'template' | 'clone';
export type TransferState = 'waiting' | 'running' | 'done' | 'failed';

export type NewTransfer = Pick<TransferJob, 'instance' | 'kind' | 'backup' | 'place' | 'isAuto'>;

/** How often a job is looked at whose end somebody waits for. */
const lookMs = 100;
/** How many jobs that are over are kept for each instance, besides its last backup. */
const keptMax = 20;
/** How many jobs of all instances wait at most: each is a request that somebody waits for. */
const waitingMax = 10_000;
/** More than there are for all instances. */
const jobsMax = 1_000_000;

/** What the operator's programs are told. */
const eventKinds = {
  backup: 'backup.created',
  restore: 'backup.restored',
  verify: 'backup.verified',
  export: undefined,
  template: undefined,
  clone: undefined,
} as const;

const columns = sql`id, instance, kind, backup, place, is_auto, state, requested, started, ended, bytes, message, holder`;
const isOpen = sql`state IN ('waiting', 'running')`;

/** Only its own file writes the table. */
export class JobStore {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(database: Database, clock: Pick<Clock, 'now'>) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Adds a job. Throws bad_request when the instance has one that is not over, and what `alongside` throws, which runs in the same
   * transaction.
   */
  async add(job: NewTransfer, alongside?: (tx: Transaction) => Promise<void>): Promise<TransferJob> {
    const added = await this.#insert(job, '', alongside);
    if (added === undefined) throw alreadyStarted();
    return added;
  }

  /** As `add`, but does nothing where the instance has one: it is tried again at the next time of its schedule. */
  async addUnlessBusy(job: NewTransfer): Promise<TransferJob | undefined> {
    return this.#insert(job, '');
  }

  /** Adds a job that the caller runs itself, and holds. Throws bad_request when the instance has one that is not over. */
  async begin(job: NewTransfer, holder: string): Promise<TransferJob> {
    const begun = await this.#insert(job, holder);
    if (begun === undefined) throw alreadyStarted();
    return begun;
  }

  async #insert(
    job: NewTransfer,
    holder: string,
    alongside?: (tx: Transaction) => Promise<void>,
  ): Promise<TransferJob | undefined> {
    const { instance, kind, backup, place, isAuto } = job;
    const now = this.#clock.now();
    const requested = toTimestamp(now);
    const id = newId();
    const [state, started] = holder === '' ? ['waiting', ''] : ['running', requested];
    const heldUntil = holder === '' ? 0 : now + leaseMs;
    try {
      await this.#database.write(async (tx) => {
        const table = tx.names.table('$transfer');
        const [row] = await tx.tuples(sql`SELECT count(*) FROM ${table} WHERE state = 'waiting'`);
        if (Number(row?.[0]) >= waitingMax) throw busy();
        await tx.run(sql`
          INSERT INTO ${table} (id, instance, kind, backup, place, is_auto, state, holder, held_until, requested, started, ended, bytes, message)
          VALUES (${id}, ${instance}, ${kind}, ${backup}, ${place}, ${isAuto ? 1 : 0}, ${state ?? ''}, ${holder}, ${heldUntil},
            ${requested}, ${started ?? ''}, '', 0, '')`);
        await alongside?.(tx);
      });
    } catch (error) {
      if (error instanceof UniqueViolation) return undefined;
      throw error;
    }
    return this.find(id);
  }

  async find(id: string): Promise<TransferJob | undefined> {
    const [job] = await this.#read(sql`id = ${id}`, 1);
    return job;
  }

  /**
   * Adds a job, and resolves when it is over; or when the caller goes away, which does not end it. Throws bad_request for what it fails for, and when
   * the instance has another job.
   */
  async run(job: NewTransfer, isGone: () => boolean): Promise<void> {
    await this.waitFor(await this.add(job), isGone);
  }

  /** Resolves when a job is over, or when the caller goes away, which does not end it. Throws bad_request for what it fails for. */
  async waitFor({ id }: Pick<TransferJob, 'id'>, isGone: () => boolean): Promise<void> {
    while (!isGone()) {
      await sleep(lookMs);
      const now = await this.find(id);
      if (now === undefined || now.state === 'done') return;
      if (now.state === 'failed') throw new AppError('bad_request', now.message);
    }
  }

  /** Returns the last job of an instance of each kind and state, the newest first. */
  lastOfEach(instance: string): Promise<readonly TransferJob[]> {
    const table = this.#database.names.table('$transfer');
    return this.#read(
      sql`position IN (SELECT max(position) FROM ${table} WHERE instance = ${instance} GROUP BY kind, state)`,
    );
  }

  /** Returns the jobs that are not over. */
  listOpen(): Promise<readonly TransferJob[]> {
    return this.#read(isOpen);
  }

  /** Returns the job of an instance that is not over, if there is one. */
  async findOpen(instance: string): Promise<TransferJob | undefined> {
    const [job] = await this.#read(sql`instance = ${instance} AND ${isOpen}`, 1);
    return job;
  }

  /** Returns the last job of each instance and kind that is over, the newest first: of all, or of those that are done. */
  lastEnded(state: 'done' | 'any'): Promise<readonly TransferJob[]> {
    const table = this.#database.names.table('$transfer');
    const isMeant = state === 'done' ? sql`state = 'done'` : sql`state IN ('done', 'failed')`;
    return this.#read(
      sql`position IN (SELECT max(position) FROM ${table} WHERE ${isMeant} GROUP BY instance, kind)`,
    );
  }

  /** Whether a job waits, runs, or a schedule is due. */
  async hasWork(): Promise<boolean> {
    const { names } = this.#database;
    const rows = await this.#database.tuples(sql`
      SELECT 1 FROM ${names.table('$transfer')} WHERE ${isOpen} UNION ALL
      SELECT 1 FROM ${names.table('$backup_schedule')} WHERE due <= ${this.#clock.now()}`);
    return rows.length > 0;
  }

  /** Takes the job that has waited longest; undefined where none waits. */
  async claim(holder: string): Promise<TransferJob | undefined> {
    const now = this.#clock.now();
    const id = await this.#database.write(async (tx) => {
      const table = tx.names.table('$transfer');
      const [row] = await tx.tuples(sql`
        SELECT id FROM ${table} WHERE state = 'waiting' ORDER BY position${limit(1)}${tx.names.locks.skipLocked}`);
      if (row === undefined) return undefined;
      const oldest = String(row[0]);
      await tx.run(sql`
        UPDATE ${table} SET state = 'running', holder = ${holder}, held_until = ${now + leaseMs}, started = ${toTimestamp(now)}
        WHERE id = ${oldest}`);
      return oldest;
    });
    return id === undefined ? undefined : this.find(id);
  }

  /** Renews the hold on a job until the returned function is called. Calls `onLost` once another has taken the job over. */
  keepHeld(job: HeldJob, onLost: () => void): () => void {
    return keepHeld(this.#leaseParts(), leaseOf(job), onLost);
  }

  #leaseParts(): LeaseParts {
    return { database: this.#database, clock: this.#clock };
  }

  /** Returns false where another has taken the job over. */
  renew(job: HeldJob): Promise<boolean> {
    return renewHold(this.#leaseParts(), leaseOf(job));
  }

  /** Throws conflict where another has taken the job over. Until the transaction ends, nobody can. */
  async requireHeld(tx: Transaction, job: HeldJob): Promise<void> {
    const { names } = tx;
    const rows = await tx.tuples(
      sql`SELECT 1 FROM ${names.table('$transfer')} WHERE ${isHeldAs(job)}${names.locks.forUpdate}`,
    );
    if (rows.length === 0) throw holdLost();
  }

  /** Notes how a job has ended, and forgets the oldest ones of its instance. Does nothing where another has taken it over. */
  async end(
    { id, holder, instance, kind, backup }: HeldJob & Pick<TransferJob, 'instance' | 'kind' | 'backup'>,
    outcome: Pick<TransferJob, 'state' | 'bytes' | 'message'>,
  ): Promise<void> {
    const now = toTimestamp(this.#clock.now());
    const { state, bytes, message } = outcome;
    await this.#database.write(async (tx) => {
      const table = tx.names.table('$transfer');
      const count = await tx.run(sql`
        UPDATE ${table} SET state = ${state}, bytes = ${bytes}, message = ${message}, ended = ${now}
        WHERE ${isHeldAs({ id, holder })}`);
      if (count === 0) return;
      const onDone = eventKinds[kind];
      const happened = state === 'done' || onDone === undefined ? onDone : 'backup.failed';
      const data = { backup, bytes, ...(message !== '' && { message }) };
      if (happened !== undefined) await appendOperatorEvent(tx, { kind: happened, instance, data }, now);
      await tx.run(sql`
        DELETE FROM ${table} WHERE instance = ${instance} AND state IN ('done', 'failed')
          AND position NOT IN (SELECT position FROM ${table} WHERE instance = ${instance} ORDER BY position DESC${limit(keptMax)})
          AND position NOT IN (SELECT max(position) FROM ${table} WHERE instance = ${instance} AND state = 'done' GROUP BY kind)`);
    });
  }

  /** Returns the jobs whose holders have ended without a word. */
  readAbandoned(): Promise<readonly TransferJob[]> {
    return this.#read(sql`state = 'running' AND held_until < ${this.#clock.now()}`);
  }

  /** Takes over a job that was abandoned. Returns undefined where another was faster, or its holder has come back. */
  async takeOver({ id, holder: before }: HeldJob, holder: string): Promise<TransferJob | undefined> {
    const now = this.#clock.now();
    const count = await this.#database.write((tx) =>
      tx.run(sql`
        UPDATE ${tx.names.table('$transfer')} SET holder = ${holder}, held_until = ${now + leaseMs}
        WHERE ${isHeldAs({ id, holder: before })} AND held_until < ${now}`),
    );
    return count === 0 ? undefined : this.find(id);
  }

  async #read(condition: Sql, max = jobsMax): Promise<readonly TransferJob[]> {
    const table = this.#database.names.table('$transfer');
    const rows = await this.#database.all(
      sql`SELECT ${columns} FROM ${table} WHERE ${condition} ORDER BY position DESC${limit(max)}`,
    );
    return rows.map(toJob);
  }
}

/** Returns what whoever asks for another job is told. */
export function alreadyStarted(): AppError {
  return new AppError(
    'bad_request',
    'Try again later - another backup/restore process has already been started.',
  );
}

function leaseOf({ id, holder }: HeldJob): JobHold {
  return { table: '$transfer', id, holder };
}

/** Why a job is stopped that another has taken over. */
export function holdLost(): AppError {
  return new AppError('conflict', 'The job stood still for too long, and was given up.');
}

function toJob(row: Row): TransferJob {
  const text = (name: string): string => String(row[name]);
  return {
    id: text('id'),
    instance: text('instance'),
    // Only this file writes them.
    kind: text('kind') as TransferKind,
    backup: text('backup'),
    place: text('place'),
    isAuto: row['is_auto'] === 1,
    // As `kind`.
    state: text('state') as TransferState,
    requested: text('requested'),
    started: text('started'),
    ended: text('ended'),
    bytes: Number(row['bytes']),
    message: text('message'),
    holder: text('holder'),
  };
}
