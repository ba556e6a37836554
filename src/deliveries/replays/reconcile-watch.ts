import { type ConditionSources, conditionSources, ownerOf } from '../../endpoints/endpoint-conditions.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { emitsEvents } from '../../collections/collection.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import { recordEventKinds } from '../../events/event.ts';
import { readLogState, type SafeEnd } from '../../events/log-horizon.ts';
import { readTrimmed } from '../../events/trimmed.ts';
import { foundByKeys, limit, sql } from '../../sql/sql.ts';
import type { Reader, Transaction } from '../../storage/database.ts';
import { readDecisions } from '../decision-cursor.ts';
import { markReconcile, moveMark, readMarks } from '../reconcile-marks.ts';
import { insertReplay } from './replay-store.ts';

/**
 * Begins the reconciles of one instance. It watches the log, up to where it is safe, for changes of records of which others may enter or leave
 * what endpoints with transitions match: those of collections that their filters or the view rules of their owners name, and the owners
 * themselves. Where it stands is stored once a second; a change that is seen twice makes one reconcile too many.
 *
 * A reconcile begins when every transaction that was open at that time is over: one of them may have decided about a record by what another
 * one has changed since. Each instance has a few at a time, and each endpoint is given a rest after one that took long.
 */

/** Events of one step. */
const eventsMax = 2_000;
const runningMax = 4;
/** After a reconcile its endpoint rests four times as long as that took, up to the maximum: it may have been paused meanwhile. */
const restFactor = 4;
const restMsMax = 20_000;
/** How often an endpoint is reconciled whose conditions name the time. */
const everyMs = 60_000;
const storeEveryMs = 1_000;
/** How often it is looked whether open transactions are over, or the log has become safe. */
const pollMs = 50;

export interface WatchContext {
  readonly endpoints: readonly Endpoint[];
  readonly safeEnd: SafeEnd;
  readonly now: number;
  /** The active endpoints that are being reconciled, by their numbers: those of paused ones wait, and take no room. */
  readonly running: ReadonlySet<number>;
}

type WatchInstance = Pick<WebhookInstance, 'database' | 'collections' | 'clock'>;

/** Which endpoints depend on the records of a collection, or on one record, by their texts. */
interface Dependents {
  readonly endpoints: readonly Endpoint[];
  readonly version: number | undefined;
  readonly byCollection: ReadonlyMap<string, ReadonlySet<number>>;
  readonly byOwner: ReadonlyMap<string, ReadonlySet<number>>;
  readonly usingTime: ReadonlySet<number>;
}

/** A transaction id that is higher than that of each transaction that may have decided before these marks. */
interface Barrier {
  readonly xid: bigint;
  readonly endpoints: ReadonlySet<number>;
}

export class ReconcileWatch {
  #cursor: number | undefined;
  #storedCursor = 0;
  #storedAt = 0;
  #hasMore = true;
  /** Whether there were endpoints with transitions at the last step. */
  #hasMirrors = false;
  #marks: ReadonlyMap<number, number> | undefined;
  #dependents: Dependents | undefined;
  #barrier: Barrier | undefined;
  #nextAt: number | undefined;
  /** Whether a reconcile is due for which there was no room. */
  #isFull = false;

  /** When the next step is due, if not by a change. */
  get nextAt(): number | undefined {
    return this.#nextAt;
  }

  /** Whether there are no endpoints with transitions, and nothing is marked. */
  get isIdle(): boolean {
    return !this.#hasMirrors && this.#marks?.size === 0;
  }

  /** Notes that events were committed, or that anything may have changed. */
  note(what: 'log' | 'all'): void {
    this.#hasMore = true;
    if (what === 'all' && this.#hasMirrors) this.#marks = undefined;
  }

  /** Notes that a reconcile is over: another one may wait for its room. */
  noteOver(now: number): void {
    if (this.#isFull) this.#wakeAt(now);
  }

  /** Forgets what another node may have changed. */
  reload(): void {
    this.#hasMore = true;
    this.#marks = undefined;
    this.#cursor = undefined;
    this.#barrier = undefined;
  }

  /** Makes a step. Returns whether a reconcile has begun. */
  async advance(instance: WatchInstance, context: WatchContext): Promise<boolean> {
    const { endpoints } = context;
    this.#nextAt = undefined;
    const mirrors = endpoints.filter(({ transitions }) => transitions);
    this.#hasMirrors = mirrors.length > 0;
    if (this.#hasMirrors) await this.#watch(instance, mirrors, context);
    this.#marks ??= await readMarks(instance.database);
    if (this.#marks.size === 0 || !(await this.#begin(instance, context))) return false;
    this.#marks = undefined;
    return true;
  }

  async #watch(instance: WatchInstance, mirrors: readonly Endpoint[], context: WatchContext): Promise<void> {
    const { safeEnd, now } = context;
    const { database } = instance;
    this.#cursor ??= await this.#restore(instance, context);
    if (this.#cursor === undefined) return;
    const from = this.#cursor;
    if (this.#hasMore) {
      this.#hasMore = false;
      const part = await readPart(database, { from, safe: safeEnd.safePosition });
      const dependents = this.#dependentsOf(instance, mirrors);
      const touched = await readTouched(database, dependents, { from, to: part.end });
      this.#cursor = part.end;
      if (touched.length > 0) await this.#mark(instance, touched, now);
      if (part.isUnsafe) safeEnd.hurry();
      if (part.hasMore) {
        this.#hasMore = true;
        this.#wakeAt(part.isUnsafe ? now + pollMs : now);
      }
    }
    if (this.#cursor === this.#storedCursor) return;
    if (Math.abs(now - this.#storedAt) < storeEveryMs) return this.#wakeAt(this.#storedAt + storeEveryMs);
    await database.write((tx) => storeCursor(tx, this.#cursor ?? 0));
    this.#storedCursor = this.#cursor ?? 0;
    this.#storedAt = now;
  }

  /** Returns where the log was watched last; undefined while it is unknown what is safe. What was trimmed behind that may have had anything in it. */
  async #restore({ database }: WatchInstance, { safeEnd, now }: WatchContext): Promise<number | undefined> {
    const stored = await readCursor(database);
    this.#storedCursor = stored ?? -1;
    const { position: trimmed } = await readTrimmed(database);
    const end = Math.max(await readEnd(database), trimmed);
    if (stored !== undefined && stored >= trimmed && stored <= end) return stored;
    // The process has just begun.
    if (safeEnd.safePosition === 0 && end > 0) {
      safeEnd.hurry();
      this.#wakeAt(now + pollMs);
      return undefined;
    }
    if (stored !== undefined) {
      await database.write((tx) => markReconcile(tx, { now }));
      this.#marks = undefined;
    }
    return Math.min(end, safeEnd.safePosition);
  }

  async #mark({ database }: WatchInstance, endpoints: readonly number[], now: number): Promise<void> {
    const cursor = this.#cursor ?? 0;
    await database.write(async (tx) => {
      await markReconcile(tx, { endpoints, now });
      await storeCursor(tx, cursor);
    });
    this.#storedCursor = cursor;
    this.#marks = undefined;
  }

  /** Begins the reconciles that are due. Returns whether there are any. */
  async #begin(instance: WatchInstance, context: WatchContext): Promise<boolean> {
    const { database } = instance;
    const { endpoints, running, now } = context;
    const active = new Map(endpoints.flatMap((one) => (one.status === 'active' ? [[one.number, one]] : [])));
    const rests = await readRests(database);
    const room = runningMax - running.size;
    const due: Endpoint[] = [];
    for (const [number, mark] of this.#marks ?? []) {
      const endpoint = active.get(number);
      if (endpoint === undefined || running.has(number)) continue;
      const at = Math.max(mark, rests.get(number) ?? 0);
      if (at > now) this.#wakeAt(at);
      else due.push(endpoint);
    }
    this.#isFull = due.length > room;
    const first = due.slice(0, Math.max(0, room));
    const open = first.length === 0 ? [] : await this.#withoutOpen(database, first, now);
    if (open.length === 0) return false;
    const usingTime = this.#dependents?.usingTime ?? new Set();
    await database.write((tx) => begin(tx, open, { now, usingTime }));
    return true;
  }

  /** Returns those of these endpoints before whose marks every open transaction has begun and ended. */
  async #withoutOpen(database: Reader, due: readonly Endpoint[], now: number): Promise<readonly Endpoint[]> {
    if (!database.names.isConcurrent) return due;
    const state = await readLogState(database, { needsId: this.#barrier === undefined });
    if (this.#barrier === undefined && state.xid !== undefined)
      this.#barrier = { xid: state.xid, endpoints: new Set(due.map(({ number }) => number)) };
    const isOver = this.#barrier !== undefined && state.xmin > this.#barrier.xid;
    if (!isOver) {
      this.#wakeAt(now + pollMs);
      return [];
    }
    const { endpoints } = this.#barrier ?? { endpoints: new Set() };
    this.#barrier = undefined;
    // Others came later, and get a barrier of their own.
    const [before, later] = [true, false].map((isBefore) =>
      due.filter(({ number }) => endpoints.has(number) === isBefore),
    );
    if ((later ?? []).length > 0) this.#wakeAt(now);
    return before ?? [];
  }

  #dependentsOf({ database, collections, clock }: WatchInstance, mirrors: readonly Endpoint[]): Dependents {
    const { version } = collections;
    const isSame =
      this.#dependents?.version === version &&
      this.#dependents.endpoints.length === mirrors.length &&
      this.#dependents.endpoints.every((one, index) => one === mirrors[index]);
    if (this.#dependents !== undefined && isSame) return this.#dependents;
    const byCollection = new Map<string, Set<number>>();
    const byOwner = new Map<string, Set<number>>();
    const usingTime = new Set<number>();
    const context = { collections, names: database.names, now: clock.now(), isStored: true };
    for (const endpoint of mirrors) {
      const { number, owner, collections: only } = endpoint;
      if (owner !== '') add(byOwner, owner, number);
      const subscribed = collections
        .all()
        .filter((one) => emitsEvents(one) && (only.length === 0 || only.includes(one.id)));
      for (const collection of subscribed) {
        const sources: ConditionSources = conditionSources(endpoint, collection, context);
        for (const id of sources.collections) add(byCollection, id, number);
        if (sources.usesTime) usingTime.add(number);
      }
    }
    return (this.#dependents = { endpoints: mirrors, version, byCollection, byOwner, usingTime });
  }

  #wakeAt(at: number): void {
    this.#nextAt = Math.min(this.#nextAt ?? at, at);
  }
}

function add(map: Map<string, Set<number>>, key: string, number: number): void {
  const numbers = map.get(key);
  if (numbers === undefined) map.set(key, new Set([number]));
  else numbers.add(number);
}

/** The name of the setting that holds where the log is watched. */
const cursorName = 'watched';

async function readCursor(reader: Reader): Promise<number | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = ${cursorName}`,
  );
  return row && Number(row[0]);
}

async function storeCursor(tx: Transaction, cursor: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value)
    VALUES (${names.instance.value}${cursorName}, ${String(cursor)})
    ON CONFLICT (${names.instance.column}name) DO UPDATE SET value = excluded.value`);
}

async function readEnd(reader: Reader): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(
    foundByKeys(sql`SELECT max(position) FROM ${names.table('$event')} WHERE ${names.instance.condition}`),
  );
  return Number(row?.[0] ?? 0);
}

interface LogPart {
  readonly end: number;
  readonly hasMore: boolean;
  /** Whether what follows is not safe yet. */
  readonly isUnsafe: boolean;
}

/** Returns up to where the next events go that are watched together. */
async function readPart(
  reader: Reader,
  { from, safe }: { readonly from: number; readonly safe: number },
): Promise<LogPart> {
  const { names } = reader;
  const [row] = await reader.tuples(
    foundByKeys(sql`
      SELECT max(CASE WHEN position <= ${safe} THEN position END), max(position), count(*) FROM (
        SELECT position FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position > ${from}
        ORDER BY position${limit(eventsMax)}) AS next`),
  );
  const [end, last, count] = row ?? [];
  const isUnsafe = Number(last ?? 0) > Number(end ?? 0);
  return { end: Number(end ?? from), hasMore: isUnsafe || Number(count) === eventsMax, isUnsafe };
}

/** Returns the numbers of the endpoints that depend on a change in a part of the log. */
async function readTouched(
  reader: Reader,
  { byCollection, byOwner }: Dependents,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly number[]> {
  if (to <= from || (byCollection.size === 0 && byOwner.size === 0)) return [];
  const { names } = reader;
  const owners = [...byOwner.keys()].map((owner) => ownerOf(owner).id);
  const owner = sql`CASE WHEN record${names.anyOf(owners)} THEN record ELSE '' END`;
  const rows = await reader.tuples(
    foundByKeys(sql`
      SELECT DISTINCT collection, ${owner} FROM ${names.table('$event')}
      WHERE ${names.instance.condition} AND position > ${from} AND position <= ${to} AND kind${names.anyOf(recordEventKinds)}`),
  );
  const touched = rows.flatMap(([collection, record]) => [
    ...(byCollection.get(String(collection)) ?? []),
    ...(byOwner.get(`${String(collection)}/${String(record)}`) ?? []),
  ]);
  return [...new Set(touched)];
}

/** Returns until when endpoints rest after their last reconciles, in milliseconds since 1970, by their numbers. */
async function readRests(reader: Reader): Promise<ReadonlyMap<number, number>> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT endpoint, created, updated FROM ${names.table('$replay')}
    WHERE ${names.instance.condition} AND scope = 'reconcile' AND state <> 'running'`);
  return new Map(
    rows.map(([endpoint, created, updated]) => {
      const [begin, end] = [fromTimestamp(String(created)), fromTimestamp(String(updated))];
      const restMs = Math.min(restMsMax, restFactor * Math.max(0, end - begin));
      return [Number(endpoint), end + restMs];
    }),
  );
}

/** Begins reconciles. Decisions for accounts that were begun before are made again: see `isUnchanged` of accounts/decide-step.ts. */
async function begin(
  tx: Transaction,
  endpoints: readonly Endpoint[],
  { now, usingTime }: { readonly now: number; readonly usingTime: ReadonlySet<number> },
): Promise<void> {
  const { names } = tx;
  await readDecisions(tx, names.locks.forUpdate);
  const marks = await readMarks(tx);
  for (const endpoint of endpoints) {
    const { number } = endpoint;
    if ((marks.get(number) ?? now + 1) > now) continue;
    // Only the last one is kept.
    await tx.run(sql`
      DELETE FROM ${names.table('$replay')} WHERE ${names.instance.condition} AND endpoint = ${number} AND scope = 'reconcile' AND state <> 'running'`);
    const range = { first: 1, last: 0, isDescending: false, rate: 0, filter: '' };
    await insertReplay(tx, { endpoint, scope: 'reconcile', ...range }, { total: 0, now });
    await moveMark(tx, number, usingTime.has(number) ? now + everyMs : null);
  }
}
