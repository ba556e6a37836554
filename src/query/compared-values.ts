import { AppError } from '../base/errors.ts';
import { isOperand, type Operand, type Term } from '../filters/operand.ts';
import type { Comparison, OperandNode } from '../filters/parse.ts';
import { resolveTerm } from '../filters/compile/resolve.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import { type Base, RecordScope, type ScopeContext } from './record-scope.ts';

/** The values on both sides of a comparison, to explain why it is false. */
export interface ComparedValues {
  readonly sides: readonly [left: Term, right: Term];
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

/** Resolves the sides of a comparison in a filter of the caller. Undefined where a name does not exist, or not for the caller. */
export function findComparedValues(
  context: ScopeContext,
  base: Base,
  node: Comparison,
): ComparedValues | undefined {
  try {
    return comparedValues(context, base, node);
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_request') return undefined;
    throw error;
  }
}

function comparedValues(context: ScopeContext, base: Base, node: Comparison): ComparedValues {
  const { now, names, isStored = false } = context;
  const scope = new RecordScope(context, base, { joinsOutside: 'all' });
  const filterContext = { resolve: scope.resolve, dialect: names.dialect, now, isStored };
  const termOf = (side: OperandNode): Term => {
    const term = resolveTerm(side, filterContext, node.isAny);
    // Only values of a request are lists, and a change has none.
    return typeof term === 'object' && term !== null && 'values' in term ? null : term;
  };
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
function valueOf(term: Term): Term {
  if (!isOperand(term)) return term;
  const operand: Operand = term.apart?.operand ?? term;
  const { guard } = term;
  return guard === undefined ? operand : { ...operand, sql: sql`CASE WHEN ${guard} THEN ${operand.sql} END` };
}
