import type { SortKey } from './parse-sort.ts';
import type { FilterTree, OperandNode } from './tree.ts';

interface Question {
  readonly filter?: FilterTree | undefined;
  readonly sort?: readonly SortKey[];
  /**
   * What has to stay what it is: the collection's `definition`; or the `state` of the whole database, so that related records and
   * the caller's own, of one and the same caller, may be asked for as well.
   */
  readonly within: 'definition' | 'state';
}

/** Whether a filter and an order mean the same in every request: nothing in them is of the moment or of the request. */
export function isLasting({ filter, sort = [], within }: Question): boolean {
  const isLastingName = within === 'state' ? isStored : isField;
  return (
    sort.every(({ name }) => isLastingName(name)) &&
    (filter === undefined || isLastingFilter(filter, isLastingName))
  );
}

function isLastingFilter(tree: FilterTree, isLastingName: (name: string) => boolean): boolean {
  if (tree.kind !== 'comparison') return tree.items.every((item) => isLastingFilter(item, isLastingName));
  return isLastingOperand(tree.left, isLastingName) && isLastingOperand(tree.right, isLastingName);
}

/** Functions may be of the moment. */
function isLastingOperand(node: OperandNode, isLastingName: (name: string) => boolean): boolean {
  if (node.kind === 'call') return false;
  return node.kind !== 'identifier' || isLastingName(node.name);
}

/** A field by its name alone. */
function isField(name: string): boolean {
  return /^\w+$/.test(name);
}

/** A field of any record that is stored, and not a macro. */
function isStored(name: string): boolean {
  return !name.startsWith('@') || name.startsWith('@request.auth.') || name.startsWith('@collection.');
}
