import { inTurns, Pauses } from '../base/pieces.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { changeTables, type CollectionDeletion, saveSecrets, notifyRenames } from './change-collection.ts';
import {
  decodeImport,
  type Definition,
  importFailed,
  type ImportPlan,
  partsPerTurn,
  planImport,
} from './import-plan.ts';

/**
 * Applies the definitions to the collections: all of them or, when any is refused, none. An existing collection is found
 * by its id, or by its name where the definition has no id. Definitions may refer to each other and exchange names. A collection that
 * already matches is left unchanged. Throws bad_request.
 */
export async function importCollections(change: CollectionDeletion, body: Definition): Promise<void> {
  await runImport(change, body, () => undefined);
}

/** The import would succeed, and is to be rolled back. */
class Rehearsed extends Error {
  readonly plan: ImportPlan;

  constructor(plan: ImportPlan) {
    super('The import is rolled back.');
    this.plan = plan;
  }
}

/**
 * Returns what {@link importCollections} would do with the same body: it does so, and rolls back. So the records are checked, too, and other
 * writes wait as long as for the import itself. Throws bad_request for all that the import would refuse.
 */
export async function rehearseImport(change: CollectionDeletion, body: Definition): Promise<ImportPlan> {
  try {
    return await runImport(change, body, (plan) => {
      throw new Rehearsed(plan);
    });
  } catch (error) {
    if (error instanceof Rehearsed) return error.plan;
    throw error;
  }
}

/** `onDone` runs in the transaction, which it rolls back where it throws. */
function runImport(
  change: CollectionDeletion,
  body: Definition,
  onDone: (plan: ImportPlan) => void,
): Promise<ImportPlan> {
  const request = decodeImport(body);
  const alteredTables =
    request.collections.length + (request.deleteMissing ? change.collections.all().length : 0);
  return changeTables(change, { failed: importFailed, alteredTables }, async (tx, views) => {
    const parts = { now: toTimestamp(change.now), names: tx.names, views };
    const planning = planImport(change.collections.all(), request, parts);
    const plan = await inTurns(planning, new Pauses(partsPerTurn, () => tx.pause()));
    for (const before of plan.removed) await change.onChange?.(tx, { before, after: undefined });
    for (const changed of plan.changed)
      if (!plan.viewChanges.has(changed)) await change.onChange?.(tx, changed);
    for (const collection of plan.created)
      await change.onChange?.(tx, { before: undefined, after: collection });
    for (const collection of plan.removed) await change.onDeleted(tx, collection);
    await change.collections.apply(tx, plan);
    await notifyRenames(tx, change, plan.changed);
    for (const saved of plan.secrets) await saveSecrets(tx, change, saved);
    await change.onDefinitions?.(tx, after(change.collections.all(), plan));
    onDone(plan);
    return plan;
  });
}

/** Returns the collections that an import leaves. */
function after(
  present: readonly Collection[],
  { created, changed, removed }: ImportPlan,
): readonly Collection[] {
  const removals = new Set(removed);
  const afterById = new Map(changed.map(({ before, after }) => [before.id, after]));
  const remaining = present.filter((one) => !removals.has(one));
  return [...remaining.map((one) => afterById.get(one.id) ?? one), ...created];
}
