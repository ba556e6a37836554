import { AppError } from '../../base/errors.ts';
import { idAlphabet, randomText } from '../../base/ids.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { ColumnKind } from '../../fields/field-type.ts';
import {
  identifier,
  joinSql,
  literal,
  ofTable,
  singleStatement,
  sql,
  type Sql,
  viewSelect,
} from '../../sql/sql.ts';
import { OutdatedDefinitions } from '../engine-errors.ts';
import type { Database, Names, Transaction, Tuple } from '../database.ts';
import {
  type ViewDescription,
  type ViewDialect,
  type ViewDraft,
  viewTables,
  type ViewWriter,
} from '../view-query.ts';
import { isOutdatedName, sqlState } from './postgres-errors.ts';
import { readViewTree, type ViewTree } from './view-tree.ts';

/**
 * Views on PostgreSQL. A query is made a view before anything is run: the server then has its tree, with all names resolved, and that is
 * what is looked at. A draft is made beside empty tables in a schema of its own, which is rolled back; a view beside the collections, in
 * the transaction that saves it, and is looked at again there. Each time two things are looked at: the tree, and the plan that is made of
 * it. A view is read in a transaction that can only read (pooled-reads.ts).
 */

/** How an instance with this schema writes about its views. */
export function postgresViews(
  schema: string,
  names: Pick<Names, 'collectionTable' | 'bareName'>,
): ViewDialect {
  return {
    // Of a collection, and marked: it is read in a transaction that can only read.
    table: (name) => sql`${names.collectionTable(name)}${ofTable(sql``, viewTables)}`,
    value: viewValue,
    create: async (tx, name, select) => {
      const tables = new Set((await tablesOf(tx, schema)).keys());
      const view = { schema, name: names.bareName(name), select, tables };
      const problem = await createIn(tx, view).catch((error: unknown) => {
        // Of a view that was saved before its plan was looked at: a constant in it cannot be computed.
        if (sqlState(error)?.startsWith('22') !== true) throw error;
        throw new AppError('bad_request', `The view ${name} is refused: ${String(queryProblem(error))}.`);
      });
      if (typeof problem === 'string')
        throw new AppError('bad_request', `The view ${name} is refused: ${problem}.`);
    },
    // A view is made again after those that it reads; CASCADE drops those that read it, and they are dropped by themselves, too.
    drop: (name) => sql`DROP VIEW IF EXISTS ${names.collectionTable(name)} CASCADE`,
  };
}

/** The transaction of a draft is rolled back. */
class Drafted extends Error {
  readonly description: ViewDescription;

  constructor(description: ViewDescription) {
    super('The draft of a view is rolled back.');
    this.description = description;
  }
}

export async function describePostgresView(database: Database, draft: ViewDraft): Promise<ViewDescription> {
  try {
    return await database.write(async (tx) => {
      throw new Drafted(await describe(tx, draft));
    });
  } catch (error) {
    if (error instanceof Drafted) return error.description;
    const problem = queryProblem(error);
    if (problem === undefined) throw error;
    return { problem };
  }
}

/** Runs a statement around a query that was described. */
export function searchPostgresDraft(
  database: Database,
  { schema, pool }: { readonly schema: string; readonly pool: { readonly queryTimeoutMs: number } },
  statement: Sql,
): Promise<Tuple[]> {
  return database.write(async (tx) => {
    await tx.run(sql`SET TRANSACTION READ ONLY`);
    await tx.run(sql`SET LOCAL statement_timeout = ${literal(pool.queryTimeoutMs)}`);
    await tx.run(searchPath(schema));
    try {
      return await tx.tuples(singleStatement(statement));
    } catch (error) {
      if (isOutdatedName(error)) throw new OutdatedDefinitions(error);
      const problem = queryProblem(error);
      throw problem === undefined ? error : new AppError('bad_request', `${problem}.`, { cause: error });
    }
  });
}

async function describe(tx: Transaction, { query, tables }: ViewDraft): Promise<ViewDescription> {
  const schema = `$view_${randomText(12, idAlphabet)}`;
  const { names } = tx;
  await tx.run(sql`CREATE SCHEMA ${identifier(schema)}`);
  for (const { name, columns } of tables) {
    const definitions = columns.map(
      (column) => sql`${names.column(column.name)} ${names.dialect.columnType(column.kind)}`,
    );
    await tx.run(
      sql`CREATE TABLE ${identifier(schema)}.${names.bareName(name)} (${joinSql(definitions, ', ')})`,
    );
  }
  const tableNames = await tablesOf(tx, schema);
  const select = sql`${viewSelect(query)}`;
  const view = identifier('$view');
  const tree = await createIn(tx, { schema, name: view, select, tables: new Set(tableNames.keys()) });
  if (typeof tree === 'string') return { problem: tree };
  const columns = await columnsOf(tx, schema);
  const named = columns.get('$view') ?? [];
  return {
    columns: named.map((name, index) => {
      const origin = tree.origins.get(index + 1);
      const table = origin && tableNames.get(origin.table);
      const column = origin && table !== undefined && columns.get(table)?.[origin.column - 1];
      return {
        name,
        ...(table !== undefined && column !== undefined && column !== false && { from: { table, column } }),
      };
    }),
    reads: [...tree.tables].flatMap((id) => tableNames.get(id) ?? []),
  };
}

interface ViewParts {
  readonly schema: string;
  readonly name: Sql;
  readonly select: Sql;
  /** What it may read. */
  readonly tables: ReadonlySet<number>;
}

/** Makes a view and returns its tree, or why it is refused. The transaction has to be rolled back then. */
async function createIn(
  tx: ViewWriter,
  { schema, name, select, tables }: ViewParts,
): Promise<ViewTree | string> {
  const view = sql`${identifier(schema)}.${name}`;
  await tx.run(searchPath(schema));
  await tx.run(singleStatement(sql`CREATE VIEW ${view} AS ${select}`));
  const [row] = await tx.tuples(
    sql`SELECT ev_class::bigint, ev_action::text FROM pg_catalog.pg_rewrite WHERE ev_class = ${view.text}::regclass`,
  );
  await tx.run(sql`SET LOCAL search_path TO DEFAULT`);
  const [own, action] = row ?? [];
  const tree = readViewTree(String(action));
  if (typeof tree === 'string') return tree;
  // Trees of older versions name the view itself.
  const strange = [...tree.tables].find((id) => !tables.has(id) && id !== Number(own));
  if (strange !== undefined) return 'a view can only read collections';
  return (await functionProblem(tx, tree)) ?? (await planProblem(tx, { schema, name })) ?? tree;
}

/**
 * Returns what is wrong with what a view reads, by the plan that the server makes to read it. The tree is our reading of a text of the
 * server; this is a second look, at the server's own list of what it will open.
 */
export async function planProblem(
  tx: ViewWriter,
  { schema, name }: Pick<ViewParts, 'schema' | 'name'>,
): Promise<string | undefined> {
  const [row] = await tx.tuples(
    sql`EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) SELECT * FROM ${identifier(schema)}.${name}`,
  );
  const nodes = planNodes(JSON.parse(String(row?.[0])));
  const isStrange = nodes.some(
    ({ 'Relation Name': table, Schema: of }) => table !== undefined && of !== schema,
  );
  if (isStrange || nodes.length === 0) return 'a view can only read collections';
  const called = nodes.map((node) => node['Function Name']).filter((name) => typeof name === 'string');
  const refused = called.find((name) => !allowedFunctions.has(name));
  return refused && `the function ${refused} cannot be used in a view`;
}

/** Returns all nodes of a plan (https://www.postgresql.org/docs/current/sql-explain.html). */
function planNodes(value: unknown): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(planNodes);
  if (!isJsonObject(value)) return [];
  const below = Object.values(value).flatMap(planNodes);
  return 'Node Type' in value ? [value, ...below] : below;
}

async function functionProblem(tx: ViewWriter, { functions }: ViewTree): Promise<string | undefined> {
  const rows = await tx.tuples(
    sql`SELECT proname::text FROM pg_catalog.pg_proc WHERE oid = ANY(${`{${[...functions].join(',')}}`}::oid[])`,
  );
  const names = rows.map(([name]) => String(name));
  const refused = names.find((name) => !allowedFunctions.has(name));
  if (refused !== undefined) return `the function ${refused} cannot be used in a view`;
  return names.length === functions.size ? undefined : 'a function of the view is not there';
}

/** The collections first: none is hidden by a table of the server. */
function searchPath(schema: string): Sql {
  return sql`SET LOCAL search_path = ${identifier(schema)}, pg_catalog`;
}

/** Returns the names of a schema's tables and views by their numbers. */
async function tablesOf(tx: ViewWriter, schema: string): Promise<ReadonlyMap<number, string>> {
  const rows = await tx.tuples(
    sql`SELECT c.oid::bigint, c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ${schema} AND c.relkind IN ('r', 'v')`,
  );
  return new Map(rows.map(([id, name]) => [Number(id), String(name)]));
}

/** Returns the names of the columns of a schema's tables, in order, by the names of the tables. */
async function columnsOf(tx: ViewWriter, schema: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await tx.tuples(
    sql`SELECT c.relname::text, a.attname::text FROM pg_catalog.pg_attribute a
      JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ${schema} AND c.relkind IN ('r', 'v') AND a.attnum > 0 ORDER BY c.relname, a.attnum`,
  );
  const columns = new Map<string, string[]>();
  for (const [table, name] of rows) {
    const list = columns.get(String(table)) ?? [];
    list.push(String(name));
    columns.set(String(table), list);
  }
  return columns;
}

/** Classes of SQLSTATE that a query itself causes: data exceptions, syntax and names, features, limits. */
const queryClasses: ReadonlySet<string> = new Set(['22', '42', '0A', '54', '2F', '08']);

/** Returns what is wrong with a query, where that is why it was refused. */
function queryProblem(error: unknown): string | undefined {
  const state = sqlState(error);
  if (state === undefined || !queryClasses.has(state.slice(0, 2))) return undefined;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : undefined;
}

function viewValue(column: Sql, kind: ColumnKind | 'any', zero: Sql): Sql {
  switch (kind) {
    case 'any':
      return sql`(to_json(${column})::text COLLATE "C")`;
    case 'number':
      return sql`coalesce(${column}::double precision, ${zero})`;
    case 'bool':
      return sql`(CASE WHEN ${column}::text IN ('1', 't', 'true') THEN 1 ELSE 0 END)::smallint`;
    default:
      return sql`(coalesce(${column}::text, ${zero}) COLLATE "C")`;
  }
}

/** Functions that compute something of their arguments, and of the time of the transaction. */
const allowedFunctions: ReadonlySet<string> = new Set(
  `abs ceil ceiling floor round trunc sign sqrt cbrt power pow exp ln log log10 mod div degrees radians pi acos asin atan atan2 cos sin tan
   width_bucket greatest least
   ascii bit_length btrim char_length character_length chr concat concat_ws initcap left length lower ltrim md5 octet_length position
   replace reverse right rtrim split_part starts_with strpos substr substring text textcat translate trim upper quote_literal
   like notlike like_escape
   age date date_part date_trunc extract isfinite justify_days justify_hours justify_interval make_date make_interval make_time
   make_timestamp make_timestamptz now to_char to_date to_number to_timestamp timezone timestamp timestamptz time interval
   int2 int4 int8 float4 float8 numeric bool bpchar varchar json jsonb
   avg bit_and bit_or bool_and bool_or corr count covar_pop covar_samp every max min mode percentile_cont percentile_disc stddev
   stddev_pop stddev_samp string_agg sum var_pop var_samp variance array_agg json_agg json_object_agg jsonb_agg jsonb_object_agg
   cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
   array_length array_position array_to_string array_to_json cardinality string_to_array unnest
   json_array_element json_array_element_text json_array_elements json_array_elements_text json_array_length json_build_array
   json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object_field json_object_field_text
   json_object_keys json_strip_nulls json_typeof jsonb_array_element jsonb_array_element_text jsonb_array_elements
   jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
   jsonb_extract_path_text jsonb_object_field jsonb_object_field_text jsonb_object_keys jsonb_strip_nulls jsonb_typeof to_json to_jsonb`
    .trim()
    .split(/\s+/),
);
