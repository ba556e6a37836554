import { fromTimestamp, toTimestamp, type Timestamp } from '../base/timestamp.ts';
import type { StoredRecord } from './record.ts';

/**
 * Returns the time of a change: now, but never before the record's `updated`, whatever the machine's clock does. Receivers
 * compare these times.
 */
export function notBefore(existing: StoredRecord, nowMs: number): Timestamp {
  const { collection, values } = existing;
  // Only an autodate field counts: clients write any other field of that name, and would set the time of events.
  const at = collection.fields.findIndex((field) => field.name === 'updated' && field.type === 'autodate');
  const updated = values[at];
  const now = toTimestamp(nowMs);
  // Text order is time order.
  if (typeof updated === 'string' && updated <= now) return now;
  const updatedMs = typeof updated === 'string' && updated !== '' ? fromTimestamp(updated) : 0;
  return toTimestamp(Math.max(nowMs, updatedMs || 0));
}
