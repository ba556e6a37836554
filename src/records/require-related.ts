import type { FieldError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { fieldError } from '../fields/field-error.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import { eachOf } from './each-of.ts';
import { lockAll } from './lock-all.ts';
import { recordStatements } from './record-statements.ts';
import type { WriteScope } from './record-write.ts';
import type { StoredRecord } from './record.ts';
import { refuseProblems } from './refused-write.ts';
import { relatedIds, relationsOf, type RelationPlace } from './related-ids.ts';

export interface RelatedValues {
  readonly collection: Collection;
  readonly values: readonly StoredValue[];
  /**
   * What a relation had already was there when it was written, and deletes keep it so. It is not locked: who deletes it locks it first and
   * then this record, which we have locked, so that each would wait for the other.
   */
  readonly existing?: StoredRecord;
  /** What is wrong with the values themselves: told together with what is not there, so that nobody mends a record twice. */
  readonly problems: ReadonlyMap<string, FieldError>;
}

/**
 * Throws RefusedWrite with the first problem of every field that has one: that of its value, or that a record which it refers to does
 * not exist. Those that do stay until the end of the work.
 */
export async function requireRelated(scope: WriteScope, related: RelatedValues): Promise<void> {
  const { collection, values, existing } = related;
  const problems = new Map(related.problems);
  const changed = relationsOf(collection).filter(
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
  const { table } = recordStatements(target, tx.names);
  // One statement for any number of ids.
  const statement = sql`SELECT id FROM ${table} WHERE id IN (${eachOf(tx.names, ids)})`;
  const { size } = new Set(ids);
  const isWhole = (found: readonly Tuple[]): boolean => found.length === size;
  const lock = (): Promise<Tuple[]> => tx.tuples(sql`${statement}${tx.names.forReference}`);
  const locked = await lockAll(tx, await lock(), { lock, look: () => tx.tuples(statement), isWhole });
  return isWhole(locked);
}
