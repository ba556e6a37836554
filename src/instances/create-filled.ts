import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { fromTimestamp, type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { DataHome } from '../storage/data-home.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import { forgetDue } from './due-index.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import {
  changeRow,
  deleteRow,
  insertFilling,
  type UnshownInstance,
  type InstanceRow,
  type Labels,
  readRows,
  replaceRow,
  restoredSet,
  type InstanceEntry,
} from './instance-rows.ts';
import { appendOperatorEvent, createdEvent } from './operator-events.ts';
import type { Quotas } from './quotas.ts';
import { placeConflict, requireHost, requireLabels, requireSlug, takenSlug } from './require-slug.ts';

/** An instance that is made of something, and not empty. */
export interface FilledInstance extends Omit<UnshownInstance, 'labels'> {
  readonly labels?: Labels | undefined;
  readonly quotas?: Quotas | undefined;
  /** Whether its id is new, so that nothing can be left of an earlier attempt. */
  readonly isNew?: boolean;
  /** The instance whose place it takes, with its slug and host, once `populate` has called `beginReplacing`. */
  readonly replaced?: string | undefined;
  /** Whether another run may go on with it where this one is cut off: what there is of it is then kept for a day. */
  readonly isResumable?: boolean;
  /** Returns whether there is something of a run that was cut off with which `populate` goes on. */
  readonly canResume?: (() => Promise<boolean>) | undefined;
  /** Fills its data, which is made and empty unless it goes on. The entry is that of the instance once it is there. */
  readonly populate: (entry: InstanceEntry) => Promise<void>;
  /** Removes what `populate` has put elsewhere. */
  readonly discard: (entry: InstanceEntry) => Promise<void>;
  /** What else is written in the transaction that shows the instance, before it is shown; where it throws, the instance is not kept. */
  readonly alongside?: (tx: Transaction, shownAt: Timestamp) => Promise<void>;
}

export interface FillingParts {
  readonly home: Pick<DataHome, 'control' | 'makeInstance' | 'removeInstance'>;
  readonly directory: InstanceDirectory;
  readonly clock: Clock;
}

/** The process that fills an instance says so this often; without it for `abandonedMs`, another may begin again. */
const renewMs = 20_000;
const abandonedMs = 120_000;

/**
 * Makes an instance that nobody finds before it is filled. Where that fails, nothing of it is left; where the process ends meanwhile, the next
 * attempt goes on with it or removes it, or the hourly round does. Throws bad_request for an id, slug or host that is not free, and what `populate` throws.
 */
export async function createFilled(parts: FillingParts, instance: FilledInstance): Promise<InstanceEntry> {
  const { home, directory } = parts;
  const { id, slug, host, created, key } = instance;
  requireSlug(slug);
  requireHost(host);
  requireLabels(instance.labels ?? {});
  if (instance.replaced === undefined && directory.findBySlug(slug) !== undefined) throw takenSlug(slug);
  const reservation = await Reservation.make(parts, instance);
  const { shownId, quotas = {} } = instance;
  const entry: InstanceEntry = { id, shownId, slug, host, created, key, quotas, state: 'active' };
  try {
    if ((await instance.canResume?.()) !== true) {
      if (instance.isNew !== true) {
        await instance.discard(entry);
        await home.removeInstance(id);
      }
      await home.makeInstance(id);
    }
    await instance.populate(entry);
    await reservation.show(instance);
  } catch (error) {
    if (await reservation.giveUp()) {
      await instance.discard(entry);
      await home.removeInstance(id);
      await forgetDue(home.control, id);
      await home.control.write((tx) => deleteRow(tx, id));
    }
    throw error instanceof UniqueViolation ? placeConflict(error, instance) : error;
  } finally {
    reservation.end();
  }
  await directory.refresh();
  const current = directory.find(id);
  if (current === undefined) throw new AppError('not_found', `The instance ${slug} was deleted meanwhile.`);
  return current;
}

/** The row of an instance that this process fills. The time of its state is renewed, and shows whose it is. */
class Reservation {
  readonly #control: Database;
  readonly #clock: Clock;
  readonly #id: string;
  readonly #timer: NodeJS.Timeout;
  #since: Timestamp;
  #renewing: Promise<void> = Promise.resolve();

  private constructor({ home, clock }: FillingParts, id: string, since: Timestamp) {
    this.#control = home.control;
    this.#clock = clock;
    this.#id = id;
    this.#since = since;
    this.#timer = setInterval(() => {
      // Where the database is away, the next one may succeed.
      this.#renewing = this.#renew().catch(() => undefined);
    }, renewMs);
  }

  /** Reserves the id for this process. Throws bad_request. */
  static async make(parts: FillingParts, instance: FilledInstance): Promise<Reservation> {
    const { id } = instance;
    const now = parts.clock.now();
    await parts.home.control.write(async (tx) => {
      const [row] = await readRows(tx, sql`id = ${id}`);
      if (row !== undefined) {
        requireAbandoned(row, now);
        await deleteRow(tx, id, 'filling');
      }
      await insertFilling(tx, instance, toTimestamp(now));
    });
    return new Reservation(parts, id, toTimestamp(now));
  }

  /** Gives the instance its slug and host, or those of the one that it replaces. Throws conflict when another process has begun again. */
  async show({ replaced, alongside }: Pick<FilledInstance, 'replaced' | 'alongside'>): Promise<void> {
    this.end();
    await this.#renewing;
    const now = toTimestamp(this.#clock.now());
    const id = this.#id;
    await this.#control.write(async (tx) => {
      await alongside?.(tx, now);
      if (replaced !== undefined)
        return replaceRow(tx, { id, replaced }, { now, requireFilled: (row) => this.#requireOwn(row) });
      await this.#set(tx, (row) => restoredSet(row, now));
      const [row] = await readRows(tx, sql`id = ${id}`);
      if (row !== undefined) await appendOperatorEvent(tx, createdEvent(row), now);
    });
  }

  /** Lets nobody begin again, so that what is there can be removed. Returns false where another process has begun already. */
  async giveUp(): Promise<boolean> {
    try {
      await this.#change(() => sql`state = ${'removing' satisfies InstanceRow['state']}`);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict') return false;
      throw error;
    }
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #renew(): Promise<void> {
    const since = toTimestamp(this.#clock.now());
    await this.#write(() => sql`state_since = ${since}`);
    this.#since = since;
  }

  async #change(set: (row: InstanceRow) => Sql): Promise<void> {
    await this.#rest();
    await this.#write(set);
  }

  async #rest(): Promise<void> {
    this.end();
    await this.#renewing;
  }

  #write(set: (row: InstanceRow) => Sql): Promise<void> {
    return this.#control.write((tx) => this.#set(tx, set));
  }

  #set(tx: Transaction, set: (row: InstanceRow) => Sql): Promise<void> {
    return changeRow(tx, this.#id, (row) => {
      this.#requireOwn(row);
      return set(row);
    });
  }

  #requireOwn({ state, stateSince }: InstanceRow): void {
    if (state !== 'filling' || stateSince !== this.#since)
      throw new AppError('conflict', 'Another process has taken over this import.');
  }
}

/** Throws bad_request for a row that is not what an import has left that ended. */
function requireAbandoned({ slug, state, stateSince }: InstanceRow, now: number): void {
  if (state === 'active' || state === 'suspended')
    throw new AppError('bad_request', `The instance is still there as ${slug}: its id is not free.`);
  if (state !== 'filling')
    throw new AppError(
      'bad_request',
      `The instance ${slug} was deleted, and its id is not free until it is removed: restore it instead.`,
    );
  if (fromTimestamp(stateSince) + abandonedMs > now)
    throw new AppError(
      'bad_request',
      'An import of this instance is running, or has ended a moment ago: wait two minutes.',
    );
}
