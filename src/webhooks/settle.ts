import { toTimestamp } from '../base/timestamp.ts';
import { identifier, joinSql, sql, type Sql } from '../sql/sql.ts';
import type { InlineColumn, Transaction, Tuple } from '../storage/database.ts';
import type { AttemptResult } from './sending/attempt-result.ts';
import { isPending, readExhausted } from './deliveries.ts';
import type { DeliveryState } from './delivery.ts';

/** The result of an attempt, and the state that it gives its delivery. */
export interface Settlement {
  readonly id: string;
  readonly after: DeliveryState;
  readonly result: AttemptResult;
  /** When the delivery was due as it was claimed. */
  readonly due: number;
  /** The time that the hand-over has put the delivery off until: while the row still has it, the settlement applies without the fence. */
  readonly putOffUntil: number | undefined;
  /** A settlement of a test applies without the fence as well. */
  readonly isFenced: boolean;
}

export interface SettleOptions {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** A condition that holds while the instance is ours: another owner's state must not be overwritten. */
  readonly fence: Sql;
}

/**
 * Writes attempts and the new states of their deliveries, by one statement each. A delivery that was cancelled meanwhile keeps its
 * state, but its attempt is counted: after a retry by hand the next one must not have the same number. A delivery that another node
 * has gone on with, because this one was away for longer than its lease, keeps that node's state and count. A retry that was asked
 * for meanwhile is made when this attempt has failed, whatever the schedule says. Returns the ids of those that are exhausted now.
 */
export async function settle(
  tx: Transaction,
  settlements: readonly Settlement[],
  options: SettleOptions,
): Promise<ReadonlySet<string>> {
  const given = tx.names.valuesTable(settledColumns, settlements.map(toSettledRow));
  const attempts = settlements.filter(({ result }) => result.kind !== 'aborted');
  let changed = 0;
  await tx.inOrder([
    async () => (changed = await tx.run(changeDeliveries(tx, given, options))),
    () => insertAttempts(tx, attempts),
  ]);
  if (changed < settlements.length) await tx.run(countAttempts(tx, given, options.fence));
  const last = settlements.filter(({ after }) => after.status === 'exhausted').map(({ id }) => id);
  return last.length === 0 ? new Set() : readExhausted(tx, last);
}

const settledColumns: readonly InlineColumn[] = [
  ['delivery', 'text'],
  ['status', 'text'],
  ['attempts', 'number'],
  ['due', 'number'],
  ['cause', 'text'],
  ['counted_max', 'number'],
  ['was_due', 'number'],
  ['put_off_until', 'number'],
  ['is_wide', 'number'],
  ['is_fenced', 'number'],
];

function toSettledRow(settlement: Settlement): Tuple {
  const { id, after, due, result, putOffUntil, isFenced } = settlement;
  const state = [after.status, after.attempts, after.due, after.cause];
  const isWide = result.isEndpointWide ? 1 : 0;
  return [id, ...state, countedMax(settlement), due, putOffUntil ?? null, isWide, isFenced ? 1 : 0];
}

/**
 * Returns how many attempts the row may count for this settlement to apply. If a commit of unknown outcome has written a failure
 * already, the row counts it and is due at the next time; writing it again would take that time for a retry that was asked for.
 */
function countedMax({ after, result }: Settlement): number {
  const isFailure = result.kind !== 'aborted' && after.status !== 'delivered';
  return isFailure ? after.attempts - 1 : after.attempts;
}

/** The row is due at none of the times that its claimer knows of: `moveDelivery` has moved it, as a retry was asked for. */
const isAskedAgain = sql`d.due <> given.was_due AND (given.put_off_until IS NULL OR d.due <> given.put_off_until)`;

/** A delivered one ignores a retry that was asked for; any other takes it, now if the hand-over has put it off. */
function changeDeliveries({ names }: Transaction, given: Sql, { now, fence }: SettleOptions): Sql {
  return sql`
    UPDATE ${names.table('$delivery')} AS d SET
      status = CASE WHEN given.status <> 'delivered' AND ${isAskedAgain} THEN 'pending' ELSE given.status END,
      due = CASE WHEN given.status = 'delivered' OR NOT (${isAskedAgain}) THEN given.due WHEN d.due > ${now} THEN ${now} ELSE d.due END,
      attempts = given.attempts, cause = given.cause, is_wide = given.is_wide, put_off_until = NULL, updated = ${toTimestamp(now)}
    FROM ${given}
    WHERE ${names.scopeOf('d')} AND d.id = given.delivery AND ${isPending(sql`d.status`)}
      AND d.attempts <= given.counted_max AND ${isOurs(fence)}`;
}

function isOurs(fence: Sql): Sql {
  return sql`(given.is_fenced = 0 OR d.put_off_until = given.put_off_until OR ${fence})`;
}

/** Counts attempts of deliveries whose state stays as it is: those whose state has changed count them already. */
function countAttempts({ names }: Transaction, given: Sql, fence: Sql): Sql {
  return sql`
    UPDATE ${names.table('$delivery')} AS d SET attempts = given.attempts,
      put_off_until = CASE WHEN ${isOurs(fence)} THEN NULL ELSE d.put_off_until END
    FROM ${given}
    WHERE ${names.scopeOf('d')} AND d.id = given.delivery AND d.attempts < given.attempts`;
}

const attemptColumns: readonly InlineColumn[] = [
  ['delivery', 'text'],
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
];

const attemptNames = joinSql(
  attemptColumns.map(([name]) => identifier(name)),
  ', ',
);

async function insertAttempts(tx: Transaction, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return;
  const { names } = tx;
  const given = names.valuesTable(attemptColumns, settlements.map(toAttemptRow));
  // A row exists when a commit of unknown outcome did succeed and the settlement is written again.
  await tx.run(sql`
    INSERT INTO ${names.table('$attempt')} (${names.scopeColumn}${attemptNames})
    SELECT ${names.scopeValue}${attemptNames} FROM ${given} WHERE TRUE
    ON CONFLICT (${names.scopeColumn}delivery, number) DO NOTHING`);
}

function toAttemptRow({ id, after, result }: Settlement): Tuple {
  const { startedAt, kind, status, cause, timings, responseHeaders, responseBody } = result;
  const { dnsMs, connectMs, tlsMs, firstByteMs, totalMs } = timings;
  const times = [dnsMs, connectMs, tlsMs, firstByteMs, totalMs ?? 0];
  const head = [id, after.attempts, toTimestamp(startedAt), kind, status, cause];
  return [...head, ...times, responseHeaders, responseBody];
}
