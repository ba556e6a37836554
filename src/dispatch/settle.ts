import type { Clock } from '../base/clock.ts';
import { randomUnit } from '../base/ids.ts';
import { fromTimestamp, toTimestamp } from '../base/timestamp.ts';
import { isTest } from '../events/event.ts';
import { identifier, joinSql, sql, type Sql } from '../sql/sql.ts';
import type { InlineColumn, Transaction, Tuple } from '../storage/database.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import { type Batch, type DeliveryKey, isOneOf, keyText } from '../deliveries/deliveries.ts';
import {
  afterAttempt,
  type DeliveryState,
  standardSchedule,
  stateIfNotSent,
} from '../deliveries/delivery.ts';
import { addToDays, deliveredBefore, deliveryEnds } from '../deliveries/endpoint-days.ts';
import { addToHours, type EndedAttempt } from '../deliveries/endpoint-hours.ts';
import { isPending, outcomeColumns, readExhausted } from '../deliveries/delivery-outcomes.ts';
import { releaseNext } from '../deliveries/record-order.ts';
import type { Claim } from './claim.ts';

/** The state that a delivery gets by an attempt, or without one. */
export interface Settlement {
  readonly key: DeliveryKey;
  readonly after: DeliveryState;
  /** Undefined for a delivery that is settled without an attempt. */
  readonly result: AttemptResult | undefined;
  /** The record of the event (`recordKey`), and whether its endpoint keeps the order of each record. */
  readonly record: string;
  readonly isOrdered: boolean;
  /** When the delivery was due as it was claimed; undefined when it had no outcome. */
  readonly due: number | undefined;
  /** The time to which the hand-over postponed the delivery: while the row still has it, the settlement applies without the fence. */
  readonly postponedUntil: number | undefined;
  /** The batch in which it was sent; if it is still pending, it is sent again in the same one. */
  readonly batch: Batch | undefined;
  /** A settlement of a test applies without the fence as well. */
  readonly isFenced: boolean;
  /** When the event was made, in milliseconds since 1970; undefined for a delivery that the figures of its endpoint leave out. */
  readonly committedAt: number | undefined;
}

export interface SettleOptions {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** A condition that holds while the instance is ours: another owner's state must not be overwritten. */
  readonly fence: Sql;
}

/**
 * Writes attempts and the outcomes of their deliveries, by one statement each. A delivery that was never attempted gets its outcome. Of
 * others the outcome is changed: one that was cancelled meanwhile keeps its state, but its attempt is counted: after a manual retry the
 * next one must not have the same number. A delivery that another node has attempted since, because this one lost its
 * lease, keeps that node's state and count. A retry that was requested meanwhile is due if this attempt failed, whatever the
 * schedule. Attempts are added to the statistics of their endpoints, except tests. Returns the exhausted ones, by `keyText`.
 */
export async function settle(
  tx: Transaction,
  settlements: readonly Settlement[],
  options: SettleOptions,
): Promise<ReadonlySet<string>> {
  const first = settlements.filter(({ due, result }) => due === undefined && result?.kind !== 'aborted');
  const attempts = settlements.filter(({ result }) => result !== undefined && result.kind !== 'aborted');
  const last = settlements.filter(({ after }) => after.status === 'exhausted').map(({ key }) => key);
  let inserted = 0;
  await tx.inOrder([
    async () => (inserted = await insertOutcomes(tx, first, options)),
    () => insertAttempts(tx, attempts),
    // Sent with the others, unless it depends on their results.
    ...(last.length === 0
      ? [
          () => addToHours(tx, countedOf(attempts, none)),
          () => addEnded(tx, settlements, { ...options, exhausted: none }),
        ]
      : []),
  ]);
  if (inserted < settlements.length) await changeOutcomes(tx, settlements, options);
  const ordered = settlements.filter(({ isOrdered }) => isOrdered);
  const records = ordered.map(({ key: { endpoint }, record }) => ({ endpoint, record }));
  await releaseNext(tx, records, options.now);
  if (last.length === 0) return none;
  const exhausted = await readExhausted(tx, last);
  await addToHours(tx, countedOf(attempts, exhausted));
  await addEnded(tx, settlements, { ...options, exhausted });
  return exhausted;
}

const none: ReadonlySet<string> = new Set();
const nothing: ReadonlySet<unknown> = new Set();

/** The attempts for the statistics of endpoints, without tests. */
function countedOf(attempts: readonly Settlement[], exhausted: ReadonlySet<string>): readonly EndedAttempt[] {
  return attempts.flatMap(({ key, result, isFenced }) =>
    result === undefined || !isFenced
      ? []
      : [{ endpoint: key.endpoint, result, isLast: exhausted.has(keyText(key)) }],
  );
}

/** Adds deliveries that have ended to the figures of their endpoints. Their attempts are stored already. */
async function addEnded(
  tx: Transaction,
  settlements: readonly Settlement[],
  { now, exhausted }: SettleOptions & { readonly exhausted: ReadonlySet<string> },
): Promise<void> {
  const counted = settlements.flatMap(({ key, after, result, committedAt }) => {
    const isEnded = after.status === 'delivered' || after.status === 'expired' || exhausted.has(keyText(key));
    if (committedAt === undefined || !isEnded) return [];
    const endedAt = result === undefined ? now : result.startedAt + (result.timings.totalMs ?? 0);
    return [{ key, number: after.attempts, status: after.status, latencyMs: endedAt - committedAt }];
  });
  const repeated = counted.filter(({ number, status }) => number > 1 && status === 'delivered');
  // Without a wait where there are none, so that the statement below is sent with the others.
  const again = repeated.length === 0 ? nothing : await deliveredBefore(tx, repeated);
  const ended = counted
    .filter((one) => !again.has(one))
    .flatMap(({ key: { endpoint }, status, latencyMs }) => {
      const end = deliveryEnds.find((one) => one === status);
      return end === undefined ? [] : [{ endpoint, end, latencyMs, count: 1 }];
    });
  await addToDays(tx, ended, now);
}

const settledColumns: readonly InlineColumn[] = [
  ['event', 'number'],
  ['endpoint', 'number'],
  ['status', 'text'],
  ['attempts', 'number'],
  ['due', 'number'],
  ['cause', 'text'],
  ['counted_max', 'number'],
  ['was_due', 'number'],
  ['put_off_until', 'number'],
  ['is_wide', 'number'],
  ['is_fenced', 'number'],
  ['record', 'text'],
  ['batch', 'text'],
  ['batch_size', 'number'],
];

function toSettledRow(settlement: Settlement): Tuple {
  const { key, after, due, result, postponedUntil, isFenced, record, batch } = settlement;
  const next = after.status === 'delivered' ? null : (after.due ?? null);
  const state = [after.status, after.attempts, next, after.cause];
  const isWide = result?.isEndpointWide === true ? 1 : 0;
  const place = [key.event, key.endpoint];
  return [
    ...place,
    ...state,
    countedMax(settlement),
    due ?? null,
    postponedUntil ?? null,
    isWide,
    isFenced ? 1 : 0,
    after.status === 'pending' ? record : null,
    batch?.id ?? null,
    batch?.size ?? null,
  ];
}

/**
 * Returns how many attempts the row may count for this settlement to apply. If a commit of unknown outcome has written a failure
 * already, the row counts it and is due at the next time; writing it again would take that time for a requested retry.
 */
function countedMax({ after, result }: Settlement): number {
  const isFailure = result !== undefined && result.kind !== 'aborted' && after.status !== 'delivered';
  return isFailure ? after.attempts - 1 : after.attempts;
}

/**
 * Returns how many outcomes were inserted. A delivery that was trimmed with the log during its attempt gets
 * none: it would be pending for ever, and a strict order would wait for it.
 */
async function insertOutcomes(
  tx: Transaction,
  settlements: readonly Settlement[],
  { now, fence }: SettleOptions,
): Promise<number> {
  if (settlements.length === 0) return 0;
  const { names } = tx;
  const values = names.valuesTable(settledColumns, settlements.map(toSettledRow));
  // Not EXISTS: PostgreSQL would make a join of it, and before it has statistics of the table read all deliveries of the instance.
  return tx.run(sql`
    INSERT INTO ${names.table('$outcome')} (${names.instance.column}${outcomeColumns})
    SELECT ${names.instance.value}CAST(event AS bigint), CAST(endpoint AS bigint), status, attempts, CAST(due AS bigint), is_wide, record, cause,
      CAST(NULL AS bigint), ${toTimestamp(now)}
    FROM ${values} WHERE (is_fenced = 0 OR ${fence}) AND (
      SELECT d.event FROM ${names.table('$delivery')} d WHERE ${names.instance.conditionOf('d')} AND ${isSameDelivery}) IS NOT NULL
    ON CONFLICT (${names.instance.column}event, endpoint) DO NOTHING`);
}

/** Changes outcomes of deliveries that were attempted before, or were moved on request or postponed during the attempt. */
async function changeOutcomes(
  tx: Transaction,
  settlements: readonly Settlement[],
  options: SettleOptions,
): Promise<void> {
  const { names } = tx;
  const values = names.valuesTable(settledColumns, settlements.map(toSettledRow));
  const events = settlements.map(({ key }) => key.event);
  // Without the positions, PostgreSQL would read all outcomes of the instance before it has statistics of the table.
  const settled = { values, isSettled: sql`${isOneOf(names, sql`d.event`, events)} AND ${isSameDelivery}` };
  const changed = await tx.run(changeStates(tx, settled, options));
  if (changed === settlements.length) return;
  await tx.run(countAttempts(tx, settled, options.fence));
  await tx.run(clearExpunged(tx, settled));
}

/** The deliveries that are settled: a table, and the condition that a row `d` is one of them. */
interface SettledDeliveries {
  readonly values: Sql;
  readonly isSettled: Sql;
}

/**
 * The row is due at neither time that its claim knows: `moveDelivery` has moved or inserted it for a requested retry.
 */
const retryRequested = sql`d.due IS NOT NULL AND (given.was_due IS NULL OR d.due <> given.was_due) AND (given.put_off_until IS NULL OR d.due <> given.put_off_until)`;

const isSameDelivery = sql`d.event = CAST(given.event AS bigint) AND d.endpoint = CAST(given.endpoint AS bigint)`;

/** A delivered one ignores a requested retry; any other is due then, or now if the hand-over postponed it. */
function changeStates(
  { names }: Transaction,
  { values, isSettled }: SettledDeliveries,
  { now, fence }: SettleOptions,
): Sql {
  return sql`
    UPDATE ${names.table('$outcome')} AS d SET
      status = CASE WHEN given.status <> 'delivered' AND ${retryRequested} THEN 'pending' ELSE given.status END,
      due = CASE WHEN given.status = 'delivered' OR NOT (${retryRequested}) THEN given.due WHEN d.due > ${now} THEN ${now} ELSE d.due END,
      attempts = given.attempts, cause = given.cause, record = given.record, is_wide = given.is_wide, put_off_until = NULL,
      batch = given.batch, batch_size = CAST(given.batch_size AS bigint), updated = ${toTimestamp(now)}
    FROM ${values}
    WHERE ${names.instance.conditionOf('d')} AND ${isSettled} AND ${isPending(sql`d.status`)}
      AND d.attempts <= given.counted_max AND ${isOurs(fence)}`;
}

function isOurs(fence: Sql): Sql {
  return sql`(given.is_fenced = 0 OR d.put_off_until = given.put_off_until OR ${fence})`;
}

/** Counts attempts of deliveries whose state stays as it is: those whose state changed count them already. */
function countAttempts({ names }: Transaction, { values, isSettled }: SettledDeliveries, fence: Sql): Sql {
  return sql`
    UPDATE ${names.table('$outcome')} AS d SET attempts = given.attempts,
      put_off_until = CASE WHEN ${isOurs(fence)} THEN NULL ELSE d.put_off_until END
    FROM ${values}
    WHERE ${names.instance.conditionOf('d')} AND ${isSettled} AND d.attempts < given.attempts`;
}

/** Removes the responses of attempts that were open while the body of their event was expunged. */
function clearExpunged({ names }: Transaction, { values, isSettled }: SettledDeliveries): Sql {
  return sql`
    UPDATE ${names.table('$attempt')} AS d SET response_headers = '{}', response_body = ${new Uint8Array()}
    FROM ${values}
    WHERE ${names.instance.conditionOf('d')} AND ${isSettled} AND EXISTS (
      SELECT 1 FROM ${names.table('$event')} e WHERE ${names.instance.conditionOf('e')} AND e.position = d.event AND e.expunged IS NOT NULL)`;
}

const attemptColumns: readonly InlineColumn[] = [
  ['event', 'number'],
  ['endpoint', 'number'],
  ['number', 'number'],
  ['started', 'text'],
  ['kind', 'text'],
  ['status', 'number'],
  ['cause', 'text'],
  ['dns_ms', 'number'],
  ['connect_ms', 'number'],
  ['tls_ms', 'number'],
  ['first_byte_ms', 'number'],
  ['total_ms', 'number'],
  ['response_headers', 'text'],
  ['response_body', 'bytes'],
  ['batch', 'text'],
  ['batch_size', 'number'],
];

const attemptNames = joinSql(
  attemptColumns.map(([name]) => identifier(name)),
  ', ',
);

async function insertAttempts(tx: Transaction, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return;
  const { names } = tx;
  const values = names.valuesTable(
    attemptColumns,
    settlements.flatMap((one) => (one.result === undefined ? [] : [toAttemptRow(one, one.result)])),
  );
  // A row exists when a commit of unknown outcome did succeed and the settlement is written again.
  await tx.run(sql`
    INSERT INTO ${names.table('$attempt')} (${names.instance.column}${attemptNames})
    SELECT ${names.instance.value}${attemptNames} FROM ${values} WHERE TRUE
    ON CONFLICT (${names.instance.column}event, endpoint, number) DO NOTHING`);
}

/** How much of a response is stored: more of a failure, for its diagnosis. */
const responseBytesMax = { success: 1_024, failure: 4_096 } as const;

function toAttemptRow({ key, after, batch }: Settlement, result: AttemptResult): Tuple {
  const { startedAt, kind, status, cause, timings, responseHeaders, responseBody, isSuccess } = result;
  const { dnsMs, connectMs, tlsMs, firstByteMs, totalMs } = timings;
  const times = [dnsMs, connectMs, tlsMs, firstByteMs, totalMs ?? 0];
  const head = [key.event, key.endpoint, after.attempts, toTimestamp(startedAt), kind, status, cause];
  const body = responseBody.subarray(0, isSuccess ? responseBytesMax.success : responseBytesMax.failure);
  return [...head, ...times, responseHeaders, body, batch?.id ?? null, batch?.size ?? null];
}

/** Returns the new states of the deliveries of a claim after a result, with the conditions under which this process may write them. */
export function toSettlements(claim: Claim, result: AttemptResult, clock: Clock): readonly Settlement[] {
  const { pendings, endpoint, test, postponedUntil, disposition, batch } = claim;
  // The same for all: they are sent again together.
  const [now, random] = [clock.now(), randomUnit()];
  return pendings.map(({ key, state, kind, record, created, isReplay }, at) => {
    const isOrdered = endpoint.order === 'record';
    const isFenced = test === undefined;
    // What was requested again, or of records that existed before, says nothing about how fast changes are delivered.
    const isCounted = isFenced && !isTest(kind) && kind !== 'backfill' && !isReplay;
    const committedAt = isCounted ? fromTimestamp(created) : undefined;
    const common = { key, record, isOrdered, due: state.due, postponedUntil, isFenced, committedAt, batch };
    if (disposition !== undefined)
      return { ...common, after: stateIfNotSent(state, disposition, now), result: undefined };
    // A test is never retried, not even one of an earlier process.
    const schedule = isTest(kind) ? [] : (endpoint.schedule ?? standardSchedule);
    const after = afterAttempt(state, result, { now, schedule, random });
    return { ...common, after, result: at === 0 ? result : withoutResponse(result) };
  });
}

/** The response to a batch is stored once, with its first delivery. */
function withoutResponse(result: AttemptResult): AttemptResult {
  return { ...result, responseHeaders: '{}', responseBody: new Uint8Array() };
}
