import { AppError } from '../base/errors.ts';
import { fromTimestamp, toTimestamp, type Timestamp } from '../base/timestamp.ts';
import { emitsEvents, type Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import type { Caller } from '../rules/caller.ts';
import { admit } from '../rules/rule.ts';
import { joinSql, sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { currentCollection } from './current-collection.ts';
import { decodeRecord, type RecordBody } from './decode-record.ts';
import { findRecordToChange } from './find-record.ts';
import { recordEvent } from './record-event.ts';
import { recordStatements } from './record-statements.ts';
import { toStoredRecord, valueOf, type StoredRecord } from './record.ts';
import { refuseAuthCollection } from './refuse-auth-collection.ts';
import { withUniqueErrors } from './unique-errors.ts';

const FAILED = 'Failed to update record.';

export interface UpdateRecordRequest {
  readonly collection: string;
  readonly id: string;
  /** The members to change. */
  readonly body: RecordBody;
}

/**
 * Changes a record and writes the event in one transaction. Values that are all as they were change nothing: no revision,
 * no `updated`, no event. Throws not_found (collection, record), forbidden (null rule), bad_request (values, by field).
 */
export async function updateRecord(
  instance: Instance,
  caller: Caller,
  request: UpdateRecordRequest,
): Promise<StoredRecord> {
  const { id, rules } = await currentCollection(instance, request.collection);
  admit(rules.updateRule, caller);
  return instance.database.write(async (tx) => {
    const collection = instance.collections.get(id);
    admit(collection.rules.updateRule, caller);
    const existing = await findRecordToChange(tx, collection, request.id);
    if (existing === undefined) throw new AppError('not_found', "The requested resource wasn't found.");
    refuseAuthCollection(collection);
    const now = notBefore(existing, instance.clock.now());
    const isSuperuser = caller.kind === 'superuser';
    const values = decodeRecord(collection, request.body, { isSuperuser, now, existing, failed: FAILED });
    if (!isChanged(existing, values)) return existing;
    const record = toStoredRecord(collection, existing.revision + 1, values);
    const event = recordEvent('record.update', record, now);
    await tx.inOrder([
      () => withUniqueErrors(saveChanges(tx, existing, record), collection, FAILED),
      async () => emitsEvents(collection) && instance.events.append(tx, event),
    ]);
    return record;
  });
}

/** A record's time never goes backwards, whatever the machine's clock does: receivers compare these. */
export function notBefore(existing: StoredRecord, nowMs: number): Timestamp {
  const { collection, values } = existing;
  // Only ours: a field of that name may be anything, and then clients would set the time of events.
  const at = collection.fields.findIndex((field) => field.name === 'updated' && field.type === 'autodate');
  const updated = values[at];
  const updatedMs = typeof updated === 'string' && updated !== '' ? fromTimestamp(updated) : 0;
  return toTimestamp(Math.max(nowMs, updatedMs || 0));
}

function isChanged(existing: StoredRecord, values: readonly StoredValue[]): boolean {
  return existing.collection.fields.some(
    (field, index) => field.type !== 'autodate' && values[index] !== existing.values[index],
  );
}

/** Only columns that changed are written, so that only their indexes are. */
function saveChanges(tx: Transaction, before: StoredRecord, after: StoredRecord): Promise<number> {
  const collection: Collection = after.collection;
  const changes = collection.fields.flatMap((field, index) => {
    const value = after.values[index] ?? null;
    return value === before.values[index] ? [] : [sql`${tx.names.column(field.name)} = ${value}`];
  });
  const set = joinSql([sql`"$revision" = ${after.revision}`, ...changes], ', ');
  const id = valueOf(before, 'id') ?? null;
  return tx.run(sql`UPDATE ${recordStatements(collection, tx.names).table} SET ${set} WHERE id = ${id}`);
}
