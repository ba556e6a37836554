import type { RuleInput } from '../access/rule-input.ts';
import { admit, isLocked, unlessBroken } from '../access/rule.ts';
import { AppError, notFound } from '../base/errors.ts';
import { type Collection, superusersName } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import type { Field } from '../fields/field.ts';
import { currentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { joinSql, sql } from '../sql/sql.ts';
import { requireAnotherSuperuser } from './accounts/check-account.ts';
import { isAllowed, scopeContext } from './check-rule.ts';
import { findRecordToDelete } from './find-record.ts';
import { mayWriteField, recordTable, relatedIds, type RelationPlace } from './record-table.ts';
import { type ExpectedRevision, type RecordWrite, requireExpected, type WriteScope } from './record-write.ts';
import { notBefore, type StoredRecord, valueOf } from './record.ts';
import { eraseRecord, saveChanges } from './save-record.ts';

export interface DeleteRecordRequest {
  readonly collection: string;
  readonly id: string;
  readonly expected?: ExpectedRevision | undefined;
}

/**
 * Prepares to delete a record; its event carries the last state. Throws not_found (collection), forbidden (null rule); the write also
 * throws not_found (record), precondition_failed, bad_request (references).
 */
export async function prepareDelete(
  instance: Instance,
  facts: RuleInput,
  request: DeleteRecordRequest,
): Promise<RecordWrite<void>> {
  const { caller } = facts;
  const collection = await currentCollection(instance, request.collection, (known) =>
    isLocked(known, ['deleteRule'], caller),
  );
  admit(collection, 'deleteRule', caller);
  return (tx) => deleteInside({ instance, facts, tx }, request);
}

async function deleteInside(scope: WriteScope, request: DeleteRecordRequest): Promise<void> {
  const { instance, facts, tx } = scope;
  const collection = instance.collections.get(request.collection);
  const rule = admit(collection, 'deleteRule', facts.caller);
  const existing = await findRecordToDelete(tx, collection, request.id);
  const asked = { rule, context: scopeContext(instance, facts, tx.names) };
  if (existing === undefined || !(await isAllowed(tx, { collection, id: request.id }, asked)))
    throw notFound();
  requireExpected(request.expected, existing);
  await removeRecord(scope, existing);
}

const FAILED =
  'Failed to delete record. Make sure that the record is not part of a required relation reference';

/** How many referring records one delete may change or delete: on SQLite all other writers wait meanwhile. */
export const touchedMax = 1_000;

/** One delete with all that it leads to. */
interface Removal extends WriteScope {
  /** Keys of the records whose delete has begun. They may refer to each other in circles, or to themselves, and are deleted together. */
  readonly leaving: Set<string>;
  touched: number;
}

/**
 * Deletes a record, whose row the caller has locked, with its event. Before that its id is taken out of each record that refers
 * to it, without validation; one that is left without any id is deleted too, if its relation says so (`cascadeDelete`). Throws
 * bad_request, and deletes nothing, when a required relation would be left empty, or when too many records refer to it.
 */
function removeRecord(scope: WriteScope, record: StoredRecord): Promise<void> {
  return remove({ ...scope, leaving: new Set(), touched: 0 }, record);
}

async function remove(removal: Removal, record: StoredRecord): Promise<void> {
  removal.leaving.add(keyOf(record));
  for (const collection of removal.instance.collections.all()) {
    const places = recordTable(collection).relations.filter(
      ({ options }) => options.collectionId === record.collection.id,
    );
    if (places.length > 0) await release(removal, record, { collection, places });
  }
  if (record.collection.name === superusersName) await requireAnotherSuperuser(removal.tx);
  await eraseRecord(removal, record);
}

interface Referring {
  readonly collection: Collection;
  readonly places: readonly RelationPlace[];
}

/**
 * Reads the ids first and then the records one by one: each may be large, and the change of one may change or delete the next.
 */
async function release(removal: Removal, record: StoredRecord, referring: Referring): Promise<void> {
  const { collection, places } = referring;
  for (const id of await referringIds(removal, idOf(record), referring)) {
    const other = await findRecordToDelete(removal.tx, collection, id);
    if (other === undefined) continue;
    const change = withoutReference(other, places, idOf(record));
    if (change === undefined) continue;
    removal.touched += 1;
    if (change === 'delete') await remove(removal, other);
    else if (change.kind === 'refused') throw await stillReferred(removal, other, change);
    else await saveReduced(removal, other, change);
  }
}

/**
 * Returns the ids of records that may refer to this one and are not being deleted themselves. They only may, because an id is
 * searched for in the text of a multiple value.
 */
async function referringIds(
  { tx, leaving, touched }: Removal,
  id: string,
  { collection, places }: Referring,
): Promise<readonly string[]> {
  const { table } = recordTable(collection).statements(tx.names);
  const conditions = places.map(({ field, options }) => {
    const column = tx.names.column(field.name);
    if (options.maxSelect <= 1) return sql`${column} = ${id}`;
    return sql`replace(${column}, ${JSON.stringify(id)}, '') <> ${column}`;
  });
  // Without an index on the relation every row of the table is read.
  const isInTime = tx.names.isInTime(sql`"$position"`, 'for some');
  const inTime = isInTime === undefined ? sql`` : sql`${isInTime} AND `;
  // A bound value, where `limit` would write the number into the text: it differs each time.
  const found = sql`
    SELECT id FROM ${table} WHERE ${inTime}(${joinSql(conditions, ' OR ')})
    ORDER BY "$position" LIMIT CAST(${touchedMax + leaving.size + 1} AS bigint)`;
  const rows = await tx.search(found);
  const ids = rows.map(([each]) => String(each)).filter((each) => !leaving.has(`${collection.id}/${each}`));
  if (touched + ids.length > touchedMax) throw tooMany();
  return ids;
}

/** What becomes of a record when another one is deleted to which it refers. */
type Release =
  | 'delete'
  /** The field requires the reference. */
  | { readonly kind: 'refused'; readonly field: Field }
  /** The values without the id, by index; the first of their fields. */
  | { readonly kind: 'reduced'; readonly values: ReadonlyMap<number, StoredValue>; readonly field: Field };

/** Returns undefined when the record does not refer to the other one after all. */
function withoutReference(
  other: StoredRecord,
  places: readonly RelationPlace[],
  id: string,
): Release | undefined {
  const values = new Map<number, StoredValue>();
  let first: Field | undefined;
  for (const place of places) {
    const { field, index, options } = place;
    const ids = relatedIds(place, other.values[index] ?? null);
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
 * Returns the refusal of a delete because a record refers to the one that is deleted. It names the collection and the field only to a
 * caller who may view that record and field.
 */
async function stillReferred(
  { instance, facts, tx }: WriteScope,
  other: StoredRecord,
  { field, cause }: { readonly field: Field; readonly cause?: unknown },
): Promise<AppError> {
  const { caller } = facts;
  const { collection } = other;
  const isSuperuser = caller.kind === 'superuser';
  const isShown =
    !isLocked(collection, ['viewRule'], caller) &&
    mayWriteField(field, isSuperuser) &&
    (isSuperuser || (await mayView({ instance, facts, tx }, other)));
  const where = isShown ? `, as it is in the field ${field.name} of ${collection.name}` : '';
  return new AppError('bad_request', `${FAILED}${where}.`, { cause });
}

function mayView({ instance, facts, tx }: WriteScope, other: StoredRecord): Promise<boolean> {
  const { collection } = other;
  const asked = {
    rule: admit(collection, 'viewRule', facts.caller),
    context: scopeContext(instance, facts, tx.names),
  };
  return unlessBroken(instance, false, () => isAllowed(tx, { collection, id: idOf(other) }, asked));
}

async function saveReduced(
  removal: Removal,
  other: StoredRecord,
  { values: reduced, field }: Extract<Release, { kind: 'reduced' }>,
): Promise<void> {
  const now = notBefore(other, removal.instance.clock.now());
  const values = other.collection.fields.map((each, index) => {
    const before = other.values[index] ?? null;
    return reduced.get(index) ?? fieldType(each).stamp?.('update', now, each.options) ?? before;
  });
  try {
    await saveChanges(removal, other, { values, now });
  } catch (error) {
    // A delete must not tell which fields of another collection have a unique index.
    if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
    throw await stillReferred(removal, other, { field, cause: error.cause });
  }
}

function tooMany(): AppError {
  return new AppError(
    'bad_request',
    `Failed to delete record. More than ${touchedMax} records refer to it, directly or through others: change or delete some of them first.`,
  );
}

function idOf(record: StoredRecord): string {
  return String(valueOf(record, 'id'));
}

function keyOf(record: StoredRecord): string {
  return `${record.collection.id}/${idOf(record)}`;
}
