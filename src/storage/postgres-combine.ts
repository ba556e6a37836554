import { GenerationMap } from '../base/generation-map.ts';
import { fillIn, identifier, joinSql, literal, rowOfInsert, sql, withValues, type Sql } from '../sql/sql.ts';
import type { Tuple } from './database.ts';
import { arrayText } from './postgres-names.ts';

/**
 * Several lookups as one statement; they differ in their keys alone. Not by `= ANY`: for more than a few keys that may be planned
 * as a look at the whole table, and such a plan outlives the small table that it was made for. So each key is looked for as it
 * would be by itself.
 */
export function combineLookups(lookups: readonly Sql[], end: Sql): Sql {
  const [first = sql``] = lookups;
  const given = first.values.slice(0, -1);
  const combined = remembered(first.text, end.text, () => {
    const one = fillIn(first, [...given.map(() => sql`?`), sql`"$key".key`]);
    return sql`SELECT "$key".number, "$row".* FROM unnest(${null}::text[]) WITH ORDINALITY AS "$key" (key, number)
      CROSS JOIN LATERAL (${one}${end}) AS "$row"`;
  });
  return withValues(combined, [arrayText(lookups.map(keyOf)), ...given]);
}

/** The last of its values. */
export function keyOf({ values }: Sql): string {
  return String(values.at(-1));
}

/** What each of so many lookups would have been answered by itself: a row at most. */
export function separateRows(count: number, rows: readonly Tuple[]): readonly (readonly Tuple[])[] {
  const found = Array.from({ length: count }, (): readonly Tuple[] => []);
  for (const [number, ...row] of rows) found[Number(number) - 1] = [row];
  return found;
}

/** A row for a table that counts positions, and the rows that hold its position. */
export interface Insertion {
  readonly first: Sql;
  readonly following: (position: Sql) => readonly Sql[];
}

export const insertedPosition = sql`(SELECT position FROM inserted)`;

/** Not by `lastval()`: works that share a transaction insert between each other's statements. */
export function combineInsertion({ first, following }: Insertion): Sql {
  return inserting(first, [], following(insertedPosition));
}

/** An insertion with its rows for a position that is not known yet, and the texts of these as one. */
export interface InsertionShape extends Insertion {
  readonly rows: readonly Sql[];
  readonly text: string;
}

/** Several of the same text at once: positions are given in the order of the rows. */
export function combineInsertions(insertions: readonly InsertionShape[]): Sql {
  const [{ text, rows: shape } = { text: '', rows: [] }] = insertions;
  const combined = remembered(text, insertions.length, () => insertAll(insertions));
  const values = shape.flatMap((_, place) => insertions.flatMap(({ rows }) => rows[place]?.values ?? []));
  return withValues(combined, values);
}

/** Its values: those of all first rows, then those of the rows that follow, place by place. */
function insertAll(insertions: readonly Insertion[]): Sql {
  const first = combineInserts(insertions.map((insertion) => insertion.first));
  const rows = insertions.map(({ following }, index) =>
    following(sql`(SELECT "all"[${literal(index + 1)}] FROM positions)`),
  );
  const [shape = []] = rows;
  const positions = sql`positions AS (SELECT array_agg(position ORDER BY position) AS "all" FROM inserted)`;
  const following = shape.map((_, place) => combineInserts(rows.flatMap((row) => row[place] ?? [])));
  return inserting(first, [positions], following);
}

function inserting(first: Sql, between: readonly Sql[], following: readonly Sql[]): Sql {
  const last = following.at(-1);
  if (last === undefined) return first;
  const named = following
    .slice(0, -1)
    .map((statement, index) => sql`${identifier(`following${index}`)} AS (${statement})`);
  return sql`WITH ${joinSql([sql`inserted AS (${first} RETURNING position)`, ...between, ...named], ', ')} ${last}`;
}

/** INSERTs of one row each into the same columns. */
function combineInserts(inserts: readonly Sql[]): Sql {
  const [first = sql``, ...others] = inserts;
  return joinSql([first, ...others.map(rowOfInsert)], ', ');
}

/** UPDATEs of different rows. All of them see what was there before. */
export function combineChanges(changes: readonly Sql[]): Sql {
  const last = changes.at(-1) ?? sql``;
  if (changes.length === 1) return last;
  const combined = remembered(last.text, changes.length, () => changeAll(changes, last));
  return withValues(
    combined,
    changes.flatMap(({ values }) => values),
  );
}

function changeAll(changes: readonly Sql[], last: Sql): Sql {
  const named = changes
    .slice(0, -1)
    .map((statement, index) => sql`${identifier(`change${index}`)} AS (${statement})`);
  return sql`WITH ${joinSql(named, ', ')} ${last}`;
}

/**
 * By their texts, and these by how or how many are combined: up to nine, of about 10 kB. Not by one key of both, which would be a
 * new text each time. Over all instances of a process.
 */
const combinedOf = new GenerationMap<string, Map<string | number, Sql>>(100);

/** What was put together before of statements of this text, in this way or number: their values are others each time. */
function remembered(text: string, way: string | number, make: () => Sql): Sql {
  const ways = combinedOf.findOrAdd(text, () => new Map<string | number, Sql>());
  let combined = ways.get(way);
  if (combined === undefined) ways.set(way, (combined = withValues(make(), [])));
  return combined;
}
