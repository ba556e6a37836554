import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import type { Caller } from '../rules/caller.ts';
import { admit } from '../rules/rule.ts';
import { findRecord } from './find-record.ts';
import type { StoredRecord } from './record.ts';
import { withCurrentCollection } from './with-current-collection.ts';

/** One record. Throws not_found (collection, record), forbidden (null rule). */
export function readRecord(
  instance: Instance,
  caller: Caller,
  request: { readonly collection: string; readonly id: string },
): Promise<StoredRecord> {
  return withCurrentCollection(instance, request.collection, async (collection) => {
    admit(collection.rules.viewRule, caller);
    const record = await findRecord(instance.database, collection, request.id);
    if (record === undefined) throw new AppError('not_found', "The requested resource wasn't found.");
    return record;
  });
}
