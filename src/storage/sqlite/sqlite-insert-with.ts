import { identifier, joinSql, partsOfInsert, sql, withValues, type Sql } from '../../sql/sql.ts';
import { CombinedStatements } from '../combined-statements.ts';
import type { FollowingRows, Insertion } from '../database.ts';

export const lastPosition = sql`last_insert_rowid()`;

/** The rows first, then those that follow, which find them by their positions: there are no gaps, as nobody else inserts meanwhile. */
export function sqliteInsertWith(
  { from, inserts }: Insertion,
  { into, row, columns, runs }: FollowingRows,
): readonly Sql[] {
  const end = inserts.length - 1;
  const places = sql`inserted.position BETWEEN ${lastPosition} - ${null} AND ${lastPosition} - ${null}`;
  const given = joinSql(
    columns.map(([name]) => sql`${null} AS ${identifier(name)}`),
    ', ',
  );
  const insert = sql`${into} SELECT ${row} FROM (SELECT ${given}) AS given CROSS JOIN ${from} AS inserted WHERE ${places}`;
  return [
    ...partsOf(inserts).map(insertOfRows),
    ...runs.map(({ first, last, values }) =>
      withValues(insert, [...into.values, ...row.values, ...values, end - first, end - last]),
    ),
  ];
}

const togetherMax = 64;

/** Splits the inserts into parts of 64, 32, 16 … rows, so that there are few SQL texts and all of them stay prepared. */
function partsOf(inserts: readonly Sql[]): readonly (readonly Sql[])[] {
  const parts: (readonly Sql[])[] = [];
  let from = 0;
  for (let size = togetherMax; size >= 1; size /= 2)
    for (; inserts.length - from >= size; from += size) parts.push(inserts.slice(from, from + size));
  return parts;
}

/** The combined INSERTs, by text and number of rows. */
const combined = new CombinedStatements(16);

function insertOfRows(inserts: readonly Sql[]): Sql {
  const [first = sql``] = inserts;
  if (inserts.length === 1) return first;
  const insert = combined.recall(first.text, inserts.length, () => {
    const { into, row } = partsOfInsert(first);
    return sql`${into} VALUES ${joinSql(
      inserts.map(() => sql`(${row})`),
      ', ',
    )}`;
  });
  return withValues(
    insert,
    inserts.flatMap(({ values }) => values),
  );
}
