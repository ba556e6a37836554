import { unreachable } from '../base/assert.ts';
import { mayTell, type PastTelling } from '../events/may-tell.ts';
import type { Collection } from '../collections/collection.ts';
import { unlessBroken } from '../access/rule.ts';
import type { Instance } from '../instances/instance.ts';
import { eventRecord } from '../records/event-record.ts';
import { findRecord } from '../records/find-record.ts';
import { type Audience, brokenIfRefused, conditionFor, jsonFor } from './audience.ts';
import type { Change } from './read-changes.ts';

/** Neither the event nor the table tells the state of a record at a change any more. */
export class UnknownState extends Error {
  constructor() {
    super('The state of a record at a change is not known any more.');
  }
}

/**
 * Returns the JSON by which a change is told to who was away, and is no superuser; undefined where it is not told. Each record is told as it
 * is now, so an update that another change has followed is left out: the last one tells all of it. So who comes back ends with the same
 * records as who was there. Throws UnknownState.
 */
export async function pastRecord(
  instance: Instance,
  audience: Audience,
  { collection, change }: { readonly collection: Collection; readonly change: Change },
): Promise<string | undefined> {
  const { database } = instance;
  const { action, revision, record: id } = change;
  const isDelete = action === 'delete';
  const now = isDelete ? undefined : await findRecord(database, collection, id);
  if (action === 'update' && now?.revision !== revision) return undefined;
  const condition = await conditionFor(instance, audience, collection);
  const atChange = eventRecord(collection, change);
  const telling = await unlessBroken<PastTelling>(instance, 'nothing', async () => {
    try {
      return await mayTell(database, { condition }, { collection, isDelete, revision, atChange, now });
    } catch (error) {
      throw brokenIfRefused(error, collection);
    }
  });
  switch (telling) {
    case 'nothing':
      return undefined;
    case 'id':
      return JSON.stringify({ id });
    case 'present':
      return now && unlessBroken(instance, undefined, () => jsonFor(instance, audience, now));
    case 'unknown':
      throw new UnknownState();
    default:
      return unreachable(telling);
  }
}
