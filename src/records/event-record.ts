import type { Collection } from '../collections/collection.ts';
import { type EventState, eventValues } from '../events/event-values.ts';
import { StoredRecord } from './record.ts';

/**
 * Returns the record in the state of an event. Undefined where today's definition has fields that the event lacks: a rule would
 * compare values that the record never had.
 */
export function eventRecord(
  collection: Collection,
  event: EventState & { readonly revision: number },
): StoredRecord | undefined {
  const { values, isWhole } = eventValues(collection, event);
  return isWhole ? new StoredRecord(collection, event.revision, values) : undefined;
}
