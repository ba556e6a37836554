import type { Caller } from '../access/caller.ts';
import type { CollectionStore } from '../collections/collection-store.ts';
import type { FilterTree, OperandNode } from '../filters/parse.ts';
import type { SortKey } from '../filters/sort.ts';
import type { RecordJson } from './record-table.ts';

interface Asker {
  readonly collections: Pick<CollectionStore, 'version'>;
  /** Undefined where the answer is the same for everyone whom the rule admits. */
  readonly caller: Caller | undefined;
}

/**
 * Returns a key of all that an answer depends on, except the stored records: how they are written, by which definitions, what was
 * asked for, and, where a rule may have asked about the caller, who that is. U+0000 separates the parts: no value that a client
 * sends holds it.
 */
export function answerKey(
  json: RecordJson,
  { collections, caller }: Asker,
  asked: readonly string[],
): string {
  let key = `${json.id}/${collections.version}`;
  if (caller !== undefined) key += `\u0000${callerKey(caller)}`;
  for (const text of asked) key += `\u0000${text}`;
  return key;
}

function callerKey(caller: Caller): string {
  return caller.kind === 'user' ? `${caller.collectionId}/${caller.id}` : caller.kind;
}

interface Question {
  readonly filter?: FilterTree | undefined;
  readonly sort?: readonly SortKey[];
  /**
   * What is assumed not to change: the collection's `definition`, so that only its own fields may be named; or the `state` of the whole
   * database, so that related records and, for one caller, the caller's own may be named as well.
   */
  readonly within: 'definition' | 'state';
}

/** True when a filter and a sort mean the same in every request: nothing in them depends on the time or on the request. */
export function isCacheable({ filter, sort = [], within }: Question): boolean {
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

/** Calls never count as lasting, because functions may depend on the time. */
function isLastingOperand(node: OperandNode, isLastingName: (name: string) => boolean): boolean {
  if (node.kind === 'call') return false;
  return node.kind !== 'identifier' || isLastingName(node.name);
}

/** True for a plain name, which can only be a field of the collection. */
function isField(name: string): boolean {
  return /^\w+$/.test(name);
}

/** True for a path to a field of any stored record; false for macros and for other parts of the request. */
function isStored(name: string): boolean {
  return !name.startsWith('@') || name.startsWith('@request.auth.') || name.startsWith('@collection.');
}
