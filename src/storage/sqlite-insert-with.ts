import { GenerationMap } from '../base/generation-map.ts';
import { joinSql, partsOfInsert, sql, withValues, type Sql } from '../sql/sql.ts';
import type { InsertedRows, Insertion } from './database.ts';

export const lastPosition = sql`last_insert_rowid()`;

/** The rows with one statement, and then the others: these find them by their positions, which have no gaps, as nobody else inserts meanwhile. */
export function sqliteInsertWith(
  { from, inserts }: Insertion,
  following: (inserted: InsertedRows) => readonly Sql[],
): readonly Sql[] {
  const end = inserts.length - 1;
  const place = (row: number): Sql => sql`${lastPosition} - ${end - row}`;
  return [
    combineInserts(inserts),
    ...following((first, last) => sql`${from} WHERE position BETWEEN ${place(first)} AND ${place(last)}`),
  ];
}

/** A power of two: few texts, each of which is prepared. */
export function sqliteInsertsAtOnce(count: number): number {
  let size = togetherMax;
  while (size > count) size /= 2;
  return size;
}

const togetherMax = 64;

/** By the text of one, and then by their number. */
const combined = new GenerationMap<string, Map<number, Sql>>(16);

function combineInserts(inserts: readonly Sql[]): Sql {
  const [first = sql``] = inserts;
  if (inserts.length === 1) return first;
  const known = combined.findOrAdd(first.text, () => new Map<number, Sql>());
  let insert = known.get(inserts.length);
  if (insert === undefined) known.set(inserts.length, (insert = insertAll(inserts)));
  return withValues(
    insert,
    inserts.flatMap(({ values }) => values),
  );
}

function insertAll(inserts: readonly Sql[]): Sql {
  const parts = inserts.map(partsOfInsert);
  const rows = parts.map(({ row }) => sql`(${row})`);
  return withValues(sql`${parts[0]?.into ?? sql``} VALUES ${joinSql(rows, ', ')}`, []);
}
