import { isDeepStrictEqual } from 'node:util';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';

/**
 * When endpoints with transitions are to be reconciled (replays/reconciles.ts), in milliseconds since 1970: a column of their lanes, so that it
 * survives the process and every node finds it.
 */

/** Several causes within this time are one reconcile. */
const settleMs = 1_000;

/** Notes that endpoints are to be reconciled, by their numbers, or all with transitions: soon, or at once. */
export async function markReconcile(
  tx: Transaction,
  {
    endpoints,
    now,
    isAtOnce = false,
  }: { readonly endpoints?: readonly number[]; readonly now: number; readonly isAtOnce?: boolean },
): Promise<void> {
  const { names } = tx;
  const at = isAtOnce ? now : now + settleMs;
  const which: Sql =
    endpoints === undefined
      ? sql`endpoint IN (SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND transitions = 'true' AND deleted = '')`
      : sql`endpoint${names.anyNumberOf(endpoints)}`;
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET reconcile_at = CASE WHEN reconcile_at < CAST(${at} AS bigint) THEN reconcile_at ELSE CAST(${at} AS bigint) END
    WHERE ${names.instance.condition} AND ${which}`);
}

/** Returns when endpoints are to be reconciled, by their numbers. */
export async function readMarks(reader: Reader): Promise<ReadonlyMap<number, number>> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT endpoint, reconcile_at FROM ${names.table('$lane')} WHERE ${names.instance.condition} AND reconcile_at IS NOT NULL`);
  return new Map(rows.map(([endpoint, at]) => [Number(endpoint), Number(at)]));
}

/** Removes the mark of an endpoint whose reconcile begins, or sets the next one. */
export async function moveMark(tx: Transaction, endpoint: number, at: number | null): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET reconcile_at = CAST(${at} AS bigint) WHERE ${names.instance.condition} AND endpoint = ${endpoint}`);
}

/** Members that decide which records an endpoint with transitions holds. */
const mirrorMembers = ['transitions', 'filter', 'owner', 'collections'] as const;

/**
 * Has an endpoint with transitions reconciled that is new, or holds other records from now on: none where it has no transitions any more.
 * Returns whether it is.
 */
export async function followTransitions(
  tx: Transaction,
  now: number,
  { before, after }: { readonly before: Endpoint | undefined; readonly after: Endpoint },
): Promise<boolean> {
  const isChanged =
    before === undefined || mirrorMembers.some((name) => !isDeepStrictEqual(before[name], after[name]));
  if (!isChanged || !(after.transitions || before?.transitions === true)) return false;
  await markReconcile(tx, { endpoints: [after.number], now, isAtOnce: true });
  return true;
}
