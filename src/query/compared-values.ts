import { AppError } from '../base/errors.ts';
import { type Constants, isOperand, type Operand, type Term } from '../filters/operand.ts';
import type { Comparison, OperandNode } from '../filters/parse.ts';
import { resolveTerm } from '../filters/compile/resolve.ts';
import { joinSql, limit, sql, type Sql } from '../sql/sql.ts';
import type { Names, Tuple } from '../storage/database.ts';
import { type Base, RecordScope, type ScopeContext } from './record-scope.ts';

/** The values on both sides of a comparison, to explain why it is false. */
export interface ComparedValues {
  readonly sides: readonly [left: Term | Constants, right: Term | Constants];
  /**
   * What follows the row of the base in FROM, with a blank before it: then there is a row for each of many values that are compared, or pair of
   * them. Empty where each side has one value.
   */
  readonly joins: Sql;
  /** Whether a side is a value of another record. */
  readonly isOfOther: boolean;
  /** Whether a value counts only under a condition: an e-mail address that its owner shows. */
  readonly isGuarded: boolean;
}

/** A side of a comparison, as it is shown. */
export interface ComparedSide {
  /** As it is written. */
  readonly text: string;
  /** Of many values the first ones, long texts and JSON cut off. */
  readonly values: readonly unknown[];
}

export interface ComparisonSource extends Base {
  /** Whether it is of a rule, which may name everything, or of a filter of the caller. */
  readonly isOfRule?: boolean;
}

/** Resolves the sides of a comparison. Undefined where a name does not exist, or not for the caller. */
export function findComparedValues(
  context: ScopeContext,
  source: ComparisonSource,
  node: Comparison,
): ComparedValues | undefined {
  try {
    return comparedValues(context, source, node);
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_request') return undefined;
    throw error;
  }
}

function comparedValues(context: ScopeContext, source: ComparisonSource, node: Comparison): ComparedValues {
  const { now, names, isStored = false } = context;
  const scope = new RecordScope(context, source, { joinsOutside: 'all' });
  const filterContext = {
    resolve: source.isOfRule === true ? scope.resolveRule : scope.resolve,
    dialect: names.dialect,
    now,
    isStored,
  };
  const termOf = (side: OperandNode): Term | Constants => resolveTerm(side, filterContext, node.isAny);
  const terms = [termOf(node.left), termOf(node.right)] as const;
  const ofLists = terms.flatMap((term) =>
    isOperand(term) && term.apart !== undefined ? [sql` CROSS JOIN ${term.apart.rows}`] : [],
  );
  return {
    sides: [valueOf(terms[0]), valueOf(terms[1])],
    joins: joinSql([scope.joins, ...ofLists], ' '),
    isOfOther: scope.leadsElsewhere,
    isGuarded: terms.some((term) => isOperand(term) && term.guard !== undefined),
  };
}

/** Returns the operand whose values are selected. What a guard hides is not there. */
function valueOf(term: Term | Constants): Term | Constants {
  if (!isOperand(term)) return term;
  const operand: Operand = term.apart?.operand ?? term;
  const { guard } = term;
  return guard === undefined ? operand : { ...operand, sql: sql`CASE WHEN ${guard} THEN ${operand.sql} END` };
}

/** Values of a side that are shown, and the first characters of each. */
const valuesMax = 10;
const lengthMax = 200;
/** Rows that are read for them. */
const rowsMax = 50;

interface SideReader {
  readonly names: Names;
  /** Selects columns from the row that the comparison is about, and from what follows it. Undefined where it takes too long. */
  readonly search: (columns: readonly Sql[], rest: Sql) => Promise<readonly Tuple[] | undefined>;
}

/** Returns the sides of a comparison with the values that were compared. */
export async function readSides(
  { names: { dialect }, search }: SideReader,
  { sides, joins }: ComparedValues,
  texts: readonly [left: string, right: string],
): Promise<readonly ComparedSide[]> {
  const columns = sides.map((side) => (isOperand(side) ? dialect.preview(side, lengthMax + 1) : sql`NULL`));
  const rows = sides.some(isOperand) ? await search(columns, sql`${joins}${limit(rowsMax)}`) : [];
  return texts.map((text, index) => {
    const side = sides[index] ?? null;
    if (isOperand(side)) return { text, values: valuesIn(rows ?? [], index) };
    const constants = isConstants(side) ? side.values.slice(0, valuesMax) : [side];
    return { text, values: constants.map((constant) => constantValue(constant, text)) };
  });
}

function isConstants(side: Term | Constants): side is Constants {
  return typeof side === 'object' && side !== null && 'values' in side;
}

function valuesIn(rows: readonly Tuple[], index: number): readonly unknown[] {
  const texts = new Set(rows.map((row) => row[index]));
  return [...texts].slice(0, valuesMax).map((text) => (typeof text === 'string' ? toShown(text) : null));
}

/** Returns the value in JSON text of the database, which may be cut off. */
function toShown(text: string): unknown {
  const value = parsed(text);
  if (typeof value === 'string') return cut(value);
  return value === undefined || text.length > lengthMax ? cut(text) : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function cut(text: string): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…`.toWellFormed() : text;
}

function constantValue(term: Exclude<Term, Operand>, text: string): unknown {
  // The words are integers, as are some macros.
  if (typeof term === 'bigint') return text.startsWith('@') ? Number(term) : term === 1n;
  return typeof term === 'string' ? cut(term) : term;
}
