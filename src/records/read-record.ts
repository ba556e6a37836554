import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { admit } from '../rules/rule.ts';
import { findAllowed } from './find-allowed.ts';
import type { StoredRecord } from './record.ts';
import { withCurrentCollection } from './with-current-collection.ts';

/** One record. Throws not_found (collection, a record that is not there or not for the caller), forbidden (null rule). */
export function readRecord(
  instance: Instance,
  facts: RequestFacts,
  request: { readonly collection: string; readonly id: string },
): Promise<StoredRecord> {
  return withCurrentCollection(instance, request.collection, async (collection) => {
    const rule = admit(collection, 'viewRule', facts.caller);
    const { database, collections } = instance;
    const context = { collections, names: database.names, facts, now: instance.clock.now() };
    const record = await findAllowed(database, { collection, id: request.id }, { rule, context });
    if (record === undefined) throw new AppError('not_found', "The requested resource wasn't found.");
    return record;
  });
}
