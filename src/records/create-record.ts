import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { emitsEvents } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { admit } from '../rules/rule.ts';
import type { Caller } from '../rules/caller.ts';
import { withValues } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { currentCollection } from './current-collection.ts';
import { decodeRecord, type RecordBody } from './decode-record.ts';
import { recordStatements } from './record-statements.ts';
import { toStoredRecord, type StoredRecord } from './record.ts';
import { recordEvent } from './record-event.ts';
import { refuseAuthCollection } from './refuse-auth-collection.ts';
import { withUniqueErrors } from './unique-errors.ts';

const FAILED = 'Failed to create record.';

/**
 * Makes a record and its event in one transaction. Resolves when both are synced.
 * Throws not_found (collection), forbidden (null rule), bad_request (values, by field).
 */
export async function createRecord(
  instance: Instance,
  caller: Caller,
  request: { readonly collection: string; readonly body: RecordBody },
): Promise<StoredRecord> {
  const { id, rules } = await currentCollection(instance, request.collection);
  admit(rules.createRule, caller);
  // The definition is asked for again inside: it may have changed while this work was waiting for its turn.
  return instance.database.write(async (tx) => {
    const collection = instance.collections.get(id);
    admit(collection.rules.createRule, caller);
    refuseAuthCollection(collection);
    const now = toTimestamp(instance.clock.now());
    const isSuperuser = caller.kind === 'superuser';
    const values = decodeRecord(collection, request.body, { isSuperuser, now, failed: FAILED });
    const record = toStoredRecord(collection, 1, values);
    const event = recordEvent('record.create', record, now);
    await tx.inOrder([
      () => insertRecord(tx, collection, record),
      async () => emitsEvents(collection) && instance.events.append(tx, event),
    ]);
    return record;
  });
}

function insertRecord(tx: Transaction, collection: Collection, record: StoredRecord): Promise<unknown> {
  const insert = withValues(recordStatements(collection, tx.names).insert, record.values);
  return withUniqueErrors(tx.run(insert), collection, FAILED);
}
