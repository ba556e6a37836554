import { constants, DatabaseSync } from 'node:sqlite';
import type { QueryColumn, ViewDescription, ViewDraft } from '../view-query.ts';

/**
 * What a query of a view may do on SQLite: read the collections of its own instance, and call functions that compute something of their
 * arguments. SQLite asks for each name while it prepares a statement, whatever way the name was written.
 */

type Authorizer = (
  ...args: [action: number, first: string | null, second: string | null, database: string | null]
) => number;

const { SQLITE_DENY, SQLITE_OK, SQLITE_READ, SQLITE_SELECT, SQLITE_FUNCTION, SQLITE_RECURSIVE } = constants;

/** SQLite's memory in the process: a statement that needs more fails. */
export const viewHeapBytesMax = 192 * 1024 * 1024;

/** For statements around queries that were described before: whatever they are by now, they read no table of the service's own. */
export const authorizeView: Authorizer = (...[action, table, column, database]) => {
  if (action === SQLITE_SELECT || action === SQLITE_FUNCTION) return SQLITE_OK;
  const isInFile = database === 'main' || isCounted(column);
  return action === SQLITE_READ && isInFile && !ownTables.test(table ?? '$') ? SQLITE_OK : SQLITE_DENY;
};

/** Tables of the service and of SQLite. */
const ownTables = /^(?:\$|sqlite_|pragma_)/i;

/** A FROM item of which no column is read. SQLite does not tell its database, and it may be a subquery that has a name. */
function isCounted(column: string | null): boolean {
  return column === '';
}

interface Observer {
  readonly onRefusal: (reason: string) => void;
  readonly onRead: (table: string) => void;
}

/** For a query itself, and tables that are named as its collections are. */
function authorizeDraft({ tables }: ViewDraft, { onRefusal, onRead }: Observer): Authorizer {
  const names = new Set(tables.map(({ name }) => name.toLowerCase()));
  const refuse = (reason: string): number => {
    onRefusal(reason);
    return SQLITE_DENY;
  };
  return (...[action, first, second, database]) => {
    if (action === SQLITE_SELECT) return SQLITE_OK;
    if (action === SQLITE_RECURSIVE) return refuse('recursive queries are not supported in a view');
    if (action === SQLITE_FUNCTION) {
      const name = second?.toLowerCase() ?? '';
      return allowedFunctions.has(name) ? SQLITE_OK : refuse(`the function ${name} cannot be used in a view`);
    }
    if (action !== SQLITE_READ) return refuse('a view can only read');
    const table = first?.toLowerCase() ?? '';
    if (tableFunctions.has(table)) return SQLITE_OK;
    if (isCounted(second) && !ownTables.test(table) && !modules().has(table)) {
      if (names.has(table)) onRead(table);
      return SQLITE_OK;
    }
    if (database === 'main' && names.has(table)) {
      onRead(table);
      return SQLITE_OK;
    }
    return refuse(`no such table: ${first ?? ''}`);
  };
}

let moduleNames: ReadonlySet<string> | undefined;

/** Tables that SQLite makes up: of its statistics, its pages. */
function modules(): ReadonlySet<string> {
  if (moduleNames !== undefined) return moduleNames;
  const database = new DatabaseSync(':memory:');
  const rows = database.prepare('SELECT name FROM pragma_module_list').all();
  database.close();
  return (moduleNames = new Set(rows.map(({ name }) => String(name).toLowerCase())));
}

/** Prepares a query on empty tables of its own. Nothing is run. */
export function describeDraft(draft: ViewDraft): ViewDescription {
  const database = new DatabaseSync(':memory:', { defensive: true });
  let refusal: string | undefined;
  try {
    database.exec(`PRAGMA trusted_schema = OFF; PRAGMA hard_heap_limit = ${viewHeapBytesMax}`);
    for (const { name, columns } of draft.tables)
      database.exec(
        `CREATE TABLE ${quoted(name)} (${columns.map((column) => quoted(column.name)).join(', ')})`,
      );
    const reads = new Set<string>();
    const onRefusal = (reason: string): void => void (refusal ??= reason);
    database.setAuthorizer(authorizeDraft(draft, { onRefusal, onRead: (table) => reads.add(table) }));
    const columns = database.prepare(draft.query).columns();
    // Alone and in its place: a parenthesis that it closes would let it end what it stands in.
    database.prepare(`SELECT 1 FROM (\n${draft.query}\n)`);
    database.setAuthorizer(null);
    database.exec(`CREATE VIEW "$view" AS SELECT 1 FROM (\n${draft.query}\n)`);
    return { columns: columns.map(toColumn), reads: [...reads] };
  } catch (error) {
    return { problem: refusal ?? (error instanceof Error ? error.message : String(error)) };
  } finally {
    database.close();
  }
}

function toColumn(column: {
  readonly name: string;
  readonly table: string | null;
  readonly column: string | null;
}): QueryColumn {
  const { name, table, column: from } = column;
  return { name, ...(table !== null && from !== null && { from: { table, column: from } }) };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Functions that are tables. */
const tableFunctions: ReadonlySet<string> = new Set(['json_each', 'json_tree']);

/** https://www.sqlite.org/lang_corefunc.html and its neighbours, without those that read something else than their arguments. */
const allowedFunctions: ReadonlySet<string> = new Set(
  `abs char coalesce concat concat_ws format glob hex if ifnull iif instr length like likelihood likely lower ltrim max min nullif
   octet_length printf quote replace round rtrim sign substr substring trim typeof unhex unicode unlikely upper
   avg count group_concat median percentile percentile_cont percentile_disc string_agg sum total
   date datetime julianday strftime time timediff unixepoch
   cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
   acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power radians sin sinh
   sqrt tan tanh trunc
   -> ->> json json_array json_array_insert json_array_length json_error_position json_extract json_group_array json_group_object
   json_insert json_object json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid`
    .trim()
    .split(/\s+/),
);
