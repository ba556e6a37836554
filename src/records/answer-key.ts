import type { CollectionStore } from '../collections/collection-store.ts';
import type { Caller } from '../rules/caller.ts';
import type { Sql } from '../sql/sql.ts';

/**
 * The number that stands in keys for the SQL which writes a record's JSON. Such an SQL belongs to one definition of one
 * collection of one instance.
 */
const numbers = new WeakMap<Sql, number>();
let lastNumber = 0;

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
export function answerKey(json: Sql, { collections, caller }: Asker, asked: readonly string[]): string {
  const number = numbers.get(json) ?? (lastNumber += 1);
  numbers.set(json, number);
  let key = `${number}/${collections.version}`;
  if (caller !== undefined) key += `\u0000${callerKey(caller)}`;
  for (const text of asked) key += `\u0000${text}`;
  return key;
}

function callerKey(caller: Caller): string {
  return caller.kind === 'user' ? `${caller.collectionId}/${caller.id}` : caller.kind;
}
