import { isOperational } from '../events/event.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { InlineColumn, Names, Reader, Transaction } from '../storage/database.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';

/**
 * Up to which position the log of an instance is matched to endpoints of accounts (account-decisions.ts), as it is stored:
 *
 * - one position for all of them together, for as long as there are such endpoints
 * - `$lane.decided` of an endpoint that is elsewhere: behind that position, as its conditions take too long, or at or before it, as it is new
 *   and receives no earlier events
 *
 * Deliveries are inserted in the transaction that moves a position on, so each event is decided once for each endpoint, whatever dies in between.
 * The log is not trimmed behind the positions, and the cursor of a lane does not pass that of its endpoint.
 */
const name = 'decided';

/** An endpoint that is behind the others, and why. */
export interface Behind {
  readonly at: number;
  /** In words; empty for a new one. */
  readonly cause: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

export interface DecisionState {
  /** Undefined where there are no endpoints of accounts. */
  readonly cursor: number | undefined;
  /** By the numbers of endpoints. */
  readonly apart: ReadonlyMap<number, Behind>;
  /** The number of the last reconcile that has begun, or 0: what was decided before by other records may be wrong. */
  readonly reconcile: number;
}

/** Reads where the decisions are. In a transaction, they stay there until it ends. */
export async function readDecisions(reader: Reader, lock: Sql = sql``): Promise<DecisionState> {
  const { names } = reader;
  const last = sql`SELECT max(number) FROM ${names.table('$replay')} r WHERE ${names.instance.conditionOf('r')} AND r.scope = 'reconcile'`;
  const [row] = await reader.tuples(sql`SELECT value, (${last}) FROM ${settingOf(names)}${lock}`);
  const lanes = await reader.tuples(sql`
    SELECT endpoint, decided, undecided, undecided_since FROM ${names.table('$lane')} WHERE ${names.instance.condition} AND decided IS NOT NULL`);
  return {
    cursor: row === undefined ? undefined : Number(row[0]),
    reconcile: Number(row?.[1] ?? 0),
    apart: new Map(
      lanes.map(([endpoint, at, cause, since]) => [
        Number(endpoint),
        { at: Number(at), cause: String(cause), since: Number(since) },
      ]),
    ),
  };
}

function settingOf(names: Names): Sql {
  return sql`${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = ${name}`;
}

/** Returns the position behind which something is undecided, so that the log has to be kept; undefined without endpoints of accounts. */
export async function undecidedFrom(reader: Reader): Promise<number | undefined> {
  const { cursor, apart } = await readDecisions(reader);
  if (cursor === undefined) return undefined;
  return Math.min(cursor, ...apart.values().map(({ at }) => at));
}

/** Returns the position behind which nothing is decided yet for an endpoint of an account. */
export async function undecidedFor(reader: Reader, endpoint: number): Promise<number | undefined> {
  const { cursor, apart } = await readDecisions(reader);
  return apart.get(endpoint)?.at ?? cursor;
}

/**
 * Returns a function from the number of an endpoint to the position up to which no delivery to it can appear any more: where events are safe,
 * and for an endpoint of an account, decided.
 */
export async function readSafeFor(
  { database, endpoints }: Pick<WebhookInstance, 'database' | 'endpoints'>,
  safe: number,
): Promise<(endpoint: number) => number> {
  const owned = new Set((await endpoints.byOwner(database)).owned.map(({ number }) => number));
  const { cursor = 0, apart } = await readDecisions(database);
  return (endpoint) => (owned.has(endpoint) ? Math.min(safe, apart.get(endpoint)?.at ?? cursor) : safe);
}

/** A delivery that was decided: the position of the event, and the number of the endpoint. */
export type DecidedPair = readonly [event: number, endpoint: number];

const pairColumns: readonly InlineColumn[] = [
  ['event', 'number'],
  ['endpoint', 'number'],
];

/** Inserts deliveries, which lanes read in the order of the log as all others: their cursors are never beyond what is decided. */
export async function insertDecided(tx: Transaction, pairs: readonly DecidedPair[]): Promise<void> {
  if (pairs.length === 0) return;
  const { names } = tx;
  const values = names.valuesTable(pairColumns, pairs);
  await insertDeliveries(tx, {
    event: sql`CAST(given.event AS bigint)`,
    endpoint: sql`CAST(given.endpoint AS bigint)`,
    from: values,
  });
}

async function insertDeliveries(
  tx: Transaction,
  { event, endpoint, from }: { readonly event: Sql; readonly endpoint: Sql; readonly from: Sql },
): Promise<void> {
  const { names } = tx;
  const { column, value } = names.instance;
  // Nodes of an older version have made some of them by the write itself.
  await tx.run(sql`
    INSERT INTO ${names.table('$delivery')} (${column}event, endpoint) SELECT ${value}${event}, ${endpoint} FROM ${from} WHERE TRUE
    ON CONFLICT (${column}event, endpoint) DO NOTHING`);
}

/** Moves all endpoints together on. Those that are new join them when they are passed. */
export async function moveTogether(
  tx: Transaction,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$instance_setting')} SET value = ${String(to)} WHERE ${names.instance.condition} AND name = ${name}`);
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET decided = NULL WHERE ${names.instance.condition} AND decided >= ${from} AND decided <= ${to}`);
}

/** Sets the position of an endpoint apart from the others, or joins them (undefined). */
export async function moveApart(
  tx: Transaction,
  endpoint: number,
  { at, cause, since }: { readonly at: number | undefined; readonly cause: string; readonly since: number },
): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET decided = CAST(${at ?? null} AS bigint), undecided = ${cause}, undecided_since = CAST(${since} AS bigint)
    WHERE ${names.instance.condition} AND endpoint = ${endpoint}`);
}

/** Skips the undecided events of an endpoint that skips its backlog. To be called while nothing else is written. */
export async function skipUndecided(tx: Transaction, endpoint: number): Promise<void> {
  const { cursor } = await readDecisions(tx);
  if (cursor === undefined) return;
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET decided = ${logEnd(names)}, undecided = '', undecided_since = 0
    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND EXISTS (
      SELECT 1 FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND position = ${endpoint} AND owner <> '')`);
}

function logEnd(names: Names): Sql {
  return sql`(SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.instance.condition})`;
}

/**
 * Begins or ends the decisions for an endpoint that gets an owner, or loses it. To be called while nothing else is written, with the
 * endpoint stored as `before`; that of a new one as `after`.
 */
export async function followOwner(
  tx: Transaction,
  { before, after }: { readonly before: Endpoint | undefined; readonly after: Endpoint | undefined },
): Promise<void> {
  const [was, is] = [(before?.owner ?? '') !== '', (after?.owner ?? '') !== ''];
  if (after !== undefined && is && !was) await beginDecisions(tx, after.number);
  if (before === undefined || !was || is) return;
  if (after !== undefined) await deliverUndecided(tx, after);
  await moveApart(tx, before.number, { at: undefined, cause: '', since: 0 });
  const { names } = tx;
  await tx.run(sql`
    DELETE FROM ${settingOf(names)} AND NOT EXISTS (
      SELECT 1 FROM ${names.table('$endpoint')}
      WHERE ${names.instance.condition} AND owner <> '' AND deleted = '' AND position <> ${before.number})`);
}

async function beginDecisions(tx: Transaction, endpoint: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value)
    SELECT ${names.instance.value}${name}, CAST(${logEnd(names)} AS TEXT) WHERE TRUE
    ON CONFLICT (${names.instance.column}name) DO NOTHING`);
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET decided = ${logEnd(names)} WHERE ${names.instance.condition} AND endpoint = ${endpoint}`);
}

/** Delivers everything undecided to an endpoint that now belongs to superusers, whatever its filter: nothing is lost. */
async function deliverUndecided(tx: Transaction, endpoint: Endpoint): Promise<void> {
  const { cursor, apart } = await readDecisions(tx);
  if (cursor === undefined) return;
  const { names } = tx;
  const { number, events, collections } = endpoint;
  const kinds = events.filter((kind) => !isOperational(kind));
  const ofCollections = collections.length === 0 ? sql`` : sql` AND e.collection${names.anyOf(collections)}`;
  await insertDeliveries(tx, {
    event: sql`e.position`,
    endpoint: sql`CAST(${number} AS bigint)`,
    from: sql`(SELECT * FROM ${names.table('$event')} e WHERE ${names.instance.conditionOf('e')} AND e.position > ${apart.get(number)?.at ?? cursor}
      AND e.kind${names.anyOf(kinds)}${ofCollections}) AS e`,
  });
}
