import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { Poller } from '../base/poller.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { DataHome } from '../storage/data-home.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import {
  appendOperatorEvent,
  changeEvents,
  createdEvent,
  eventOf,
  type NewOperatorEvent,
} from './operator-events.ts';
import { InstanceIndex, type LifeListener, type QuotaListener, type StoredQuotas } from './instance-index.ts';
import {
  changeRow,
  countServed,
  deleteJobRows,
  deletedSet,
  deleteRow,
  type InstanceEntry,
  type InstanceRow,
  insertRow,
  isServed,
  type Labels,
  readRows,
  readVersion,
  replacingSet,
  restoredSet,
  servedStates,
  type StoredInstance,
  unknownInstance,
} from './instance-rows.ts';
import { placeConflict, requireHost, requireLabels, requireSlug } from './require-slug.ts';
import { type Quotas, requireQuotas } from './quotas.ts';

/** The instance that exists from the start. */
export const defaultSlug = 'default';

/** How soon a process sees what another has changed. */
const refreshIntervalMs = 250;

/** What else is written in the transaction of a change. */
export type Alongside = (tx: Transaction) => Promise<void>;

/** The members of an instance that the operator changes; those that are left out stay. */
export interface InstanceChange {
  readonly slug?: string | undefined;
  readonly host?: string | null | undefined;
  readonly labels?: Labels | undefined;
  readonly quotas?: Quotas | undefined;
}

/**
 * All instances that are not deleted, in memory. Kept in step with control.db, which other processes change meanwhile: by the rows that have
 * changed, of which each has the number of its last change.
 */
export class InstanceDirectory {
  /** How many instances this version has not opened yet, and therefore not upgraded. Known where they are visited (instance-visits.ts). */
  upgradesLeft = 0;
  readonly #database: Database;
  readonly #home: DataHome;
  readonly #clock: Clock;
  #version = '';
  readonly #index = new InstanceIndex();
  #refreshing: Promise<void> = Promise.resolve();
  /** Instances that this process is creating: nothing can be due in them yet. */
  readonly #creating = new Set<string>();
  #watch: Poller | undefined;

  private constructor(home: DataHome, clock: Clock) {
    this.#database = home.control;
    this.#home = home;
    this.#clock = clock;
  }

  /** Reads the directory; makes the default instance when there is none. */
  static async open(home: DataHome, clock: Clock): Promise<InstanceDirectory> {
    const directory = new InstanceDirectory(home, clock);
    await directory.refresh();
    if (directory.findBySlug(defaultSlug) === undefined) await directory.#createDefault();
    return directory;
  }

  async #createDefault(): Promise<void> {
    try {
      await this.create(defaultSlug, null);
    } catch (error) {
      // Another process that opens the same new directory may have been first.
      await this.refresh();
      if (this.findBySlug(defaultSlug) === undefined) throw error;
    }
  }

  find(id: string): InstanceEntry | undefined {
    return this.#index.find(id);
  }

  findShown(shownId: string): InstanceEntry | undefined {
    return this.#index.findShown(shownId);
  }

  findBySlug(slug: string): InstanceEntry | undefined {
    return this.#index.findBySlug(slug);
  }

  findByHost(host: string): InstanceEntry | undefined {
    return this.#index.findByHost(host);
  }

  quotasOf(id: string): StoredQuotas {
    return this.#index.quotasOf(id);
  }

  /** Whether an instance is neither suspended nor deleted: what is due in it is done only then. */
  isActive(id: string): boolean {
    return this.find(id)?.state === 'active';
  }

  /** All instances that are not deleted, in the order of their creation. */
  all(): readonly InstanceEntry[] {
    return this.#index.all();
  }

  /** Reads all instances of any state, in the order of their creation. */
  async list(): Promise<readonly InstanceRow[]> {
    return (await readRows(this.#database, sql`TRUE`)).toSorted(
      (one, other) => one.position - other.position,
    );
  }

  /** Throws bad_request for a slug or host that is malformed or taken. */
  async create(slug: string, host: string | null): Promise<InstanceEntry> {
    requireSlug(slug);
    requireHost(host);
    const created = toTimestamp(this.#clock.now());
    const id = newId();
    const entry: InstanceEntry = {
      id,
      shownId: id,
      slug,
      host,
      created,
      state: 'active',
      quotas: {},
      key: '',
    };
    // The file comes before the row: a crash between them leaves an unknown file, and never a row without a file.
    const discard = await this.#home.makeInstance(entry.id);
    this.#creating.add(entry.id);
    try {
      await this.#database.write(async (tx) => {
        await insertRow(tx, entry);
        await appendOperatorEvent(tx, createdEvent(entry), created);
      });
      await this.refresh();
    } catch (error) {
      // After any other error the row may have been stored, so the file has to stay.
      if (!(error instanceof UniqueViolation)) throw error;
      await discard();
      throw placeConflict(error, entry);
    } finally {
      this.#creating.delete(entry.id);
    }
    return entry;
  }

  /** Gives an instance another slug. Throws bad_request, not_found. */
  rename(id: string, slug: string): Promise<void> {
    return this.change(id, { slug });
  }

  /** Binds an instance to a host, or to none. Throws bad_request, not_found. */
  setHost(id: string, host: string | null): Promise<void> {
    return this.change(id, { host });
  }

  /** Replaces the labels of an instance, which the operator's programs read. Throws bad_request, not_found. */
  setLabels(id: string, labels: Labels): Promise<void> {
    return this.change(id, { labels });
  }

  /** Changes several members together. Throws bad_request, not_found. */
  async change(id: string, change: InstanceChange, alongside?: Alongside): Promise<void> {
    const { slug, host, labels, quotas } = change;
    if (slug !== undefined) requireSlug(slug);
    if (host !== undefined) requireHost(host);
    if (labels !== undefined) requireLabels(labels);
    if (quotas !== undefined) requireQuotas(quotas);
    const changed = (row: InstanceRow): InstanceRow => {
      if (slug !== undefined && slug !== row.slug) requireNotDefault(row, 'renamed');
      return {
        ...row,
        slug: slug ?? row.slug,
        host: host === undefined ? row.host : host,
        labels: labels ?? row.labels,
        quotas: quotas ?? row.quotas,
      };
    };
    await this.#changeServed(id, changed, alongside);
  }

  /** Replaces the quotas of an instance. Throws bad_request, not_found. */
  setQuotas(id: string, quotas: Quotas): Promise<void> {
    return this.change(id, { quotas });
  }

  /** Refuses every request to an instance, and has its webhooks wait, until it is resumed. Throws not_found. */
  suspend(id: string, alongside?: Alongside): Promise<void> {
    return this.#changeServed(id, (row) => ({ ...row, state: 'suspended' }), alongside);
  }

  /** Throws not_found. */
  resume(id: string, alongside?: Alongside): Promise<void> {
    return this.#changeServed(id, (row) => ({ ...row, state: 'active' }), alongside);
  }

  /** Deletes an instance, which can be restored until it is removed. Its slug and host are free at once. Throws bad_request, not_found. */
  async delete(id: string, alongside?: Alongside): Promise<void> {
    const decide: Decide = (row, now) => {
      requireServed(row);
      requireNotDefault(row, 'deleted');
      return { set: deletedSet(row, now), place: row, events: [eventOf('instance.deleted', row)] };
    };
    await this.#changeRow(id, decide, alongside);
  }

  /** Restores a deleted instance as it was. Throws bad_request when its slug or host is taken, or it is too late; not_found. */
  async restore(id: string, alongside?: Alongside): Promise<void> {
    const decide: Decide = (row, now) => {
      if (isServed(row.state)) throw new AppError('bad_request', `The instance ${row.slug} is not deleted.`);
      if (row.state !== 'deleted')
        throw new AppError('bad_request', `The instance ${row.slug} is being removed: it is too late.`);
      return { set: restoredSet(row, now), place: row, events: [eventOf('instance.restored', row)] };
    };
    await this.#changeRow(id, decide, alongside);
  }

  /** Has every request to an instance come again, until createFilled or `endReplacing` is called. Throws bad_request, not_found. */
  async beginReplacing(id: string, alongside?: Alongside): Promise<void> {
    const decide: Decide = (row, now) => {
      requireServed(row);
      if (row.state === 'suspended')
        throw new AppError('bad_request', `The instance ${row.slug} is suspended: resume it first.`);
      return { set: replacingSet(row, now), place: row, events: [] };
    };
    await this.#changeRow(id, decide, alongside);
  }

  /** Serves an instance again that was not replaced after all. */
  async endReplacing(id: string): Promise<void> {
    await this.#changeRow(id, (row, now) =>
      row.state === 'replacing' ? { set: restoredSet(row, now), place: row, events: [] } : undefined,
    );
  }

  /** Notes how far the removal of a deleted instance is. Returns whether it is in the state `to` now: it may have been restored. */
  async advanceRemoval(
    id: string,
    from: 'deleted' | 'emptying' | 'filling',
    to: 'emptying' | 'removing',
  ): Promise<boolean> {
    let isMoved = false;
    await this.#changeRow(id, (row, now) => {
      isMoved = row.state === from || row.state === to;
      const set = sql`state = ${to}, state_since = ${now}`;
      return row.state === from ? { set, place: row, events: [] } : undefined;
    });
    return isMoved;
  }

  /** Forgets an instance whose data is removed. */
  async forget({ id, shownId, slug, state }: StoredInstance): Promise<void> {
    await this.#database.write(async (tx) => {
      await deleteRow(tx, id);
      // Nobody has known one that was never filled.
      if (state === 'filling') return;
      await deleteJobRows(tx, shownId);
      const event = eventOf('instance.removed', { shownId, slug });
      await appendOperatorEvent(tx, event, toTimestamp(this.#clock.now()));
    });
  }

  async #changeServed(
    id: string,
    change: (row: InstanceRow) => InstanceRow,
    alongside: Alongside | undefined,
  ): Promise<void> {
    const decide: Decide = (row, now) => {
      requireServed(row);
      const changed = change(row);
      const { slug, host, state, labels, quotas } = changed;
      const since = state === row.state ? row.stateSince : now;
      const set = sql`slug = ${slug}, host = ${host}, state = ${state}, state_since = ${since},
        labels = ${JSON.stringify(labels)}, quotas = ${JSON.stringify(quotas)}`;
      return { set, place: { slug, host }, events: changeEvents(row, changed) };
    };
    await this.#changeRow(id, decide, alongside);
  }

  async #changeRow(id: string, decide: Decide, alongside?: Alongside): Promise<void> {
    const now = toTimestamp(this.#clock.now());
    let place: RowChange['place'] | undefined;
    try {
      await this.#database.write(async (tx) => {
        let events: RowChange['events'] = [];
        await changeRow(tx, id, (row) => {
          const change = decide(row, now);
          place = change?.place;
          events = change?.events ?? [];
          return change?.set;
        });
        for (const event of events) await appendOperatorEvent(tx, event, now);
        await alongside?.(tx);
      });
    } catch (error) {
      if (error instanceof UniqueViolation && place !== undefined) throw placeConflict(error, place);
      throw error;
    }
    await this.refresh();
  }

  /** Reads what has changed since the last time. */
  refresh(): Promise<void> {
    const read = (): Promise<void> => this.#read();
    this.#refreshing = this.#refreshing.then(read, read);
    return this.#refreshing;
  }

  async #read(): Promise<void> {
    const version = await readVersion(this.#database);
    if (version === this.#version) return;
    if (this.#version === '') await this.#readAll();
    else {
      const rows = await readRows(
        this.#database,
        sql`change > ${this.#index.change} OR position > ${this.#index.position}`,
      );
      for (const row of rows) this.#apply(row);
      // An older version does not number its rows, and on PostgreSQL positions may be committed in another order.
      if (this.#index.size !== (await countServed(this.#database))) await this.#readAll();
    }
    this.#version = version;
  }

  async #readAll(): Promise<void> {
    const rows = await readRows(this.#database, sql`state${this.#database.names.anyOf(servedStates)}`);
    this.#index.keepOnly(new Set(rows.map(({ id }) => id)));
    for (const row of rows) this.#apply(row);
  }

  #apply(row: InstanceRow): void {
    // Of one that another process has created, wake-ups may have come before its row was read: they were of no use then.
    this.#index.apply(row, { isSilent: this.#creating.has(row.id) });
  }

  /** Sets what is called when the quotas of an instance change. */
  onQuotas(listener: QuotaListener): void {
    this.#index.onQuotas = listener;
  }

  /** Calls a listener from now on. */
  onLife(listener: LifeListener): void {
    this.#index.lifeListeners.push(listener);
  }

  /** Begins to look for changes by other processes. */
  watch(onError: (error: unknown) => void): void {
    this.#watch = new Poller({ intervalMs: refreshIntervalMs, poll: () => this.refresh(), onError });
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }
}

/** What follows SET in a change of a row, where the instance is to be found then, and what the operator's programs are told. */
interface RowChange {
  readonly set: Sql;
  readonly place: Pick<StoredInstance, 'slug' | 'host'>;
  readonly events: readonly NewOperatorEvent[];
}

type Decide = (row: InstanceRow, now: Timestamp) => RowChange | undefined;

function requireServed({ id, slug, state }: InstanceRow): void {
  if (!isServed(state)) throw unknownInstance(id);
  if (state === 'replacing')
    throw new AppError('conflict', `A backup is taking the place of the instance ${slug}: try again.`);
}

function requireNotDefault({ slug }: InstanceRow, what: string): void {
  if (slug === defaultSlug)
    throw new AppError('bad_request', `The instance ${defaultSlug} cannot be ${what}.`);
}
