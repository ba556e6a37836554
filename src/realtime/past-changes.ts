import { unreachable } from '../base/assert.ts';
import { mayTell, type PastTelling } from '../events/may-tell.ts';
import type { Collection } from '../collections/collection.ts';
import { unlessBroken } from '../access/rule.ts';
import type { Instance } from '../instances/instance.ts';
import { eventRecord } from '../records/event-record.ts';
import { findRecord } from '../records/find-record.ts';
import { type Audience, brokenIfRefused, conditionFor, jsonFor } from './audience.ts';
import type { Change } from './read-changes.ts';

/** Neither the event nor the table has the state of a record at a change any more. */
export class UnknownState extends Error {
  constructor() {
    super('The state of a record at a change is not known any more.');
  }
}

/**
 * Returns the JSON of a missed change for an audience that is no superuser; undefined where it gets none. Each record is sent as it is now,
 * so an update that another change has followed is left out. A client that comes back thus ends with the same records as one that
 * stayed. Throws UnknownState.
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
  const disclosure = await unlessBroken<PastTelling>(instance, 'nothing', async () => {
    try {
      return await mayTell(database, { condition }, { collection, isDelete, revision, atChange, now });
    } catch (error) {
      throw brokenIfRefused(error, collection);
    }
  });
  switch (disclosure) {
    case 'nothing':
      return undefined;
    case 'id':
      return JSON.stringify({ id });
    case 'present':
      return now && unlessBroken(instance, undefined, () => jsonFor(instance, audience, now));
    case 'unknown':
      throw new UnknownState();
    default:
      return unreachable(disclosure);
  }
}
