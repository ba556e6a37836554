import { fromTimestamp, toTimestamp, type Timestamp } from '../base/timestamp.ts';
import type { StoredRecord } from './record.ts';

/** A record's time never goes backwards, whatever the machine's clock does: receivers compare these. */
export function notBefore(existing: StoredRecord, nowMs: number): Timestamp {
  const { collection, values } = existing;
  // Only ours: a field of that name may be anything, and then clients would set the time of events.
  const at = collection.fields.findIndex((field) => field.name === 'updated' && field.type === 'autodate');
  const updated = values[at];
  const now = toTimestamp(nowMs);
  // Text order is time order.
  if (typeof updated === 'string' && updated <= now) return now;
  const updatedMs = typeof updated === 'string' && updated !== '' ? fromTimestamp(updated) : 0;
  return toTimestamp(Math.max(nowMs, updatedMs || 0));
}
