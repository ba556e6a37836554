import { sql } from '../sql/sql.ts';
import type { GivenKind, Reader } from '../storage/database.ts';

/** The stored columns of a SQLite table. */
export interface TableColumns {
  readonly all: readonly TableColumn[];
  /** The primary key in its order: rows are copied in the order of their keys. */
  readonly key: readonly string[];
  /** The column that numbers the rows, if there is one. */
  readonly position: string | undefined;
}

export interface TableColumn {
  readonly name: string;
  readonly kind: GivenKind;
}

const kinds: Readonly<Record<string, GivenKind>> = {
  TEXT: 'text',
  INTEGER: 'number',
  REAL: 'number',
  BLOB: 'bytes',
};

/** Reads the columns from the schema itself, so that a column of a later migration is not forgotten. */
export async function readTableColumns(source: Reader, table: string): Promise<TableColumns> {
  const rows = await source.all(sql`SELECT name, type, pk FROM pragma_table_info(${table}) ORDER BY pk, cid`);
  const columns = rows.map((row) => ({ name: String(row['name']), kind: kindOf(row['type']) }));
  const key = rows.filter((row) => row['pk'] !== 0).map((row) => String(row['name']));
  const position = key.find((name) => name === 'position' || name === '$position');
  return { all: columns, key, position };
}

function kindOf(type: unknown): GivenKind {
  const kind = kinds[String(type)];
  if (kind === undefined) throw new Error(`a column has the unknown type ${String(type)}`);
  return kind;
}
