import { AppError, notFound } from '../base/errors.ts';
import { compileFilter } from '../filters/compile/compile.ts';
import { jsonPath, type Operand, type Resolve } from '../filters/operand.ts';
import { parseFilter } from '../filters/parse.ts';
import { column, columnResolver } from '../query/list-source.ts';
import type { ListQuery } from '../query/list-query.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database, Names, Tuple } from '../storage/database.ts';
import { logLevels } from './request-log.ts';

/** An entry as superusers see it. */
export interface LogView {
  readonly id: string;
  readonly created: string;
  readonly data: unknown;
  readonly message: string;
  readonly level: number;
}

/** The entries of one hour. */
export interface LogCount {
  /** The beginning of the hour. */
  readonly date: string;
  readonly total: number;
  /** Entries of level 4, and of level 8. */
  readonly refused: number;
  readonly failed: number;
  /** The 95th percentile of the durations of requests, in milliseconds. Null where no entry is a request. */
  readonly execTimeP95: number | null;
}

export interface LogReading {
  readonly database: Database;
  /** The time for the macros of filters, in milliseconds since 1970. */
  readonly now: number;
}

/** A page of entries, oldest first by default. Throws bad_request (filter, sort). */
export async function listLogs(
  { database, now }: LogReading,
  query: ListQuery,
): Promise<ListResult<LogView>> {
  const { names } = database;
  const page = await runList(database, query, {
    columns: sql`id, created, data, message, level`,
    from: names.table('$log'),
    where: whereOf(names),
    tieBreaker: id,
    resolve,
    dialect: names.dialect,
    now,
  });
  return { ...page, items: page.items.map(toView) };
}

/** Throws not_found. */
export async function getLog(database: Database, logId: string): Promise<LogView> {
  const { names } = database;
  const [row] = await database.tuples(
    sql`SELECT id, created, data, message, level FROM ${names.table('$log')} WHERE ${names.instance.condition} AND id = ${logId}`,
  );
  if (row === undefined) throw notFound();
  return toView(row);
}

/** Counts the entries of each hour that has any, in order of time. Throws bad_request. */
export async function countLogs(
  { database, now }: LogReading,
  filter: string | null,
): Promise<readonly LogCount[]> {
  const { names } = database;
  const condition =
    filter === null || filter === '' ? sql`` : sql` AND ${conditionOf(filter, { names, now })}`;
  const entries = sql`
    SELECT substr(created, 1, 13) AS hour, level, ${names.dialect.numberUnder(sql`data`, 'execTime')} AS took
    FROM ${names.table('$log')} WHERE ${whereOf(names)}${condition}`;
  // The percentile is that of the nearest rank, which is a value of an entry.
  const ranked = sql`
    SELECT hour, level, took, count(took) OVER (PARTITION BY hour) AS timed,
      row_number() OVER (PARTITION BY hour ORDER BY took IS NULL, took) AS place
    FROM (${entries}) AS entries`;
  const hours = await database.search(sql`
    SELECT hour, count(*), count(CASE WHEN level >= ${logLevels.warn} AND level < ${logLevels.error} THEN 1 END),
      count(CASE WHEN level >= ${logLevels.error} THEN 1 END), max(CASE WHEN place <= (timed * 95 + 99) / 100 THEN took END)
    FROM (${ranked}) AS ranked GROUP BY hour ORDER BY hour`);
  return hours.map(toCount);
}

function toCount([hour, total, refused, failed, execTimeP95]: Tuple): LogCount {
  return {
    date: `${String(hour)}:00:00.000Z`,
    total: Number(total),
    refused: Number(refused),
    failed: Number(failed),
    execTimeP95: execTimeP95 === null ? null : Number(execTimeP95),
  };
}

function conditionOf(filter: string, { names, now }: { readonly names: Names; readonly now: number }): Sql {
  try {
    return compileFilter(parseFilter(filter), { resolve, dialect: names.dialect, now });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError('bad_request', 'Invalid filter format.', { cause: error });
  }
}

function whereOf(names: Names): Sql {
  const isInTime = names.isInTime(sql`level`, 'for every row');
  return isInTime === undefined ? names.instance.condition : sql`${names.instance.condition} AND ${isInTime}`;
}

const id: Operand = column('text', sql`id`);

const resolveColumn = columnResolver({
  id,
  created: column('date', sql`created`),
  level: column('number', sql`level`),
  message: column('text', sql`message`),
});

const resolve: Resolve = (name) => {
  const [first, ...steps] = name.split('.');
  if (first !== 'data' || steps.includes('') || name.includes(':')) return resolveColumn(name);
  return { sql: sql`data`, kind: 'json', path: jsonPath(steps) };
};

function toView([logId, created, data, message, level]: Tuple): LogView {
  return {
    id: String(logId),
    created: String(created),
    data: JSON.parse(String(data)),
    message: String(message),
    level: Number(level),
  };
}
