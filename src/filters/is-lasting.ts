import type { SortKey } from './parse-sort.ts';
import type { FilterTree, OperandNode } from './tree.ts';

/** A field by its name alone: nothing of the caller, the moment or another collection. */
const plainName = /^\w+$/;

/** Whether a filter and an order mean the same in every request, as long as the collection's definition stays what it is. */
export function isLasting(filter: FilterTree | undefined, sort: readonly SortKey[]): boolean {
  return sort.every(({ name }) => plainName.test(name)) && (filter === undefined || isLastingFilter(filter));
}

function isLastingFilter(tree: FilterTree): boolean {
  if (tree.kind !== 'comparison') return tree.items.every(isLastingFilter);
  return isLastingOperand(tree.left) && isLastingOperand(tree.right);
}

/** Functions may be of the moment. */
function isLastingOperand(node: OperandNode): boolean {
  if (node.kind === 'call') return false;
  return node.kind !== 'identifier' || plainName.test(node.name);
}
