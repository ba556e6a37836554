import { identifier, sql, withValues, type Sql } from '../../sql/sql.ts';
import type { GivenColumn, Tuple } from '../database.ts';
import { toArrayOf } from './postgres-array.ts';
import { unnestArrays } from './unnest-arrays.ts';

/** The FROM item of each list of columns. */
const made = new WeakMap<readonly GivenColumn[], Sql>();

/** See `Names.given`: the rows are sent as one array for each column. */
export function postgresGiven(columns: readonly GivenColumn[], rows: readonly Tuple[]): Sql {
  const arrays = columns.map(([, kind], place) =>
    toArrayOf(
      kind,
      rows.map((row) => row[place] ?? null),
    ),
  );
  let given = made.get(columns);
  if (given === undefined) {
    const names = columns.map(([name]) => identifier(name));
    made.set(columns, (given = unnestArrays(arrays, sql`given`, names)));
  }
  return withValues(
    given,
    arrays.map(({ bytes }) => bytes),
  );
}
