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

/** Shared by all instances of the process. */
const combinedStatements = new CombinedStatements(100);

/**
 * Combines lookups that differ only in their keys into one statement, which looks up each key by itself. Not by `= ANY`: with more than
 * a few keys that may be planned as a sequential scan, and the plan stays cached when the table has grown.
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

/** Returns the key of a lookup or a change: the last of its values. */
export function keyOf({ values }: Sql): string {
  return String(values.at(-1));
}

/** Splits the rows of `count` combined lookups into the answers of each, of at most one row. */
export function separateRows(count: number, rows: readonly Tuple[]): readonly (readonly Tuple[])[] {
  const found = Array.from({ length: count }, (): readonly Tuple[] => []);
  for (const [number, ...row] of rows) found[Number(number) - 1] = [row];
  return found;
}

/**
 * Combines INSERTs of one row each into the same columns: the values are sent as one array for each column, so that the SQL text is the
 * same for any number of rows.
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
 * Combines UPDATEs of different rows, each locked by its work, into an INSERT … ON CONFLICT that conflicts for every row. A conflict is
 * always found by the key's index, while an UPDATE joined with arrays may be planned as a sequential scan (see {@link combineLookups}).
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
  /** The columns of {@link given}, one for each value of a statement. */
  readonly columns: readonly Sql[];
  /** The FROM item that unnests the arrays. */
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
