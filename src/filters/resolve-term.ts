import { unreachable } from '../base/assert.ts';
import type { Dialect } from './dialect.ts';
import { filterError, quote } from './filter-error.ts';
import { macroValue } from './macro-value.ts';
import { isOperand, type Constants, type Misuse, type Resolve, type Term } from './operand.ts';
import { resolveCall } from './resolve-call.ts';
import type { IdentifierNode, OperandNode } from './tree.ts';

export interface FilterContext {
  readonly resolve: Resolve;
  readonly dialect: Dialect;
  /** The time of macros, in milliseconds since 1970: the same for the whole statement. */
  readonly now: number;
}

/** Resolves one side of a comparison. Throws a filter error for a name that does not exist. */
export function resolveTerm(node: OperandNode, context: FilterContext): Term | Constants {
  switch (node.kind) {
    case 'text':
    case 'number':
      return node.value;
    case 'identifier':
      return resolveIdentifier(node, context);
    case 'call':
      return resolveCall(node, {
        dialect: context.dialect,
        now: context.now,
        resolve: (argument) => resolveTerm(argument, context),
      });
    default:
      return unreachable(node);
  }
}

/** Resolves a name in the order of http-api 8.2: a field may be called `true`, but never like a macro. */
function resolveIdentifier(node: IdentifierNode, context: FilterContext): Term | Constants {
  const macro = macroValue(node.name, context.now);
  if (macro !== undefined) return macro;
  const found = context.resolve(node.name);
  if (isMisuse(found)) throw filterError(found.problem, node.position);
  if (found !== undefined) return found;
  const word = node.name.toLowerCase();
  if (word === 'null') return null;
  if (word === 'true' || word === 'false') return word === 'true' ? 1n : 0n;
  throw filterError(explainUnknown(node.name), node.position);
}

export function isMisuse(found: ReturnType<Resolve>): found is Misuse {
  return typeof found === 'object' && found !== null && !isOperand(found) && found.kind === 'misuse';
}

/** The message is the same for a hidden field and for one that does not exist, so that they cannot be told apart. */
export function explainUnknown(name: string): string {
  return name.startsWith('@') ? `Unknown macro ${quote(name)}` : `Unknown field ${quote(name)}`;
}
