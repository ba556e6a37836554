/**
 * Reads what a view does from the tree that the server has made of its query (pg_rewrite.ev_action): names are resolved there, so that
 * no spelling hides a table or a function. A kind of node, a type or a field that is not known here is refused.
 *
 * The tree is a text: `{QUERY :commandType 1 … :targetList ({TARGETENTRY :expr {VAR …} …}) …}`. Names in it are those of columns and
 * aliases, which have letters, digits, underscores and blanks only (sql/select-text.ts), and cannot be taken for anything else.
 */

export interface ViewTree {
  /** The tables that it reads. */
  readonly tables: ReadonlySet<number>;
  /** The functions that it calls by their names. */
  readonly functions: ReadonlySet<number>;
  /** By the number of a column, the table and the column that it has its values from. */
  readonly origins: ReadonlyMap<number, { readonly table: number; readonly column: number }>;
}

interface Reading {
  readonly tables: Set<number>;
  readonly functions: Set<number>;
  readonly origins: Map<number, { readonly table: number; readonly column: number }>;
}

/** Returns the problem of a query that may not be a view's. */
export function readViewTree(text: string): ViewTree | string {
  const tokens = text.match(/[(){}]|(?:\\[^]|[^\s(){}\\])+/g) ?? [];
  const reading: Reading = { tables: new Set(), functions: new Set(), origins: new Map() };
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (token === '}') depth -= 1;
    if (token === '{') {
      depth += 1;
      const kind = tokens[at + 1] ?? '';
      if (!allowedNodes.has(kind)) return `${wordOf(kind)} cannot be used in a view`;
    }
    if (!token.startsWith(':')) continue;
    const problem = checkMember(token.slice(1), tokens, { at, depth, reading });
    if (problem !== undefined) return problem;
  }
  return reading;
}

/** Every object below it is made with the database: https://www.postgresql.org/docs/18/system-catalog-initial-data.html */
const firstOwnId = 16_384;

const recursive = 'recursive queries are not supported in a view';

function checkMember(
  name: string,
  tokens: readonly string[],
  { at, depth, reading }: { readonly at: number; readonly depth: number; readonly reading: Reading },
): string | undefined {
  const value = tokens[at + 1] ?? '';
  const number = Number(value);
  switch (name) {
    case 'commandType':
      return value === '1' ? undefined : 'a view can only read';
    case 'hasRecursive':
    case 'cterecursive':
      return value === 'false' ? undefined : recursive;
    case 'hasModifyingCTE':
      return value === 'false' ? undefined : 'a view can only read';
    case 'relid':
      if (number !== 0) reading.tables.add(number);
      return Number.isSafeInteger(number) ? undefined : unreadable;
    case 'varattno':
      if (number === 0) return 'whole rows cannot be used in a view: name their columns';
      return number > 0 ? undefined : 'system columns cannot be used in a view';
    case 'funcid':
      if (isCast(tokens, at)) return isBuiltIn(number);
      reading.functions.add(number);
      return isBuiltIn(number);
    case 'aggfnoid':
    case 'winfnoid':
      reading.functions.add(number);
      return isBuiltIn(number);
    case 'resorigtbl':
      if (depth === 2 && number !== 0) noteOrigin(tokens, at, reading);
      return undefined;
    default:
      if (operatorMembers.has(name)) return isBuiltIn(number);
      return typeMembers.test(name) && !typeEnumerations.has(name) ? typeProblem(value) : undefined;
  }
}

const unreadable = 'the query cannot be read';

function isBuiltIn(id: number): string | undefined {
  return id < firstOwnId
    ? undefined
    : 'only functions and operators of PostgreSQL itself can be used in a view';
}

/** The cast that a function call stands for was looked up by its types. */
function isCast(tokens: readonly string[], at: number): boolean {
  const format = tokens.indexOf(':funcformat', at);
  return tokens[format + 1] === '1' || tokens[format + 1] === '2';
}

/** `:resno 1 :resname id :ressortgroupref 0 :resorigtbl 16400 :resorigcol 2` */
function noteOrigin(tokens: readonly string[], at: number, { origins }: Reading): void {
  const place = tokens.lastIndexOf(':resno', at);
  origins.set(Number(tokens[place + 1]), { table: Number(tokens[at + 1]), column: Number(tokens[at + 3]) });
}

function typeProblem(value: string): string | undefined {
  if (allowedTypes.has(Number(value))) return undefined;
  return 'a type that the query uses cannot be used in a view: cast it to text, numeric, boolean or timestamptz';
}

/** What its author would call a node. */
function wordOf(kind: string): string {
  return nodeWords.get(kind) ?? `the expression ${kind}`;
}

const nodeWords: ReadonlyMap<string, string> = new Map([
  ['SQLVALUEFUNCTION', 'CURRENT_USER, CURRENT_TIMESTAMP and the like'],
  ['XMLEXPR', 'XML'],
  ['TABLEFUNC', 'XMLTABLE and JSON_TABLE'],
  ['PARAM', 'a parameter'],
  ['ROWEXPR', 'ROW'],
  ['TABLESAMPLECLAUSE', 'TABLESAMPLE'],
  ['ROWMARKCLAUSE', 'FOR UPDATE'],
]);

const operatorMembers: ReadonlySet<string> = new Set([
  'opno',
  'opfuncid',
  'hashfuncid',
  'negfuncid',
  'eqop',
  'sortop',
  'startInRangeFunc',
  'endInRangeFunc',
]);

const typeMembers = /(?:type|typeid)$/;

/** Members that are called a type and are none. */
const typeEnumerations: ReadonlySet<string> = new Set([
  'jointype',
  'nulltesttype',
  'booltesttype',
  'aggtranstype',
]);

const allowedNodes: ReadonlySet<string> = new Set(
  `QUERY RANGETBLENTRY RTE RTEPERMISSIONINFO FROMEXPR JOINEXPR RANGETBLREF RANGETBLFUNCTION TARGETENTRY ALIAS VAR CONST FUNCEXPR OPEXPR
   BOOLEXPR NULLTEST BOOLEANTEST COALESCE COALESCEEXPR CASE CASEEXPR WHEN CASEWHEN CASETESTEXPR NULLIFEXPR DISTINCTEXPR
   SCALARARRAYOPEXPR SUBLINK AGGREF WINDOWFUNC WINDOWCLAUSE SORTGROUPCLAUSE SETOPERATIONSTMT COMMONTABLEEXPR COERCEVIAIO RELABELTYPE
   COLLATEEXPR COLLATE ARRAYEXPR ARRAY ARRAYCOERCEEXPR SUBSCRIPTINGREF MINMAX MINMAXEXPR GROUPINGSET GROUPINGFUNC NAMEDARGEXPR`
    .trim()
    .split(/\s+/),
);

/**
 * bool, "char", int8, int2, int4, text, json, float4, float8, unknown, varchar, bpchar, date, time, timestamp, timestamptz, interval,
 * numeric, jsonb, and arrays of these; 0 where there is none (https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat).
 */
const allowedTypes: ReadonlySet<number> = new Set([
  0, 16, 18, 20, 21, 23, 25, 114, 700, 701, 705, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1700, 3802, 199,
  1000, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1115, 1182, 1183, 1185, 1187, 1231, 3807,
]);
