import { sql, type Sql } from '../../sql/sql.ts';
import type { FollowingRows, Insertion, PlainTuple } from '../database.ts';
import { insertFromArrays } from './postgres-combine.ts';
import { postgresGiven } from './postgres-given.ts';

/**
 * Inserts rows and the rows that follow from them by one statement, with the same SQL text for any number of either. Positions are
 * taken from RETURNING, not computed from `lastval()`: they may have gaps, as other sessions draw numbers meanwhile.
 */
export function postgresInsertWith({ inserts, columns }: Insertion, following: FollowingRows): Sql {
  const insert = insertFromArrays(inserts);
  const { into, row, runs } = following;
  if (runs.length === 0) return insert;
  const isOfAll = runs.every(({ first, last }) => first === 0 && last === inserts.length - 1);
  const from = isOfAll ? withAll(following) : withSome(following);
  return sql`WITH inserted AS (${insert} RETURNING position, ${columns}) ${into} SELECT ${row} FROM ${from}`;
}

/** The usual case, in which each run covers all inserted rows: their places need not be known. */
function withAll({ columns, runs }: FollowingRows): Sql {
  const given = postgresGiven(
    columns,
    runs.map(({ values }) => values),
  );
  return sql`inserted CROSS JOIN ${given}`;
}

function withSome({ columns, runs }: FollowingRows): Sql {
  const rows: PlainTuple[] = [];
  for (const { first, last, values } of runs)
    for (let place = first; place <= last; place += 1) rows.push([place, ...values]);
  const given = postgresGiven([['place', 'number'], ...columns], rows);
  return sql`${numbered} JOIN ${given} ON given.place = inserted.place`;
}

const numbered = sql`(SELECT *, row_number() OVER (ORDER BY position) - 1 AS place FROM inserted) AS inserted`;
