import type { FieldError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { fieldError } from '../fields/field-error.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { companionNames } from '../instances/system-collections.ts';
import { sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import { eachOf, recordTable, relatedIds, type RelationField } from './record-table.ts';
import { lockAll } from './find-record.ts';
import { refuseProblems, type WriteScope } from './record-write.ts';
import { staysHere } from './removal-store.ts';
import { StoredRecord, valueOf } from './record.ts';

export interface RelatedValues {
  readonly collection: Collection;
  readonly values: readonly StoredValue[];
  /**
   * The record before an update. Records to which it already refers exist, as deletes see to that, and are not locked here: a
   * delete of one of them locks it first and then this record, which is locked already, so that each would wait for the other.
   */
  readonly existing?: StoredRecord;
  /** Problems of the values themselves. They are reported together with missing related records, so that a client sees all of them at once. */
  readonly problems: ReadonlyMap<string, FieldError>;
}

/** Whether records of the collection refer to others: by relations or, in a companion collection, to their account. */
export function refersToRecords(collection: Collection): boolean {
  return recordTable(collection).relations.length > 0 || isCompanion(collection);
}

function isCompanion({ system, name }: Collection): boolean {
  return system && companionNames.some((companion) => companion === name);
}

/**
 * Throws RefusedWrite with the first problem of every field that has one: its value's, or a related record that does
 * not exist. Existing ones are locked until the transaction ends.
 */
export async function requireRelated(scope: WriteScope, related: RelatedValues): Promise<void> {
  const { collection, values, existing } = related;
  const problems = new Map(related.problems);
  const changed = recordTable(collection).relations.filter(
    ({ index, field }) =>
      !problems.has(field.name) && (existing === undefined || existing.values[index] !== values[index]),
  );
  const addedIds = (relation: RelationField): readonly string[] => {
    const earlierIds = new Set(relatedIds(relation, existing?.values[relation.index] ?? null));
    return relatedIds(relation, values[relation.index] ?? null).filter((id) => !earlierIds.has(id));
  };
  await scope.tx.inOrder(
    changed.map((relation) => async () => {
      const ids = addedIds(relation);
      if (ids.length > 0 && !(await exist(scope, relation, ids)))
        problems.set(relation.field.name, fieldError('validation_missing_rel_records'));
    }),
  );
  if (isCompanion(collection)) {
    const problem = await accountProblem(scope, related);
    if (problem !== undefined && !problems.has(problem.field)) problems.set(problem.field, problem.error);
  }
  refuseProblems(problems);
}

interface AccountProblem {
  readonly field: 'collectionRef' | 'recordRef';
  readonly error: FieldError;
}

/** Returns what is wrong with the account of a record in a companion collection, if it has changed. An existing one is locked. */
async function accountProblem(
  scope: WriteScope,
  { collection, values, existing }: RelatedValues,
): Promise<AccountProblem | undefined> {
  const record = new StoredRecord(collection, 1, values);
  const accountOf = (one: StoredRecord): readonly [string, string] => [
    String(valueOf(one, 'collectionRef')),
    String(valueOf(one, 'recordRef')),
  ];
  const [collectionRef, recordRef] = accountOf(record);
  if (existing !== undefined && accountOf(existing).join(' ') === `${collectionRef} ${recordRef}`)
    return undefined;
  const accounts = scope.instance.collections.find(collectionRef);
  if (accounts?.id !== collectionRef) return { field: 'collectionRef', error: noCollection };
  if (accounts.auth === undefined) return { field: 'collectionRef', error: noAccounts };
  const options = { collectionId: collectionRef };
  return (await exist(scope, { options }, [recordRef])) ? undefined : { field: 'recordRef', error: noRecord };
}

const noCollection: FieldError = {
  code: 'validation_invalid_collection_id',
  message: 'Missing or invalid collection.',
};

const noAccounts: FieldError = {
  code: 'validation_invalid_collection_type',
  message: 'The collection has no accounts.',
};

const noRecord: FieldError = { code: 'validation_invalid_record', message: 'Missing or invalid record.' };

/** What leads to the related records: a relation, or the reference to an account. */
interface Reference {
  readonly options: Pick<RelationField['options'], 'collectionId'>;
}

async function exist(scope: WriteScope, relation: Reference, ids: readonly string[]): Promise<boolean> {
  return (await lockRelated(scope, relation, ids)).length === new Set(ids).size;
}

/** Returns which of these records exist that a relation may name, and locks them until the transaction ends. */
export async function lockRelated(
  { instance, tx }: WriteScope,
  { options }: Reference,
  ids: readonly string[],
): Promise<readonly string[]> {
  const target = instance.collections.find(options.collectionId);
  if (target === undefined) return [];
  const { table } = recordTable(target).statements(tx.names);
  // The text is the same for any number of ids.
  // A record that is being deleted in steps can no longer be referred to.
  const stays = staysHere(tx.names, target);
  const statement = sql`SELECT id FROM ${table} WHERE id IN (${eachOf(tx.names, ids)}) AND ${stays}`;
  const { size } = new Set(ids);
  const isWhole = (rows: readonly Tuple[]): boolean => rows.length === size;
  const locking = sql`${statement}${tx.names.locks.forReference}`;
  const lock = (): Promise<Tuple[]> => tx.tuples(locking);
  const locked = await lockAll(tx, await lock(), { lock, look: () => tx.tuples(statement), isWhole });
  return locked.map(([id]) => String(id));
}
