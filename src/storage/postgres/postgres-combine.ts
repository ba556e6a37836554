import {
  fillIn,
  identifier,
  joinSql,
  partsOfChange,
  partsOfInsert,
  sql,
  withValues,
  type Sql,
} from '../../sql/sql.ts';
import { CombinedStatements } from '../combined-statements.ts';
import type { Tuple } from '../database.ts';
import { arrayText, toColumnArrays } from './postgres-array.ts';
import { unnestArrays } from './unnest-arrays.ts';

/** Over all instances of a process. */
const combinedStatements = new CombinedStatements(100);

/**
 * Several lookups as one statement; they differ in their keys alone. Not by `= ANY`: for more than a few keys that may be planned
 * as a look at the whole table, and such a plan outlives the small table that it was made for. So each key is looked for as it
 * would be by itself.
 */
export function combineLookups(lookups: readonly Sql[], end: Sql): Sql {
  const [first = sql``] = lookups;
  const given = first.values.slice(0, -1);
  const combined = combinedStatements.recall(first.text, end.text, () => {
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

/**
 * INSERTs of one row each into the same columns, from an array for each column: one text however many they are, and a value for each
 * column instead of one for each column of each row.
 */
export function insertFromArrays(inserts: readonly Sql[]): Sql {
  return fromArrays(inserts, ({ first, columns, given }) => {
    const { into, row } = partsOfInsert(first);
    const values = fillIn(
      row,
      columns.map((column) => sql`"$given".${column}`),
    );
    return sql`${into} SELECT ${values} FROM ${given}`;
  });
}

/**
 * UPDATEs of different rows, each of which its work has locked, as an INSERT that finds all of them there. A conflict looks each row up
 * by the key; an UPDATE that is joined with arrays may be planned as a look at the whole table (see {@link combineLookups}).
 */
export function changeFromArrays(changes: readonly Sql[]): Sql {
  return fromArrays(changes, ({ first, given }) => {
    const { table, columns, key, set } = partsOfChange(first, sql`excluded`);
    return sql`INSERT INTO ${table} (${joinSql([...columns, key], ', ')}) SELECT * FROM ${given}
      ON CONFLICT (${key}) DO UPDATE SET ${set}`;
  });
}

interface FromArrays {
  readonly first: Sql;
  /** Of {@link given}, one for each of its values. */
  readonly columns: readonly Sql[];
  /** What stands behind FROM. */
  readonly given: Sql;
}

function fromArrays(statements: readonly Sql[], make: (parts: FromArrays) => Sql): Sql {
  const [first = sql``] = statements;
  if (statements.length === 1) return first;
  const arrays = toColumnArrays(
    first.values.length,
    statements.map(({ values }) => values),
  );
  const types = arrays.map(({ type }) => type);
  const combined = combinedStatements.recall(first.text, joinSql(types, ', ').text, () => {
    const columns = types.map((_, place) => identifier(`c${place}`));
    return make({ first, columns, given: unnestArrays(arrays, sql`"$given"`, columns) });
  });
  return withValues(
    combined,
    arrays.map(({ bytes }) => bytes),
  );
}
