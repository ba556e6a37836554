import type { Clock } from '../base/clock.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { foundByKeys, sql, type Sql } from '../sql/sql.ts';
import type { Database, Names, Reader, Transaction } from '../storage/database.ts';
import { type DeliveryKey, isOneOf, keyText, type PendingDelivery } from './deliveries.ts';
import type { DeliveryStatus } from './delivery.ts';
import { releaseNext } from './record-order.ts';

/**
 * Matches a pending row that is looked up by its key, in a form that no index of pending rows can serve. With statistics taken while
 * nothing was pending, PostgreSQL would rather scan all of such an index than look one key up in the primary key.
 */
export function isPending(status: Sql): Sql {
  return sql`CASE ${status} WHEN 'pending' THEN TRUE ELSE FALSE END`;
}

function oneOf(names: Names, { event, endpoint }: DeliveryKey): Sql {
  return sql`${names.instance.condition} AND event = ${event} AND endpoint = ${endpoint}`;
}

/** The columns that every outcome has, in the order in which they are inserted. */
export const outcomeColumns = sql`event, endpoint, status, attempts, due, is_wide, record, cause, put_off_until, updated`;

/** Inserts the outcome of a delivery that is to be attempted at another time than at once. */
export async function insertPending(
  tx: Transaction,
  { event, endpoint }: DeliveryKey,
  { due, now }: { readonly due: number; readonly now: number },
): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$outcome')} (${names.instance.column}${outcomeColumns})
    VALUES (${names.instance.value}${event}, ${endpoint}, 'pending', 0, ${due}, 0, NULL, '', NULL, ${toTimestamp(now)})`);
}

/**
 * Returns the numbers of the endpoints for which something is due, of deliveries that have an outcome. It goes from endpoint to endpoint by their
 * index, however long their backlogs are.
 */
export async function readDueEndpoints(reader: Reader, now: number): Promise<ReadonlySet<number>> {
  const { names } = reader;
  const pending = sql`FROM ${names.table('$outcome')} WHERE ${names.instance.condition} AND status = 'pending' AND due IS NOT NULL`;
  const rows = await reader.tuples(
    foundByKeys(sql`
      WITH RECURSIVE lane(number) AS (
        SELECT * FROM (SELECT endpoint ${pending} ORDER BY endpoint LIMIT 1) AS first
        UNION ALL
        SELECT (SELECT endpoint ${pending} AND endpoint > lane.number ORDER BY endpoint LIMIT 1) FROM lane WHERE lane.number IS NOT NULL)
      SELECT number FROM lane WHERE number IS NOT NULL
        AND (SELECT due ${pending} AND endpoint = lane.number ORDER BY due LIMIT 1) <= CAST(${now} AS bigint)`),
  );
  return new Set(rows.map(([number]) => Number(number)));
}

/** Returns which of these deliveries are exhausted. */
export async function readExhausted(
  reader: Reader,
  keys: readonly DeliveryKey[],
): Promise<ReadonlySet<string>> {
  const { names } = reader;
  const isAmong = isOneOf(
    names,
    sql`event`,
    keys.map(({ event }) => event),
  );
  // By event alone: PostgreSQL would rather read the index of all exhausted ones.
  const rows = await reader.tuples(
    sql`SELECT event, endpoint, status FROM ${names.table('$outcome')} WHERE ${names.instance.condition} AND ${isAmong}`,
  );
  return new Set(
    rows
      .filter(([, , status]) => status === 'exhausted')
      .map(([event, endpoint]) => keyText({ event: Number(event), endpoint: Number(endpoint) })),
  );
}

/**
 * Postpones a delivery while its attempt is still open, so that its next owner does not send it as well. Cancelled ones are postponed
 * too, as a manual retry may make them pending. A second call changes nothing, and a requested retry is kept.
 * If the attempt was settled meanwhile, the row counts one more attempt and stays as it is. `tx` is of another `Database` than
 * the delivery's, hence `names`.
 */
export async function postpone(
  tx: Transaction,
  { key, state, record }: PendingDelivery,
  { names, until, now, fence }: PostponeOptions,
): Promise<void> {
  const outcome = names.table('$outcome');
  const { event, endpoint } = key;
  await tx.inOrder([
    () =>
      tx.run(sql`
        INSERT INTO ${outcome} (${names.instance.column}${outcomeColumns})
        SELECT ${names.instance.value}CAST(${event} AS bigint), CAST(${endpoint} AS bigint), 'pending', 0, CAST(${until} AS bigint), 0, ${record}, '',
          CAST(${until} AS bigint), ${toTimestamp(now)}
        WHERE ${state.due === undefined ? sql`TRUE` : sql`FALSE`} AND ${fence}
        ON CONFLICT (${names.instance.column}event, endpoint) DO NOTHING`),
    () =>
      tx.run(sql`
        UPDATE ${outcome} SET put_off_until = ${until},
          due = CASE WHEN due IN (${state.due ?? until}, ${until}) THEN CAST(${until} AS bigint) ELSE CAST(${requestedRetryDue(until)} AS bigint) END
        WHERE ${oneOf(names, key)} AND attempts = ${state.attempts} AND ${fence}`),
  ]);
}

export interface PostponeOptions {
  readonly names: Names;
  /** In milliseconds since 1970, like `now`. */
  readonly until: number;
  readonly now: number;
  readonly fence: Sql;
}

/** When a retry is due that is requested while the delivery is postponed: after that time, and distinguishable from it. */
function requestedRetryDue(postponedUntil: number): number {
  return postponedUntil + 1;
}

/** How many deliveries are changed together: a write of records waits for no longer one. */
const changedTogetherMax = 500;

/**
 * Makes deliveries due that failed with the whole endpoint, once it has recovered, some of them in each write. Those that another
 * node may still settle keep their time.
 */
export async function sendWaiting(
  { database, dueClock }: { readonly database: Database; readonly dueClock: Clock },
  endpoint: number,
): Promise<void> {
  let hasMore = true;
  while (hasMore)
    hasMore = await database.write((tx) => makeSomeDue(tx, endpoint, dueClock.now()), { findsByKey: true });
}

/** Makes deliveries due that wait for earlier ones of their record, once their endpoint no longer keeps that order. */
export async function releaseAll(
  { database, dueClock }: { readonly database: Database; readonly dueClock: Clock },
  endpoint: number,
): Promise<void> {
  let changed = changedTogetherMax;
  while (changed === changedTogetherMax)
    changed = await database.write((tx) => releaseSome(tx, endpoint, dueClock.now()), { findsByKey: true });
}

/** Returns how many were released. */
function releaseSome(tx: Transaction, endpoint: number, now: number): Promise<number> {
  const { names } = tx;
  const outcome = names.table('$outcome');
  return tx.run(sql`
    UPDATE ${outcome} SET due = ${now} WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND status = 'pending' AND event IN (
      SELECT event FROM ${outcome} WHERE ${names.instance.condition} AND status = 'pending' AND endpoint = ${endpoint} AND due IS NULL
      ORDER BY event LIMIT CAST(${changedTogetherMax} AS bigint))`);
}

/** Returns whether there may be more. */
async function makeSomeDue(tx: Transaction, endpoint: number, now: number): Promise<boolean> {
  const { names } = tx;
  const outcome = names.table('$outcome');
  const changed = await tx.run(sql`
    UPDATE ${outcome} SET due = ${now} WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND status = 'pending' AND event IN (
      SELECT event FROM ${outcome} WHERE ${names.instance.condition} AND status = 'pending' AND endpoint = ${endpoint} AND due > ${now}
        AND is_wide = 1 AND put_off_until IS NULL
      ORDER BY due LIMIT CAST(${changedTogetherMax} AS bigint))`);
  return changed === changedTogetherMax;
}

export const deletedCause = 'The endpoint was deleted.';

/** Cancels the failed deliveries of an endpoint, some of them in each write: those without an outcome are ended by a gap. */
export async function cancelFailed(
  { database, dueClock }: { readonly database: Database; readonly dueClock: Clock },
  { endpoint, cause }: { readonly endpoint: number; readonly cause: string },
): Promise<void> {
  let hasMore = true;
  while (hasMore)
    hasMore = await database.write((tx) => cancelSome(tx, { endpoint, cause, now: dueClock.now() }), {
      findsByKey: true,
    });
}

/** Returns whether there may be more. */
async function cancelSome(
  tx: Transaction,
  { endpoint, cause, now }: { readonly endpoint: number; readonly cause: string; readonly now: number },
): Promise<boolean> {
  const { names } = tx;
  const outcome = names.table('$outcome');
  const changed = await tx.run(sql`
    UPDATE ${outcome} SET status = 'cancelled', cause = ${cause}, updated = ${toTimestamp(now)}
    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND status = 'pending' AND event IN (
      SELECT event FROM ${outcome} WHERE ${names.instance.condition} AND status = 'pending' AND endpoint = ${endpoint}
      ORDER BY record, event LIMIT CAST(${changedTogetherMax} AS bigint))`);
  return changed === changedTogetherMax;
}

/** Moves a delivery to another status on request; returns false when its status does not allow it. */
export async function moveDelivery(
  tx: Transaction,
  key: DeliveryKey,
  move: {
    readonly from: readonly DeliveryStatus[];
    readonly to: 'pending' | 'cancelled';
    readonly cause: string;
    readonly now: number;
    /** The status that it has without an outcome. */
    readonly without: DeliveryStatus;
    /** The record of the event; see `recordKey`. */
    readonly record: string;
  },
): Promise<boolean> {
  const { names } = tx;
  const { from, to, cause, now, without, record } = move;
  const outcome = names.table('$outcome');
  const updated = toTimestamp(now);
  if (from.includes(without)) {
    const inserted = await tx.run(sql`
      INSERT INTO ${outcome} (${names.instance.column}${outcomeColumns})
      VALUES (${names.instance.value}${key.event}, ${key.endpoint}, ${to}, 0, ${now}, 0, ${record}, ${cause}, NULL, ${updated})
      ON CONFLICT (${names.instance.column}event, endpoint) DO NOTHING`);
    if (inserted === 1) {
      if (to === 'cancelled') await releaseNext(tx, [{ endpoint: key.endpoint, record }], now);
      return true;
    }
  }
  const row = await tx.get(sql`
    SELECT status, due, put_off_until FROM ${outcome} WHERE ${oneOf(names, key)}${names.locks.forUpdate}`);
  if (row === undefined || !from.some((status) => status === row['status'])) return false;
  const postponedUntil = Number(row['put_off_until'] ?? 0);
  const due =
    postponedUntil > now ? requestedRetryDue(postponedUntil) : anotherDue(now, Number(row['due'] ?? 0));
  // One that is over goes alone; one that waits for its batch to be sent again goes with it.
  const batch = sql`CASE status WHEN 'pending' THEN batch END`;
  await tx.run(sql`
    UPDATE ${outcome} SET status = ${to}, due = ${due}, cause = ${cause}, record = ${record}, batch = ${batch}, updated = ${updated}
    WHERE ${oneOf(names, key)}`);
  if (to === 'cancelled') await releaseNext(tx, [{ endpoint: key.endpoint, record }], now);
  return true;
}

/**
 * Returns now, or a slightly earlier time if the delivery was due within the last second: the new time must differ from every
 * earlier one, as an attempt under way recognises the move by it. It goes backwards because two moves may be made in one
 * millisecond; `DueFloor` looks back two seconds, so the delivery is still found.
 */
function anotherDue(now: number, before: number): number {
  return before <= now && before > now - 1_000 ? before - 1 : now;
}
