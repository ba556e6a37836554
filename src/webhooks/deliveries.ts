import type { Clock } from '../base/clock.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import type { Event } from '../events/event.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type {
  Database,
  DependentRows,
  InlineColumn,
  Names,
  Reader,
  Transaction,
  Tuple,
} from '../storage/database.ts';
import { type DeliveryState, type DeliveryStatus, newDelivery } from './delivery.ts';
import { type WarningSource, warnOfEndpoint } from './endpoint-warnings.ts';
import type { EndpointStore } from './endpoints/endpoint-store.ts';
import { type Endpoint, wants } from './endpoints/endpoint.ts';
import type { DueDelivery } from './slots.ts';

/** A pending delivery with all of its event that an attempt needs. */
export interface PendingDelivery {
  readonly id: string;
  readonly state: DeliveryState;
  readonly endpointId: string;
  /** When the endpoint was last changed; empty when it is gone. */
  readonly endpointUpdated: string;
  readonly eventId: string;
  readonly kind: string;
  readonly collectionName: string;
  readonly revision: number;
  readonly body: Uint8Array;
}

/** The id begins with the event's, so that an event's deliveries are one range of the primary key; there is one per endpoint. */
export function deliveryId(eventId: string, endpointId: string): string {
  return `${eventId}-${endpointId}`;
}

/** An endpoint that is told of a run of neighbours among the inserted events: the places of the first and the last of them. */
interface ToldEndpoint {
  readonly endpoint: string;
  readonly first: number;
  readonly last: number;
  readonly state: DeliveryState;
}

/** One delivery for each event and each endpoint told of it. Of an event, `inserted` has `position`, `id` and `created`. */
function deliveryRows(names: Names, told: readonly ToldEndpoint[]): DependentRows {
  const runs = told.map(({ endpoint, first, last, state }) => {
    const { status, attempts, due, cause } = state;
    return { first, last, values: [endpoint, status, attempts, due, cause] };
  });
  const row = sql`${names.scopeValue}inserted.id || '-' || given.endpoint, inserted.position, ${given}, inserted.created, inserted.created`;
  return { into: sql`INSERT INTO ${deliveryColumns(names)}`, row, columns: givenColumns, runs };
}

const givenColumns: readonly InlineColumn[] = [
  ['endpoint', 'text'],
  ['status', 'text'],
  ['attempts', 'number'],
  ['due', 'number'],
  ['cause', 'text'],
];

const given = sql`given.endpoint, given.status, given.attempts, given.due, given.cause`;

/** Inserts a delivery of the event that this transaction appended last; the transaction must not be a shared one. */
export function insertDelivery(
  names: Names,
  { id, created }: Pick<Event, 'id' | 'created'>,
  { endpoint, state }: Pick<ToldEndpoint, 'endpoint' | 'state'>,
): Sql {
  const { status, attempts, due, cause } = state;
  return sql`
    INSERT INTO ${deliveryColumns(names)}
    VALUES (${names.scopeValue}${deliveryId(id, endpoint)}, ${names.lastPosition}, ${endpoint}, ${status}, ${attempts}, ${due}, ${cause}, ${created}, ${created})`;
}

function deliveryColumns(names: Names): Sql {
  return sql`${names.table('$delivery')} (${names.scopeColumn}id, event, endpoint, status, attempts, due, cause, created, updated)`;
}

export interface DueDeliveries {
  /** The longest due first, then in the order of their events. */
  readonly due: readonly DueDelivery[];
  /** When the first of them was due. */
  readonly firstDue: number | undefined;
  /** When the first pending one that is not due yet will be, in milliseconds since 1970. */
  readonly nextDue: number | undefined;
}

/**
 * Reads an endpoint's deliveries that are due, none due before `since`, and when its next one will be: one statement, as each
 * wake-up needs both.
 */
export async function readDue(
  reader: Reader,
  endpoint: string,
  options: { readonly now: number; readonly limit: number; readonly since?: number },
): Promise<DueDeliveries> {
  const { now, limit: count, since = 0 } = options;
  const pending = sql`FROM ${reader.names.table('$delivery')} WHERE ${reader.names.scope} AND status = 'pending' AND endpoint = ${endpoint}`;
  // A parameter, as the count differs from read to read: `limit` writes it into the text, which would then be new each time.
  const rows = await reader.tuples(sql`
    SELECT * FROM (SELECT id, due, attempts ${pending} AND due >= ${since} AND due <= ${now} ORDER BY due, event LIMIT CAST(${count} AS bigint)) AS now_due
    UNION ALL SELECT CAST(NULL AS TEXT), min(due) AS next_due, 0 ${pending} AND due > ${now}`);
  const nextDue = rows.at(-1)?.[1];
  const firstDue = rows.length > 1 ? rows[0]?.[1] : undefined;
  return {
    due: rows.slice(0, -1).map(([id, , attempts]) => ({ id: String(id), isRetry: Number(attempts) > 0 })),
    firstDue: typeof firstDue === 'number' ? firstDue : undefined,
    nextDue: typeof nextDue === 'number' ? nextDue : undefined,
  };
}

/** Returns when the oldest pending delivery of any endpoint was made; undefined when nothing is pending. */
export async function readOldestPending(reader: Reader): Promise<Timestamp | undefined> {
  const row = await reader.get(sql`
    SELECT min(created) AS created FROM ${reader.names.table('$delivery')} WHERE ${reader.names.scope} AND status = 'pending'`);
  const created = row?.['created'];
  return typeof created === 'string' ? created : undefined;
}

/** More are not counted, so that a day on which everything fails makes no request slow. */
export const exhaustedCountMax = 1_000;

/** Returns how many deliveries were exhausted since a time, and are so still: at most `exhaustedCountMax`. */
export async function countExhausted(reader: Reader, since: Timestamp): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT count(*) FROM (
      SELECT id FROM ${names.table('$delivery')} WHERE ${names.scope} AND status = 'exhausted' AND updated > ${since}
      LIMIT CAST(${exhaustedCountMax} AS bigint)) AS exhausted`);
  return Number(row?.[0]);
}

/** Returns which of these deliveries are exhausted. */
export async function readExhausted(reader: Reader, ids: readonly string[]): Promise<ReadonlySet<string>> {
  // By id alone: PostgreSQL would rather read the index of all exhausted ones.
  const rows = await reader.tuples(sql`
    SELECT id, status FROM ${reader.names.table('$delivery')} WHERE ${reader.names.scope} AND id${reader.names.anyOf(ids)}`);
  return new Set(rows.filter(([, status]) => status === 'exhausted').map(([id]) => String(id)));
}

/** Larger bodies are read one at a time: 256 of the largest at once would take 64 MiB. */
const bodyTogetherMax = 16 * 1024;

/** Reads deliveries that are still pending, with their events, in no order; those settled or cancelled meanwhile are missing. */
export async function readPendings(reader: Reader, ids: readonly string[]): Promise<PendingDelivery[]> {
  const body = sql`CASE WHEN length(e.body) <= ${bodyTogetherMax} THEN e.body END`;
  const rows = await reader.tuples(
    sql`SELECT ${pendingColumns(reader.names)}, ${body} ${pendingOf(reader.names)} AND d.id${reader.names.anyOf(ids)}`,
  );
  const together = rows.filter((row) => row.at(-1) !== null).map(toPending);
  for (const [id, ...rest] of rows) {
    if (rest.at(-1) !== null) continue;
    const pending = await readPending(reader, String(id));
    if (pending !== undefined) together.push(pending);
  }
  return together;
}

/** Reads one pending delivery, however large its body is. */
export async function readPending(reader: Reader, id: string): Promise<PendingDelivery | undefined> {
  const [row] = await reader.tuples(
    sql`SELECT ${pendingColumns(reader.names)}, e.body ${pendingOf(reader.names)} AND d.id = ${id}`,
  );
  return row && toPending(row);
}

function pendingColumns(names: Names): Sql {
  const updated = sql`(SELECT p.updated FROM ${names.table('$endpoint')} p WHERE ${names.scopeOf('p')} AND p.id = d.endpoint)`;
  return sql`d.id, d.attempts, d.due, d.cause, d.endpoint, ${updated}, e.id, e.kind, e.collection_name, e.revision`;
}

function pendingOf(names: Names): Sql {
  const events = sql`${names.table('$event')} e ON ${names.scopeOf('e')} AND e.position = d.event`;
  return sql`FROM ${names.table('$delivery')} d JOIN ${events} WHERE ${names.scopeOf('d')} AND ${isPending(sql`d.status`)}`;
}

/**
 * Matches a pending row that is looked up by id, in a form that no index of pending deliveries can serve. With statistics taken
 * while nothing was pending, PostgreSQL would rather scan all of such an index than look one id up in the primary key.
 */
export function isPending(status: Sql): Sql {
  return sql`CASE ${status} WHEN 'pending' THEN TRUE ELSE FALSE END`;
}

function toPending(row: Tuple): PendingDelivery {
  const [id, attempts, due, cause, endpoint, updated, eventId, kind, collectionName, revision, body] = row;
  return {
    id: String(id),
    state: { status: 'pending', attempts: Number(attempts), due: Number(due), cause: String(cause) },
    endpointId: String(endpoint),
    endpointUpdated: typeof updated === 'string' ? updated : '',
    eventId: String(eventId),
    kind: String(kind),
    collectionName: String(collectionName),
    revision: Number(revision),
    // The column is a BLOB and never null.
    body: body as Uint8Array,
  };
}

/**
 * Puts a delivery off while its attempt is still open, so that its next owner does not send it as well. Cancelled ones are put off
 * too, as a retry by hand may make them pending. A second call changes nothing, and a retry that was asked for is kept.
 * If the attempt was settled meanwhile, the row counts one more attempt and stays as it is. `tx` is of another `Database` than
 * the delivery's, hence `names`.
 */
export async function putOff(
  tx: Transaction,
  { id, state }: PendingDelivery,
  { names, until, fence }: { readonly names: Names; readonly until: number; readonly fence: Sql },
): Promise<void> {
  await tx.run(sql`
    UPDATE ${names.table('$delivery')} SET put_off_until = ${until},
      due = CASE WHEN due IN (${state.due}, ${until}) THEN CAST(${until} AS bigint) ELSE CAST(${askedAgainDue(until)} AS bigint) END
    WHERE ${names.scope} AND id = ${id} AND attempts = ${state.attempts} AND ${fence}`);
}

/** When a retry is due that is asked for while the delivery is put off: after that time, and distinguishable from it. */
function askedAgainDue(putOffUntil: number): number {
  return putOffUntil + 1;
}

/** How many deliveries are made due together: a write of records waits for no longer one. */
const dueTogetherMax = 500;

/**
 * Makes those deliveries due that failed because the whole endpoint did, as it is back, in writes of some of them. Those that another
 * node may still settle keep their time.
 */
export async function sendWaiting(
  { database, dueClock }: { readonly database: Database; readonly dueClock: Clock },
  endpoint: string,
): Promise<void> {
  let hasMore = true;
  while (hasMore) hasMore = await database.write((tx) => makeSomeDue(tx, endpoint, dueClock.now()));
}

/** Returns whether there may be more. */
async function makeSomeDue(tx: Transaction, endpoint: string, now: number): Promise<boolean> {
  const { names } = tx;
  const delivery = names.table('$delivery');
  const changed = await tx.run(sql`
    UPDATE ${delivery} SET due = ${now} WHERE ${names.scope} AND status = 'pending' AND id IN (
      SELECT id FROM ${delivery} WHERE ${names.scope} AND status = 'pending' AND endpoint = ${endpoint} AND due > ${now}
        AND is_wide = 1 AND put_off_until IS NULL
      ORDER BY due LIMIT CAST(${dueTogetherMax} AS bigint))`);
  return changed === dueTogetherMax;
}

/** Moves a delivery to another status by hand; returns false when there is none in a status that allows it. */
export async function moveDelivery(
  tx: Transaction,
  id: string,
  move: {
    readonly from: readonly DeliveryStatus[];
    readonly to: DeliveryState['status'];
    readonly cause: string;
    readonly now: number;
  },
): Promise<boolean> {
  const row = await tx.get(sql`
    SELECT status, due, put_off_until FROM ${tx.names.table('$delivery')} WHERE ${tx.names.scope} AND id = ${id}${tx.names.forUpdate}`);
  if (row === undefined || !move.from.some((status) => status === row['status'])) return false;
  const putOffUntil = Number(row['put_off_until'] ?? 0);
  const due = putOffUntil > move.now ? askedAgainDue(putOffUntil) : anotherDue(move.now, Number(row['due']));
  await tx.run(sql`
    UPDATE ${tx.names.table('$delivery')} SET status = ${move.to}, due = ${due}, cause = ${move.cause}, updated = ${toTimestamp(move.now)}
    WHERE ${tx.names.scope} AND id = ${id}`);
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

export interface FanOutParts {
  readonly endpoints: EndpointStore;
  readonly clock: Clock;
  /** The instance, when the operator is warned of an event that is not sent. */
  readonly instance: WarningSource;
}

/** The event log's listener: makes one delivery for each endpoint that wants an event, in the transaction of the record. */
export async function fanOut(
  tx: Transaction,
  events: readonly Event[],
  parts: FanOutParts,
): Promise<DependentRows> {
  const endpoints = await parts.endpoints.all(tx);
  // Not the event's own time: that never goes back, so after the clock was set back it may be hours ahead.
  const now = parts.clock.now();
  const told = endpoints.flatMap((endpoint) => {
    const runs = runsOf(endpoint, events, now);
    const exhausted = runs.filter(({ state }) => state.status === 'exhausted');
    if (exhausted.length > 0)
      tx.afterCommit(() => warnOfExhausted(endpoint, exhausted, { events, instance: parts.instance }));
    return runs;
  });
  return deliveryRows(tx.names, told);
}

function warnOfExhausted(
  endpoint: Endpoint,
  runs: readonly ToldEndpoint[],
  { events, instance }: { readonly events: readonly Event[]; readonly instance: WarningSource },
): void {
  for (const { first, last, state } of runs)
    for (const { id } of events.slice(first, last + 1))
      warnOfEndpoint(instance, endpoint, { kind: 'exhausted', event: id, cause: state.cause });
}

/** Returns runs of neighbouring events that the endpoint is told of with the same state. */
function runsOf(endpoint: Endpoint, events: readonly Event[], now: number): readonly ToldEndpoint[] {
  const runs: (ToldEndpoint & { last: number })[] = [];
  for (const [place, event] of events.entries()) {
    if (!wants(endpoint, event)) continue;
    const state = newDelivery(now, event.bodyBytes);
    const before = runs.at(-1);
    const isNext = before?.last === place - 1 && before.state.cause === state.cause;
    if (isNext) before.last = place;
    else runs.push({ endpoint: endpoint.id, first: place, last: place, state });
  }
  return runs;
}
