import { GenerationCache } from '../../base/cache.ts';
import { postgresDialect } from '../../filters/postgres-dialect.ts';
import { identifier, literal, ofTable, sql, type Sql, withValues } from '../../sql/sql.ts';
import type {
  DependentRows,
  InlineColumn,
  Insertion,
  JsonWriter,
  Names,
  PlainTuple,
  Tuple,
} from '../database.ts';
import { insertFromArrays, unnestArrays } from './batched-statements.ts';
import { arrayText, toArrayOf } from './postgres-array.ts';
import { postgresTables, readPlan } from './postgres-tables.ts';
import { postgresViews } from './postgres-views.ts';

/** The names for one instance: its collections have a schema of their own, the internal tables are shared and have an `instance_id`. */
export function postgresNames(schema: string, instanceId: string): Names {
  const tablesOfCollections = new GenerationCache<string, Sql>(namesMax);
  const toCollectionTable = (name: string): Sql =>
    ofTable(sql`${identifier(schema)}.${toBareName(name)}`, collectionTables);
  return {
    engine: 'postgres',
    table: (name) => tables.findOrAdd(name, toTable),
    columnsOf: (name) => sql`
      SELECT attname, CASE format_type(atttypid, NULL) WHEN 'text' THEN 'text' WHEN 'bytea' THEN 'bytes' ELSE 'number' END
      FROM pg_attribute WHERE attrelid = ${`chancery.${name.slice('$'.length)}`}::regclass AND attnum > 0 AND NOT attisdropped
        AND attname <> 'instance_id' ORDER BY attnum`,
    collectionTable: (name) => tablesOfCollections.findOrAdd(name, toCollectionTable),
    bareName: (name) => bareNames.findOrAdd(name, toBareName),
    column: (name) => columns.findOrAdd(name, toColumn),
    indexNames: sql`SELECT indexname FROM pg_indexes WHERE schemaname = ${schema}`,
    dataBytes: sql`SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = ${schema}::regnamespace`,
    instance: {
      condition: sql`instance_id = ${instanceId}`,
      conditionOf: (alias) => sql`${identifier(alias)}.instance_id = ${instanceId}`,
      column: sql`instance_id, `,
      value: sql`${instanceId}, `,
    },
    // In a subquery: a volatile function is otherwise called for each row, and its value cannot be looked up in an index.
    lastPosition: sql`(SELECT lastval())`,
    insertWithDependents: (insertion, following) => [postgresInsertWith(insertion, following)],
    valuesTable: postgresValuesTable,
    anyOf: (values) => sql` = ANY(${arrayText(values)}::text[])`,
    anyNumberOf: (values) => sql` = ANY(${`{${values.join(',')}}`}::bigint[])`,
    isInTime: () => undefined,
    textOfBytes: (column) => sql`convert_from(${column}, 'UTF8')`,
    json: postgresJson,
    dialect: postgresDialect,
    tables: tableDialect,
    views: postgresViews(schema, {
      collectionTable: (name) => tablesOfCollections.findOrAdd(name, toCollectionTable),
      bareName: (name) => bareNames.findOrAdd(name, toBareName),
    }),
    positions: {
      last: ({ table, column }) =>
        sql`SELECT pg_sequence_last_value(pg_get_serial_sequence(${table.text}, ${column})::regclass)`,
      goOnBehind: ({ table, column }, position) => [
        sql`SELECT setval(sequence, ${position + positionsAhead}) FROM (SELECT pg_get_serial_sequence(${table.text}, ${column})::regclass AS sequence) AS of_table
          WHERE sequence IS NOT NULL AND coalesce(pg_sequence_last_value(sequence), 0) < ${position}`,
      ],
    },
    isConcurrent: true,
    leavesDeadRows: true,
    readPlan,
    locks: {
      // Not FOR UPDATE: keys are never changed, and other transactions may go on writing rows that refer to this one.
      forUpdate: sql` FOR NO KEY UPDATE`,
      forDelete: sql` FOR UPDATE`,
      // The lock that foreign keys take: it blocks only deletes.
      forReference: sql` FOR KEY SHARE`,
      skipLocked: sql` FOR UPDATE SKIP LOCKED`,
    },
  };
}

/** Others may draw positions while a sequence is set: never so many, so that it is never set back. */
const positionsAhead = 1_000_000;

/** What the tables of all collections are in {@link Sql.tables}. */
export const collectionTables = 'collections';

const tableDialect = postgresTables((name) => bareNames.findOrAdd(name, toBareName));

/** The size of the caches of names as SQL, which every statement needs. All but those of collections' tables serve all instances. */
const namesMax = 5_000;
const tables = new GenerationCache<string, Sql>(namesMax);
const bareNames = new GenerationCache<string, Sql>(namesMax);
const columns = new GenerationCache<string, Sql>(namesMax);

function toTable(name: string): Sql {
  return ofTable(sql`chancery.${identifier(name.slice('$'.length))}`, name);
}

function toBareName(name: string): Sql {
  return identifier(physicalName(name));
}

function toColumn(name: string): Sql {
  return identifier(physicalColumn(name));
}

/** The names of every table's system columns (PostgreSQL 18, section 5.6), which no other column can have. In capitals they are free. */
const systemColumns: ReadonlySet<string> = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);

/** As {@link physicalName}, for a column. */
export function physicalColumn(name: string): string {
  return systemColumns.has(name) ? `${name}$` : physicalName(name);
}

/** NAMEDATALEN - 1. PostgreSQL truncates longer names without an error, so that two names could become one. */
const nameBytesMax = 63;
const hashLength = 13;

/** A name that fits. One that is too long becomes its beginning, `$`, which no user's name contains, and a hash of all of it. */
export function physicalName(name: string): string {
  if (Buffer.byteLength(name) <= nameBytesMax) return name;
  let start = name.slice(0, nameBytesMax);
  while (Buffer.byteLength(start) > nameBytesMax - hashLength - 1) start = start.slice(0, -1);
  return `${start}$${hash64(name).toString(36).padStart(hashLength, '0')}`;
}

/** The key of the advisory lock that an instance's writers share and an exclusive work takes alone. */
export function advisoryKey(instanceId: string): bigint {
  return BigInt.asIntN(64, hash64(`chancery instance ${instanceId}`));
}

/** FNV-1a, 64 bits. On a collision a second table cannot be made, or two instances wait for each other's changes of tables. */
function hash64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}

/**
 * Inserts rows and the rows that follow from them by one statement, with the same SQL text for any number of either. Positions are
 * taken from RETURNING, not computed from `lastval()`: they may have gaps, as other sessions draw numbers meanwhile.
 */
function postgresInsertWith({ inserts }: Insertion, following: DependentRows): Sql {
  const insert = insertFromArrays(inserts);
  const { into, row, runs } = following;
  if (runs.length === 0) return insert;
  const isOfAll = runs.every(({ first, last }) => first === 0 && last === inserts.length - 1);
  const from = isOfAll ? withAll(following) : withSome(following);
  return sql`WITH inserted AS (${insert} RETURNING position) ${into} SELECT ${row} FROM ${from}`;
}

/** The usual case, in which each run covers all inserted rows: their places need not be known. */
function withAll({ columns, runs }: DependentRows): Sql {
  const rows = postgresValuesTable(
    columns,
    runs.map(({ values }) => values),
  );
  return sql`inserted CROSS JOIN ${rows}`;
}

function withSome({ columns, runs }: DependentRows): Sql {
  const rows: PlainTuple[] = [];
  for (const { first, last, values } of runs)
    for (let place = first; place <= last; place += 1) rows.push([place, ...values]);
  const rowTable = postgresValuesTable([['place', 'number'], ...columns], rows);
  return sql`${numbered} JOIN ${rowTable} ON given.place = inserted.place`;
}

const numbered = sql`(SELECT *, row_number() OVER (ORDER BY position) - 1 AS place FROM inserted) AS inserted`;

/** The FROM item of each list of columns. */
const valuesTables = new WeakMap<readonly InlineColumn[], Sql>();

/** See `Names.valuesTable`: the rows are sent as one array for each column. */
function postgresValuesTable(columns: readonly InlineColumn[], rows: readonly Tuple[]): Sql {
  const arrays = columns.map(([, kind], place) =>
    toArrayOf(
      kind,
      rows.map((row) => row[place] ?? null),
    ),
  );
  let table = valuesTables.get(columns);
  if (table === undefined) {
    const names = columns.map(([name]) => identifier(name));
    valuesTables.set(columns, (table = unnestArrays(arrays, sql`given`, names)));
  }
  return withValues(
    table,
    arrays.map(({ bytes }) => bytes),
  );
}

/** From here on, PostgreSQL writes whole numbers with an exponent. */
const wholeMax = sql`1e15`;

/** JSON by PostgreSQL's own functions. `to_json` escapes exactly as JSON.stringify does; lone surrogates are never stored. */
const postgresJson: JsonWriter = {
  value: (kind, column, ofNothing) => {
    switch (kind) {
      case 'text':
        return sql`to_json(${column})::text`;
      case 'bool':
        return sql`CASE WHEN ${column} = 1 THEN 'true' ELSE 'false' END`;
      case 'json':
        return sql`coalesce(nullif(${column}, ''), ${literal(ofNothing)})`;
      default:
        return numberText(column);
    }
  },
  concat,
};

/**
 * The range in which a decimal of 17 digits or fewer can lie exactly half-way between two doubles. It begins at 2^54. It ends at 1e40,
 * because such a half-way point is a power of 2 times an odd number below 2^54, which 5^24 does not divide: the decimal has at most 17
 * digits and 23 zeros.
 */
const middlesMin = sql`18014398509481984`;
const middlesEnd = sql`1e40`;

/**
 * Writes a number as JavaScript does. Both write the fewest digits that read back as the same number. But JavaScript uses an exponent
 * below 1e-6 and from 1e21 on, PostgreSQL below 1e-4 and from 1e15 on, and there with at least two digits.
 */
function numberText(column: Sql): Sql {
  return sql`CASE WHEN ${column} = trunc(${column}) AND abs(${column}) < ${wholeMax} THEN ${column}::bigint::text
    WHEN abs(${column}) >= 1e-4 AND abs(${column}) < ${wholeMax} THEN ${column}::text
    WHEN abs(${column}) >= ${middlesMin} AND abs(${column}) < 1e21 THEN ${shortestText(column)}::numeric::text
    WHEN abs(${column}) >= ${middlesMin} AND abs(${column}) < ${middlesEnd} THEN ${shortestText(column)}
    WHEN abs(${column}) >= 1e-6 AND abs(${column}) < 1e21 THEN ${column}::text::numeric::text
    ELSE replace(${column}::text, 'e-0', 'e-') END`;
}

/**
 * The shortest decimal, even one half-way between two doubles, which reads back as the even one. PostgreSQL avoids these and takes more
 * digits: it writes 1e23 as 9.999999999999999e+22. Such a decimal has at most 16 digits, followed by zeros.
 */
function shortestText(column: Sql): Sql {
  const written = (number: Sql, pattern: Sql): Sql =>
    sql`regexp_replace(ltrim(to_char(${number}, ${pattern})), '\\.*0*e', 'e')`;
  // The cast to numeric rounds to 15 digits.
  const to15 = written(sql`${column}::numeric`, sql`'9.99999999999999EEEE'`);
  const to16 = written(sql`${column}::text::numeric`, sql`'9.999999999999999EEEE'`);
  const isSame = (text: Sql): Sql => sql`${text}::double precision = ${column}`;
  return sql`(CASE WHEN ${isSame(to15)} THEN ${to15} WHEN ${isSame(to16)} THEN ${to16} ELSE ${column}::text END)`;
}

/** Concatenates as a balanced tree: each `||` copies its left operand, so a chain would copy the row again for each field. */
function concat(parts: readonly Sql[]): Sql {
  const [first = literal('')] = parts;
  if (parts.length <= 1) return first;
  const half = Math.ceil(parts.length / 2);
  return sql`(${concat(parts.slice(0, half))} || ${concat(parts.slice(half))})`;
}
