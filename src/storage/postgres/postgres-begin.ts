import { assert } from '../../base/assert.ts';

/** How long a statement of a transaction may take, in milliseconds. */
export interface StatementTimes {
  /** For a search: what it finds, or what it waits for, is up to clients. */
  readonly searchMs: number;
  readonly otherMs: number;
}

/** Undefined where all statements may take as long: an exclusive work may rewrite tables. */
export function statementTimes(
  pool: { readonly queryTimeoutMs: number; readonly statementTimeoutMs: number },
  { isExclusive, statementMsMax }: { readonly isExclusive: boolean; readonly statementMsMax?: number },
): StatementTimes | undefined {
  const otherMs = statementMsMax ?? pool.statementTimeoutMs;
  return isExclusive || pool.queryTimeoutMs >= otherMs
    ? undefined
    : { searchMs: pool.queryTimeoutMs, otherMs };
}

/** The command that limits the following statements of the transaction. */
export function limitStatements(timeoutMs: number): string {
  assert(Number.isInteger(timeoutMs), 'whole milliseconds');
  return `SET LOCAL statement_timeout = ${timeoutMs}`;
}

export interface BeginOptions {
  /** The statement time-out of the transaction, if it differs from the session's. */
  readonly statementMsMax?: number | undefined;
  readonly isLossAllowed?: boolean | undefined;
  /** Whether the planner joins tables in the order in which a statement names them (`hasNoJoinOrder`). */
  readonly isOrdered: boolean;
}

/** The command that opens a transaction. */
export function begin({ statementMsMax, isLossAllowed = false, isOrdered }: BeginOptions): string {
  const unsynced = isLossAllowed ? '; SET LOCAL synchronous_commit = off' : '';
  const ordered = isOrdered ? `; SET LOCAL ${joinsInOrder}` : '';
  if (statementMsMax === undefined) return `BEGIN${unsynced}${ordered}`;
  return `BEGIN${unsynced}${ordered}; ${limitStatements(statementMsMax)}`;
}

/** https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-JOIN-COLLAPSE-LIMIT */
export const joinsInOrder = 'join_collapse_limit = 1';

export interface ExclusiveOptions {
  readonly timeoutMs: number;
  readonly lockTimeoutMs: number;
}

/** The command that opens a transaction and takes an advisory lock exclusively. */
export function beginExclusive(key: bigint, { timeoutMs, lockTimeoutMs }: ExclusiveOptions): string {
  assert(Number.isInteger(timeoutMs), 'whole milliseconds');
  const set = (name: string, value: number): string => `set_config('${name}', '${value}', true)`;
  // A running transaction_timeout ignores a new value and ends only at 0: without the 0, the session's value would stay in force.
  const whole = [0, timeoutMs].map(
    (value) =>
      `CASE WHEN current_setting('server_version_num')::integer >= 170000 THEN ${set('transaction_timeout', value)} END`,
  );
  return `BEGIN; SELECT ${set('statement_timeout', timeoutMs)}, ${set('lock_timeout', lockTimeoutMs)},
      ${whole.join(', ')};
    SELECT pg_advisory_xact_lock(${key})`;
}
