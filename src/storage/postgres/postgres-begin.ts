import { assert } from '../../base/assert.ts';

export interface BeginOptions {
  /** How long each of its statements may take, where that is not what the session says. */
  readonly statementMsMax?: number | undefined;
  readonly isLossAllowed?: boolean | undefined;
  /** Whether tables are joined in the order in which a statement names them (`hasNoJoinOrder`). */
  readonly isOrdered: boolean;
}

/** What opens a transaction. */
export function begin({ statementMsMax, isLossAllowed = false, isOrdered }: BeginOptions): string {
  const unsynced = isLossAllowed ? '; SET LOCAL synchronous_commit = off' : '';
  const ordered = isOrdered ? `; SET LOCAL ${joinsInOrder}` : '';
  if (statementMsMax === undefined) return `BEGIN${unsynced}${ordered}`;
  assert(Number.isInteger(statementMsMax), 'whole milliseconds');
  return `BEGIN${unsynced}${ordered}; SET LOCAL statement_timeout = ${statementMsMax}`;
}

/** https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-JOIN-COLLAPSE-LIMIT */
export const joinsInOrder = 'join_collapse_limit = 1';

export interface ExclusiveOptions {
  readonly timeoutMs: number;
  readonly lockTimeoutMs: number;
}

/** What opens a transaction that holds an advisory lock alone. */
export function beginExclusive(key: bigint, { timeoutMs, lockTimeoutMs }: ExclusiveOptions): string {
  assert(Number.isInteger(timeoutMs), 'whole milliseconds');
  const set = (name: string, value: number): string => `set_config('${name}', '${value}', true)`;
  // One that is running is not moved by another value, only ended by none: without that, the session's would go on.
  const whole = [0, timeoutMs].map(
    (value) =>
      `CASE WHEN current_setting('server_version_num')::integer >= 170000 THEN ${set('transaction_timeout', value)} END`,
  );
  return `BEGIN; SELECT ${set('statement_timeout', timeoutMs)}, ${set('lock_timeout', lockTimeoutMs)},
      ${whole.join(', ')};
    SELECT pg_advisory_xact_lock(${key})`;
}
