import type { FieldError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { fieldError } from '../fields/field-error.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import { eachOf, recordTable, relatedIds, type RelationPlace } from './record-table.ts';
import { lockAll } from './find-record.ts';
import { refuseProblems, type WriteScope } from './record-write.ts';
import { staysHere } from './removal-store.ts';
import type { StoredRecord } from './record.ts';

export interface RelatedValues {
  readonly collection: Collection;
  readonly values: readonly StoredValue[];
  /**
   * The record before an update. Records to which it already refers exist, as deletes see to that, and are not locked here: a
   * delete of one of them locks it first and then this record, which is locked already, so that each would wait for the other.
   */
  readonly existing?: StoredRecord;
  /** Problems of the values themselves. They are told together with missing related records, so that a client sees all of them at once. */
  readonly problems: ReadonlyMap<string, FieldError>;
}

/**
 * Throws RefusedWrite with the first problem of every field that has one: that of its value, or that a related record does not
 * exist. Those that exist are locked until the transaction ends.
 */
export async function requireRelated(scope: WriteScope, related: RelatedValues): Promise<void> {
  const { collection, values, existing } = related;
  const problems = new Map(related.problems);
  const changed = recordTable(collection).relations.filter(
    ({ index, field }) =>
      !problems.has(field.name) && (existing === undefined || existing.values[index] !== values[index]),
  );
  const added = (place: RelationPlace): readonly string[] => {
    const had = new Set(relatedIds(place, existing?.values[place.index] ?? null));
    return relatedIds(place, values[place.index] ?? null).filter((id) => !had.has(id));
  };
  await scope.tx.inOrder(
    changed.map((place) => async () => {
      const ids = added(place);
      if (ids.length > 0 && !(await exist(scope, place, ids)))
        problems.set(place.field.name, fieldError('validation_missing_rel_records'));
    }),
  );
  refuseProblems(problems);
}

async function exist(
  { instance, tx }: WriteScope,
  { options }: RelationPlace,
  ids: readonly string[],
): Promise<boolean> {
  const target = instance.collections.find(options.collectionId);
  if (target === undefined) return false;
  const { table } = recordTable(target).statements(tx.names);
  // The text is the same for any number of ids.
  // One that is being deleted in steps can no longer be referred to.
  const stays = staysHere(tx.names, target);
  const statement = sql`SELECT id FROM ${table} WHERE id IN (${eachOf(tx.names, ids)}) AND ${stays}`;
  const { size } = new Set(ids);
  const isWhole = (found: readonly Tuple[]): boolean => found.length === size;
  const locking = sql`${statement}${tx.names.forReference}`;
  const lock = (): Promise<Tuple[]> => tx.tuples(locking);
  const locked = await lockAll(tx, await lock(), { lock, look: () => tx.tuples(statement), isWhole });
  return isWhole(locked);
}
