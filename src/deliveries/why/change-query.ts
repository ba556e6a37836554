import type { Caller } from '../../access/caller.ts';
import { AppError } from '../../base/errors.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import type { Collections } from '../../collections/collection-store.ts';
import type { Collection } from '../../collections/collection.ts';
import { inlineColumns } from '../../query/inline-columns.ts';
import { baseAlias } from '../../query/record-scope.ts';
import { joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { Reader, Tuple } from '../../storage/database.ts';
import { QueryTimeout } from '../../storage/engine-errors.ts';
import { beforeAlias, type ConditionContext } from '../../endpoints/endpoint-conditions.ts';
import type { LoggedChange } from '../log/logged-changes.ts';

/** The remaining time of a response, in milliseconds. */
export interface TimeBudget {
  leftMs(): number;
}

/** A change for which conditions are evaluated again. */
export interface ChangeQuery {
  readonly database: Reader;
  readonly collections: Collections;
  readonly collection: Collection;
  readonly change: LoggedChange;
  readonly caller: Caller;
  readonly budget: TimeBudget;
}

/** The time of one statement. */
const statementMs = 1_000;

/** Filters are evaluated as of the time of the event. */
export function conditionContext({
  database,
  collections,
  change,
}: Pick<ChangeQuery, 'database' | 'collections' | 'change'>): ConditionContext {
  const now = fromTimestamp(change.created);
  return { collections, names: database.names, now, isStored: true };
}

/** Returns which of these conditions the change meets; undefined where they take too long, or cannot be evaluated. */
export async function evaluateConditions(
  query: ChangeQuery,
  conditions: readonly Sql[],
  timeoutMs: number = statementMs,
): Promise<readonly boolean[] | undefined> {
  const columns = conditions.map((condition) => sql`CASE WHEN ${condition} THEN 1 ELSE 0 END`);
  const rows = await searchChange(query, { columns, rest: sql``, timeoutMs });
  return rows?.[0]?.map((value) => Number(value) === 1);
}

/** Selects columns from the rows before and after a change, and from what follows them. Undefined where it takes too long. */
export async function searchChange(
  { database, collection, change, budget }: ChangeQuery,
  {
    columns,
    rest,
    timeoutMs = statementMs,
  }: { readonly columns: readonly Sql[]; readonly rest: Sql; readonly timeoutMs?: number },
): Promise<readonly Tuple[] | undefined> {
  const { names } = database;
  const { after, before = after } = change;
  const leftMs = Math.ceil(Math.min(timeoutMs, budget.leftMs()));
  if (leftMs <= 0) return undefined;
  try {
    return await database.search(
      sql`SELECT ${joinSql(columns, ', ')} FROM (SELECT ${inlineColumns(collection, after, names)}) AS ${baseAlias}
        CROSS JOIN (SELECT ${inlineColumns(collection, before, names)}) AS ${beforeAlias}${rest}`,
      { timeoutMs: leftMs },
    );
  } catch (error) {
    const isRefused = error instanceof AppError && error.code === 'bad_request';
    if (error instanceof QueryTimeout || isRefused) return undefined;
    throw error;
  }
}
