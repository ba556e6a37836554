import { unreachable } from '../../base/assert.ts';
import type { AppError } from '../../base/errors.ts';
import type { Dialect } from '../dialect.ts';
import { pinned } from '../../sql/slot.ts';
import { filterError, quote } from '../filter-error.ts';
import { type Constants, isOperand, type Operand, type Term } from '../operand.ts';
import type { CallNode, OperandNode } from '../parse.ts';

/**
 * A function of the filter language: its name, the checks of its arguments and its SQL for each engine, all in one file. calls.ts lists
 * the functions. Their arguments cannot be calls, so functions are never nested.
 */
export interface FilterFunction {
  readonly name: string;
  /** Returns the value of a call. Arguments that an engine would reject are rejected here with a filter error. */
  readonly resolve: (node: CallNode, context: CallContext) => Operand;
}

export interface CallContext {
  /** Selects the SQL, of which a function has one for each engine. */
  readonly engine: Dialect['engine'];
  /** In milliseconds since 1970. A statement that has read it is planned for one request. */
  readonly now: number;
  /** Resolves an identifier among the arguments. */
  readonly resolve: (node: OperandNode) => Term | Constants;
}

/** Makes one value of an operand and carries over the conditions that are put on it; each of many values is made into one. */
export function mapOperand(source: Operand, make: (operand: Operand) => Operand): Operand {
  const { guard, many, isNeverNull: _, ...operand } = source;
  return {
    ...make(operand),
    ...(guard && { guard }),
    ...(many && { many: { rows: many.rows, operand: make(many.operand) } }),
  };
}

/** Resolves an argument to an operand or to one constant. */
export function resolveArgument(
  argument: OperandNode,
  resolve: CallContext['resolve'],
): Operand | string | number | null {
  const term = resolve(argument);
  if (isOperand(term)) return term;
  if (typeof term === 'object' && term !== null && 'values' in term)
    throw filterError('Expected one value as an argument and found a list', argument.position);
  const constant = pinned(term);
  return typeof constant === 'bigint' ? Number(constant) : constant;
}

/** Makes the error for a call with too few or too many arguments. */
export function wrongCount(expected: string, node: CallNode): AppError {
  const count = node.arguments.length;
  return filterError(`Expected ${expected} and found ${count}`, node.position);
}

/** Makes the error for an argument that is not of the `expected` form. */
export function wrongArgument(expected: string, argument: OperandNode): AppError {
  return filterError(
    `Expected ${expected} as an argument and found ${describe(argument)}`,
    argument.position,
  );
}

function describe(argument: OperandNode): string {
  switch (argument.kind) {
    case 'call':
      return `the function ${quote(argument.name)}`;
    case 'identifier':
      return quote(argument.name);
    case 'number':
      return `the number ${argument.value}`;
    case 'text':
      return `the text ${quote(argument.value)}`;
    default:
      return unreachable(argument);
  }
}
