import { joinSql, partsOfInsert, sql, withValues, type Sql } from '../sql/sql.ts';
import { CombinedStatements } from './combined-statements.ts';
import type { InsertedRows, Insertion } from './database.ts';

export const lastPosition = sql`last_insert_rowid()`;

/** The rows, and then the others: these find them by their positions, which have no gaps, as nobody else inserts meanwhile. */
export function sqliteInsertWith(
  { from, inserts }: Insertion,
  following: (inserted: InsertedRows) => readonly Sql[],
): readonly Sql[] {
  const end = inserts.length - 1;
  const place = (row: number): Sql => sql`${lastPosition} - ${end - row}`;
  return [
    ...partsOf(inserts).map(combineInserts),
    ...following((first, last) => sql`${from} WHERE position BETWEEN ${place(first)} AND ${place(last)}`),
  ];
}

const togetherMax = 64;

/** Of 64, 32, 16 … rows, so that few texts come of them, and each is prepared. */
function partsOf(inserts: readonly Sql[]): readonly (readonly Sql[])[] {
  const parts: (readonly Sql[])[] = [];
  let from = 0;
  for (let size = togetherMax; size >= 1; size /= 2)
    for (; inserts.length - from >= size; from += size) parts.push(inserts.slice(from, from + size));
  return parts;
}

/** By the numbers of rows. */
const combined = new CombinedStatements(16);

function combineInserts(inserts: readonly Sql[]): Sql {
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
