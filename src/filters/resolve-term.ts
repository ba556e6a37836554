import { unreachable } from '../base/assert.ts';
import type { AppError } from '../base/errors.ts';
import type { Dialect, Term } from './dialect.ts';
import { filterError, quote } from './filter-error.ts';
import { macroValue } from './macro-value.ts';
import type { Resolve } from './operand.ts';
import type { CallNode, IdentifierNode, OperandNode } from './tree.ts';

export interface FilterContext {
  readonly resolve: Resolve;
  readonly dialect: Dialect;
  /** Of the macros, in milliseconds since 1970: one moment for the whole statement. */
  readonly now: number;
}

/** What stands on one side of a comparison. Throws a filter error for names that mean nothing. */
export function resolveTerm(node: OperandNode, context: FilterContext): Term {
  switch (node.kind) {
    case 'text':
    case 'number':
      return node.value;
    case 'identifier':
      return resolveIdentifier(node, context);
    case 'call':
      throw unsupportedCall(node);
    default:
      return unreachable(node);
  }
}

/** The order of http-api 8.2: a field may be called `true`, a macro is never a field. */
function resolveIdentifier(node: IdentifierNode, context: FilterContext): Term {
  const macro = macroValue(node.name, context.now);
  if (macro !== undefined) return macro;
  const operand = context.resolve(node.name);
  if (operand !== undefined) return operand;
  const word = node.name.toLowerCase();
  if (word === 'null') return null;
  if (word === 'true' || word === 'false') return word === 'true' ? 1n : 0n;
  throw filterError(explainUnknown(node.name, context.resolve), node.position);
}

const modifiers = new Set(['isset', 'length', 'each', 'lower', 'changed']);

/** Why a name has no meaning. A hidden field is told from no field by nothing. */
export function explainUnknown(name: string, resolve: Resolve): string {
  const colon = name.indexOf(':');
  if (name.startsWith('@request.') || name.startsWith('@collection.')) {
    return `${quote(name.slice(0, name.indexOf('.')))} is not supported yet; found`;
  }
  if (name.startsWith('@')) return `Unknown macro ${quote(name)}`;
  const isKnown = (path: string): boolean => resolve(path) !== undefined;
  const path = colon === -1 ? name : name.slice(0, colon);
  const head = path.split('.', 1)[0] ?? path;
  if (colon !== -1 && (isKnown(path) || isKnown(head))) {
    const modifier = name.slice(colon + 1);
    const problem = `modifier ${quote(`:${modifier}`)}`;
    return modifiers.has(modifier) ? `The ${problem} is not supported yet; found` : `Unknown ${problem}`;
  }
  if (path !== head && isKnown(head)) return `The path ${quote(path)} is not supported yet; found`;
  return `Unknown field ${quote(path)}`;
}

const functions = new Set(['geoDistance', 'strftime']);

function unsupportedCall({ name, position }: CallNode): AppError {
  const problem = functions.has(name)
    ? `The function ${quote(name)} is not supported yet; found`
    : `Unknown function ${quote(name)}`;
  return filterError(problem, position);
}
