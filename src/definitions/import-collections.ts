import { inTurns, Pauses } from '../base/pieces.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { changeTables, type CollectionDeletion, saveSecrets, tellOfNames } from './change-collection.ts';
import {
  decodeImport,
  type Definition,
  importFailed,
  type ImportPlan,
  partsPerTurn,
  planImport,
} from './import-plan.ts';

/**
 * Makes the collections what the definitions say: all of them or, when anything is refused, none. An existing collection is found
 * by its id, or by its name where no id is given. Definitions may refer to each other and exchange names. A collection that is
 * already as given is left as it is. Throws bad_request.
 */
export function importCollections(change: CollectionDeletion, body: Definition): Promise<void> {
  const wanted = decodeImport(body);
  const alteredTables =
    wanted.collections.length + (wanted.deleteMissing ? change.collections.all().length : 0);
  return changeTables(change, { failed: importFailed, alteredTables }, async (tx) => {
    const parts = { now: toTimestamp(change.now), names: tx.names };
    const planning = planImport(change.collections.all(), wanted, parts);
    const plan = await inTurns(planning, new Pauses(partsPerTurn, () => tx.pause()));
    for (const before of plan.removed) await change.onChange?.(tx, { before, after: undefined });
    for (const changed of plan.changed) await change.onChange?.(tx, changed);
    for (const made of plan.created) await change.onChange?.(tx, { before: undefined, after: made });
    for (const collection of plan.removed) await change.onDeleted(tx, collection);
    await change.collections.apply(tx, plan);
    await tellOfNames(tx, change, plan.changed);
    for (const saved of plan.secrets) await saveSecrets(tx, change, saved);
    await change.onDefinitions?.(tx, after(change.collections.all(), plan));
  });
}

/** Returns the collections that an import leaves. */
function after(
  present: readonly Collection[],
  { created, changed, removed }: ImportPlan,
): readonly Collection[] {
  const gone = new Set(removed);
  const afterById = new Map(changed.map(({ before, after }) => [before.id, after]));
  const kept = present.filter((one) => !gone.has(one));
  return [...kept.map((one) => afterById.get(one.id) ?? one), ...created];
}
