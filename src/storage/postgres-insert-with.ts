import { identifier, joinSql, sql, type Sql } from '../sql/sql.ts';
import type { InsertedRows, Insertion } from './database.ts';
import { combineInserts } from './postgres-combine.ts';

/** By what the rows themselves tell, not by `lastval()`: other sessions draw numbers meanwhile. */
export function postgresInsertWith(
  { inserts, columns }: Insertion,
  following: (inserted: InsertedRows) => readonly Sql[],
): Sql {
  const insert = combineInserts(inserts);
  const statements = following((first, last) => {
    if (first === 0 && last === inserts.length - 1) return all;
    return sql`${numbered} WHERE place BETWEEN ${first} AND ${last}`;
  });
  const end = statements.at(-1);
  if (end === undefined) return insert;
  const named = statements
    .slice(0, -1)
    .map((statement, index) => sql`${identifier(`following${index}`)} AS (${statement})`);
  return sql`WITH ${joinSql([sql`inserted AS (${insert} RETURNING position, ${columns})`, ...named], ', ')} ${end}`;
}

const all = sql`inserted`;
const numbered = sql`(SELECT *, row_number() OVER (ORDER BY position) - 1 AS place FROM inserted) AS numbered`;
