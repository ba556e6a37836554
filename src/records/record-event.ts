import type { Timestamp } from '../base/timestamp.ts';
import type { NewEvent, RecordEventKind } from '../events/event.ts';
import { recordToEventJson, valueOf, type StoredRecord } from './record.ts';

/** Returns the event of a change. `record` is the state after it; for a deletion, the last state with the next revision. */
export function recordEvent(kind: RecordEventKind, record: StoredRecord, now: Timestamp): NewEvent {
  return {
    kind,
    collection: record.collection.id,
    collectionName: record.collection.name,
    record: String(valueOf(record, 'id')),
    revision: record.revision,
    created: now,
    dataJson: recordToEventJson(record),
  };
}
