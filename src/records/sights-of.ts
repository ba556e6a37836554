import type { Collection } from '../collections/collection.ts';
import { unlessBroken } from '../rules/unless-broken.ts';
import type { ExpandContext } from './expand.ts';
import { findManaged } from './find-managed.ts';
import { valueOf, type Sight, type StoredRecord } from './record.ts';
import { scopeContext } from './scope-context.ts';

export type SightOf = (record: StoredRecord) => Sight;

/** Returns how much of each record the caller sees. Runs one statement for each collection that has a manage rule. */
export async function sightsOf(
  { instance, facts, reader = instance.database }: ExpandContext,
  records: readonly StoredRecord[],
): Promise<SightOf> {
  const { caller } = facts;
  if (caller.kind === 'superuser') return () => 'everything';
  if (caller.kind === 'guest') return () => 'public';
  const ids = new Map<Collection, string[]>();
  for (const record of records) {
    const { collection } = record;
    if ((collection.auth?.manageRule ?? null) === null) continue;
    const known = ids.get(collection) ?? [];
    known.push(idOf(record));
    ids.set(collection, known);
  }
  const managed = new Map<Collection, ReadonlySet<string>>();
  const context = scopeContext(instance, facts, reader.names);
  for (const [collection, ofCollection] of ids) {
    const ask = () => findManaged(reader, { collection, ids: ofCollection }, context);
    managed.set(collection, await unlessBroken(instance, new Set(), ask));
  }
  return (record) => {
    const { collection } = record;
    const isOwn = collection.id === caller.collectionId && idOf(record) === caller.id;
    return isOwn || managed.get(collection)?.has(idOf(record)) === true ? 'account' : 'public';
  };
}

function idOf(record: StoredRecord): string {
  return String(valueOf(record, 'id'));
}
