import { Buffer } from 'node:buffer';
import { GenerationCache } from '../../base/cache.ts';
import type { ColumnKind } from '../../fields/field-type.ts';
import { sqliteDialect } from '../../filters/sqlite-dialect.ts';
import {
  explanation,
  identifier,
  joinSql,
  insertedRow,
  literal,
  ofTable,
  sql,
  type Sql,
  type SqlValue,
  withValues,
} from '../../sql/sql.ts';
import { CombinedStatements } from '../bulk-inserts.ts';
import type {
  Database,
  DependentRows,
  InlineColumn,
  Insertion,
  JsonWriter,
  Names,
  Plan,
  Tuple,
} from '../database.ts';
import { viewTables } from '../view-query.ts';

const none = sql``;
const everything = sql`TRUE`;
/** Table names as SQL, for all instances of a process: the same object each time, by which templates recognize what they spliced last. */
const tables = new GenerationCache<string, Sql>(5_000);

/** The FROM item of each list of columns. */
const valuesTables = new WeakMap<readonly InlineColumn[], Sql>();

const lastPosition = sql`last_insert_rowid()`;

const rowsMax = 64;

/** The combined INSERTs, by text and number of rows. */
const combined = new CombinedStatements(16);

/** A function of SQLite takes at most 1,000 arguments, and a collection may have 500 fields. */
const partsMax = 500;

/** JSON by SQLite's own functions. `json_quote` escapes exactly as JSON.stringify does; lone surrogates are never stored. */
const sqliteJson: JsonWriter = {
  value: (kind, column, ofNothing) => {
    switch (kind) {
      case 'text':
        return sql`json_quote(${column})`;
      case 'bool':
        return sql`iif(${column} = 1, 'true', 'false')`;
      case 'json':
        return sql`coalesce(nullif(${column}, ''), ${literal(ofNothing)})`;
      default:
        return sql`CASE WHEN ${column} = CAST(${column} AS INTEGER) AND abs(${column}) < ${wholeMax} THEN CAST(${column} AS INTEGER) ELSE ${identifier(jsonNumber)}(${column}) END`;
    }
  },
  concat,
};

/** Each instance has a file of its own, so names and scopes need no instance. */
export const sqliteNames: Names = {
  views: {
    table: (name) => ofTable(identifier(name), viewTables),
    value: viewValue,
    create: async (tx, name, select) => {
      await tx.run(sql`CREATE VIEW ${tableOf(name)} AS ${select}`);
    },
    drop: (name) => sql`DROP VIEW IF EXISTS ${tableOf(name)}`,
  },
  engine: 'sqlite',
  table: tableOf,
  columnsOf: (name) => sql`
    SELECT name, CASE type WHEN 'TEXT' THEN 'text' WHEN 'BLOB' THEN 'bytes' ELSE 'number' END FROM pragma_table_info(${name})
    ORDER BY cid`,
  collectionTable: tableOf,
  bareName: identifier,
  indexNames: sql`SELECT name FROM sqlite_schema WHERE type = 'index'`,
  column: identifier,
  dataBytes: sql`SELECT (page_count - freelist_count) * page_size FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`,
  instance: { condition: everything, conditionOf: () => everything, column: none, value: none },
  lastPosition,
  insertWithDependents: sqliteInsertWith,
  valuesTable: sqliteValuesTable,
  anyOf: isAny,
  anyNumberOf: isAny,
  // node:sqlite cannot interrupt a statement. The argument keeps SQLite from evaluating the function only once per statement.
  isInTime: (number, looks) => {
    const look = sql`"$in_time"(${number})`;
    return looks === 'for every row' ? look : sql`(${number} & 63 OR ${look})`;
  },
  textOfBytes: (column) => sql`CAST(${column} AS TEXT)`,
  json: sqliteJson,
  dialect: sqliteDialect,
  positions: {
    // https://www.sqlite.org/autoinc.html
    last: ({ name }) => sql`SELECT seq FROM sqlite_sequence WHERE name = ${name}`,
    goOnBehind: ({ name }, position) => [
      sql`INSERT INTO sqlite_sequence (name, seq) SELECT name, 0 FROM sqlite_schema
        WHERE name = ${name} AND sql LIKE '%AUTOINCREMENT%' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence s WHERE s.name = ${name})`,
      sql`UPDATE sqlite_sequence SET seq = max(seq, ${position}) WHERE name = ${name}`,
    ],
  },
  tables: {
    hiddenColumns: () =>
      sql`"$position" INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "$revision" INTEGER NOT NULL`,
    hiddenNames: sql`"$position", id, "$revision"`,
    end: sql` STRICT`,
    addedKeys: () => undefined,
    rebuilding: {
      // The last position of each table (https://www.sqlite.org/autoinc.html).
      movePositions: (from, to) => sql`UPDATE sqlite_sequence SET name = ${to} WHERE name = ${from}`,
    },
    rowCounting: {
      make: (table, id) => [
        sql`CREATE TRIGGER ${addsTrigger(id)} AFTER INSERT ON ${table} BEGIN
          UPDATE "$quota" SET room = room - 1 WHERE name = 'records';
          SELECT RAISE(ABORT, 'quota of records') FROM "$quota" WHERE name = 'records' AND room < 0;
        END`,
        sql`CREATE TRIGGER ${deletesTrigger(id)} AFTER DELETE ON ${table} BEGIN
          UPDATE "$quota" SET room = room + 1 WHERE name = 'records';
        END`,
      ],
      drop: (_table, id) =>
        [addsTrigger(id), deletesTrigger(id)].map((name) => sql`DROP TRIGGER IF EXISTS ${name}`),
    },
    indexKeys: (keys) => keys.map((key) => sql`${key.sql}${key.order}`),
    indexedPart: () => undefined,
  },
  isConcurrent: false,
  leavesDeadRows: false,
  readPlan,
  locks: { forUpdate: none, forDelete: none, forReference: none, skipLocked: none },
};

function viewValue(column: Sql, kind: ColumnKind | 'any', zero: Sql): Sql {
  switch (kind) {
    case 'any':
      return sql`CASE typeof(${column}) WHEN 'null' THEN NULL WHEN 'text' THEN iif(json_valid(${column}), ${column}, json_quote(${column}))
        WHEN 'blob' THEN json_quote(hex(${column}))
        WHEN 'real' THEN json_quote(iif(${column} = CAST(${column} AS INTEGER) AND abs(${column}) < ${wholeMax}, CAST(${column} AS INTEGER), ${column}))
        ELSE json_quote(${column}) END`;
    case 'number':
      return sql`coalesce(CAST(${column} AS REAL), ${zero})`;
    case 'bool':
      return sql`iif(${column} = 1, 1, 0)`;
    default:
      return sql`coalesce(CAST(${column} AS TEXT), ${zero})`;
  }
}

function addsTrigger(collectionId: string): Sql {
  return identifier(`$quota_add_${collectionId}`);
}

function deletesTrigger(collectionId: string): Sql {
  return identifier(`$quota_delete_${collectionId}`);
}

function isAny(values: readonly (string | number)[]): Sql {
  return sql` IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
}

function tableOf(name: string): Sql {
  return tables.findOrAdd(name, () => ofTable(identifier(name), name));
}

/** See `Names.valuesTable`: the rows are sent as JSON, each as an array, with bytes as hexadecimal digits. */
function sqliteValuesTable(columns: readonly InlineColumn[], rows: readonly Tuple[]): Sql {
  let table = valuesTables.get(columns);
  if (table === undefined) valuesTables.set(columns, (table = makeValuesTable(columns)));
  return withValues(table, [JSON.stringify(rows.map((row) => row.map(toJson)))]);
}

function makeValuesTable(columns: readonly InlineColumn[]): Sql {
  const values = columns.map(([name, kind], place) => {
    const value = sql`value ->> ${literal(place)}`;
    return sql`${kind === 'bytes' ? sql`unhex(${value})` : value} AS ${identifier(name)}`;
  });
  return sql`(SELECT ${joinSql(values, ', ')} FROM json_each(${null})) AS given`;
}

function toJson(value: SqlValue): SqlValue {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  // As where a text is bound: SQLite would keep half a surrogate pair, which is no UTF-8.
  return typeof value === 'string' ? value.toWellFormed() : value;
}

/** The rows first, then their dependents, which find them by their positions: there are no gaps, as no other work inserts meanwhile. */
function sqliteInsertWith(
  { from, inserts }: Insertion,
  { into, row, columns, runs }: DependentRows,
): readonly Sql[] {
  const end = inserts.length - 1;
  const places = sql`inserted.position BETWEEN ${lastPosition} - ${null} AND ${lastPosition} - ${null}`;
  const valueColumns = joinSql(
    columns.map(([name]) => sql`${null} AS ${identifier(name)}`),
    ', ',
  );
  const insert = sql`${into} SELECT ${row} FROM (SELECT ${valueColumns}) AS given CROSS JOIN ${from} AS inserted WHERE ${places}`;
  return [
    ...partsOf(inserts).map(insertOfRows),
    ...runs.map(({ first, last, values }) =>
      withValues(insert, [...into.values, ...row.values, ...values, end - first, end - last]),
    ),
  ];
}

/** Splits the inserts into parts of 64, 32, 16 … rows, so that there are few SQL texts and all of them stay prepared. */
function partsOf(inserts: readonly Sql[]): readonly (readonly Sql[])[] {
  const parts: (readonly Sql[])[] = [];
  let from = 0;
  for (let size = rowsMax; size >= 1; size /= 2)
    for (; inserts.length - from >= size; from += size) parts.push(inserts.slice(from, from + size));
  return parts;
}

function insertOfRows(inserts: readonly Sql[]): Sql {
  const [first = sql``] = inserts;
  if (inserts.length === 1) return first;
  const insert = combined.findOrCombine(first.text, inserts.length, () => {
    const { into, row } = insertedRow(first);
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

/** The name of a function that every connection registers, for numbers that SQLite would write differently from JSON.stringify. */
export const jsonNumber = '$json_number';

/** From here on, JavaScript or SQLite writes whole numbers with an exponent, or they are not exact. */
const wholeMax = sql`9e15`;

function concat(parts: readonly Sql[]): Sql {
  if (parts.length <= partsMax) return sql`concat(${joinSql(parts, ', ')})`;
  return sql`concat(${joinSql(parts.slice(0, partsMax - 1), ', ')}, ${concat(parts.slice(partsMax - 1))})`;
}

/** Matches a table that is read from its beginning, but no subquery, list of constants or table-valued function. */
const SCAN = /^SCAN (?!\(|CONSTANT|\d+ CONSTANT)\S+(?!.* VIRTUAL TABLE)/;

/** See https://www.sqlite.org/eqp.html. */
async function readPlan(database: Database, select: Sql): Promise<Plan> {
  const rows = await database.all(explanation(sql`EXPLAIN QUERY PLAN ${select}`));
  const lines = rows.map((row) => String(row['detail']));
  const scanned = lines.filter((line) => SCAN.test(line)).length;
  return { scanned, isSorted: lines.includes('USE TEMP B-TREE FOR ORDER BY') };
}
