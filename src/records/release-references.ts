import { isLocked, unlessBroken } from '../access/rule.ts';
import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import { type Field, mayWriteField } from '../fields/field.ts';
import type { Instance } from '../instances/instance.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';
import { admission, isAllowed } from './check-rule.ts';
import { recordTable, relatedIds, type RelationField } from './record-table.ts';
import type { WriteScope } from './record-write.ts';
import { notBefore, type StoredRecord, valueOf } from './record.ts';
import { saveChanges } from './save-record.ts';

const FAILED =
  'Failed to delete record. Make sure that the record is not part of a required relation reference';

/** A collection whose records may refer to one that is deleted, and the fields in which they do. */
export interface Referring {
  readonly collection: Collection;
  readonly relations: readonly RelationField[];
}

/** Returns the collections that have relations to this one. */
export function referringTo(instance: Instance, { id }: Collection): readonly Referring[] {
  return instance.collections.all().flatMap((collection) => {
    if (collection.type === 'view') return [];
    const relations = recordTable(collection).relations.filter(({ options }) => options.collectionId === id);
    return relations.length === 0 ? [] : [{ collection, relations }];
  });
}

/** The condition of rows that may refer to a record. They only may, because an id is searched for in the text of a multiple value. */
export function mayRefer(names: Names, relations: readonly RelationField[], id: string): Sql {
  const conditions = relations.map(({ field, options }) => {
    const column = names.column(field.name);
    if (options.maxSelect <= 1) return sql`${column} = ${id}`;
    return sql`replace(${column}, ${JSON.stringify(id)}, '') <> ${column}`;
  });
  // Without an index on the relation every row of the table is read.
  const isInTime = names.isInTime(sql`"$position"`, 'for some');
  const inTime = isInTime === undefined ? sql`` : sql`${isInTime} AND `;
  return sql`${inTime}(${joinSql(conditions, ' OR ')})`;
}

/** How a record changes when one that it refers to is deleted. */
export type Release =
  | 'delete'
  /** The field requires the reference. */
  | { readonly kind: 'refused'; readonly field: Field }
  /** The values without the id, by index; the first of their fields. */
  | { readonly kind: 'reduced'; readonly values: ReadonlyMap<number, StoredValue>; readonly field: Field };

/** Returns undefined when the record does not refer to the other one after all. */
export function withoutReference(
  other: StoredRecord,
  relations: readonly RelationField[],
  id: string,
): Release | undefined {
  const values = new Map<number, StoredValue>();
  let first: Field | undefined;
  for (const relation of relations) {
    const { field, index, options } = relation;
    const ids = relatedIds(relation, other.values[index] ?? null);
    const left = ids.filter((each) => each !== id);
    if (left.length === ids.length) continue;
    if (left.length === 0 && options.cascadeDelete) return 'delete';
    if (left.length === 0 && options.required) return { kind: 'refused', field };
    values.set(index, fieldType(field).normalise(left, options));
    first ??= field;
  }
  return first && { kind: 'reduced', values, field: first };
}

/**
 * Returns the error of a delete that a reference prevents. It names the collection and the field only to a
 * caller who may view that record and field.
 */
export async function stillReferred(
  { instance, input, tx }: WriteScope,
  other: ReferringRecord,
  { field, cause }: { readonly field: Field; readonly cause?: unknown },
): Promise<AppError> {
  const { caller } = input;
  const { collection } = other;
  const isSuperuser = caller.kind === 'superuser';
  const isShown =
    !isLocked(collection, ['viewRule'], caller) &&
    mayWriteField(field, isSuperuser) &&
    (isSuperuser || (await mayView({ instance, input, tx }, other)));
  const where = isShown ? `, as it is in the field ${field.name} of ${collection.name}` : '';
  return new AppError('bad_request', `${FAILED}${where}.`, { cause });
}

function mayView(scope: WriteScope, { collection, id }: ReferringRecord): Promise<boolean> {
  return unlessBroken(scope.instance, false, async () =>
    isAllowed(scope.tx, admission(scope, collection, 'viewRule'), id),
  );
}

export async function saveReduced(
  scope: WriteScope,
  other: StoredRecord,
  { values: reduced, field }: Extract<Release, { kind: 'reduced' }>,
): Promise<void> {
  const now = notBefore(other, scope.instance.clock.now());
  const values = other.collection.fields.map((each, index) => {
    const before = other.values[index] ?? null;
    return reduced.get(index) ?? fieldType(each).stamp?.('update', now, each.options) ?? before;
  });
  try {
    await saveChanges(scope, other, { values, now });
  } catch (error) {
    // A delete must not reveal which fields of another collection have a unique index.
    if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
    throw await stillReferred(scope, referringRecord(other), { field, cause: error.cause });
  }
}

/** A record that refers to one that is to be deleted. */
export interface ReferringRecord {
  readonly collection: Collection;
  readonly id: string;
}

export function referringRecord(record: StoredRecord): ReferringRecord {
  return { collection: record.collection, id: idOf(record) };
}

export function idOf(record: StoredRecord): string {
  return String(valueOf(record, 'id'));
}
