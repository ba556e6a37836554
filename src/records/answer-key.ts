import type { CollectionStore } from '../collections/collection-store.ts';
import type { Caller } from '../rules/caller.ts';
import type { Sql } from '../sql/sql.ts';

/** What stands in keys for a way of writing records, which belongs to one definition of one collection of one instance. */
const numbers = new WeakMap<Sql, number>();
let lastNumber = 0;

interface Asker {
  readonly collections: Pick<CollectionStore, 'version'>;
  /** Undefined where it is the same for everybody whom a rule admits. */
  readonly caller: Caller | undefined;
}

/**
 * All that an answer depends on but what is stored: how records are written, by which definitions, what was asked for, and, where a
 * rule may have asked about it, the caller. No value that a client sends holds U+0000.
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
