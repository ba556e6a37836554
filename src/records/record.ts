import { fromTimestamp, type Timestamp, toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Tuple } from '../storage/database.ts';
import { type RecordTable, recordTable } from './record-table.ts';

/**
 * A record as it is stored. `values` stand in the order of the collection's fields; a password's is null.
 *
 *   body ── decode-record ──► values ── INSERT/UPDATE ──► row ── fromTuple ──► StoredRecord ── recordToJson ──► answer
 *                                                                                  └────── recordToEventJson ──► event
 *
 * A class, so that the compiler refuses a copy by `{ ...record }`, which would lack its members.
 *
 * The map of this folder:
 *
 *   create-, update-, upsert-, delete-record   change one record, in two parts (record-write.ts). delete-record also handles the
 *                                              records that refer to it; save-record writes the row, note-change its event
 *   batch                                      several changes, all or none; truncate-collection deletes all records of one
 *   record-history, revert-record              the past of a record from the event log, and its return: restored-values says what of
 *                                              it the definition can store, released-records what its delete has changed
 *   idempotency                                a write under a key runs once; a repetition gets the same answer
 *   check-rule, find-record, test-rule         check a rule for a stored record or for values
 *   read-record, list-records                  answer with JSON that the engine writes and that answer-cache keeps, or that
 *                                              present-records writes here, with what expand.ts finds
 *   record-table                               created once per definition: statements, and the JSON of a record
 *   check-account, passwords, sessions         checks of accounts; passwords, which are stored apart from records; token keys
 */
export class StoredRecord {
  readonly collection: Collection;
  /** 1 at creation, one more with each change. */
  readonly revision: number;
  readonly values: readonly StoredValue[];
  #visibleMembers: string | undefined;

  constructor(collection: Collection, revision: number, values: readonly StoredValue[]) {
    this.collection = collection;
    this.revision = revision;
    this.values = values;
  }

  /**
   * The JSON members of every field that everyone may see, in the order of the schema, with the closing brace: `"id":"…",…}`.
   * Written on first use: the state of a record before a change is never shown.
   */
  get visibleMembers(): string {
    return (this.#visibleMembers ??= membersJson(recordTable(this.collection), this.values, 'public'));
  }
}

/** Returns the record in a row of `RecordStatements.columns`: the revision, then the fields. */
export function fromTuple(collection: Collection, tuple: Tuple): StoredRecord {
  // The columns of a collection's table hold nothing but stored values.
  const values = tuple.slice(1) as readonly StoredValue[];
  return new StoredRecord(collection, Number(tuple[0]), values);
}

/**
 * How much of a record a caller sees who may see it at all. `account` adds the e-mail address that an account hides, for its
 * owner and whoever may manage it; `everything` adds hidden fields, for superusers. Nobody sees secrets.
 */
export type Visibility = 'public' | 'account' | 'everything';

/** The record as the API shows it. */
export function recordToJson(record: StoredRecord, visibility: Visibility): string {
  const table = recordTable(record.collection);
  const hasMore = table.email !== undefined || (table.hasHidden && visibility === 'everything');
  if (visibility === 'public' || !hasMore) return table.head + record.visibleMembers;
  return table.head + membersJson(table, record.values, visibility);
}

/** Returns JSON that only identifies the record: its collection and id. */
export function recordIdsJson(record: StoredRecord): string {
  return `${recordTable(record.collection).head}"id":${JSON.stringify(valueOf(record, 'id'))}}`;
}

/** Returns the `data` of the record's events. That of an account has its e-mail address, because superusers decide where endpoints lead. */
export function recordToEventJson(record: StoredRecord): string {
  const table = recordTable(record.collection);
  if (table.email === undefined) return `{${record.visibleMembers}`;
  return `{${membersJson(table, record.values, 'account')}`;
}

/** The value of one field by name; undefined when the collection has no such field. */
export function valueOf(record: StoredRecord, name: string): StoredValue | undefined {
  const at = record.collection.fields.findIndex((field) => field.name === name);
  return at === -1 ? undefined : record.values[at];
}

function membersJson(table: RecordTable, values: readonly StoredValue[], visibility: Visibility): string {
  const { fields, email } = table;
  const hiddenEmail = visibility === 'public' && email !== undefined && values[email.visibilityAt] !== 1;
  let json = '';
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index];
    if (field === undefined || field.isSecret || (field.isHidden && visibility !== 'everything')) continue;
    if (hiddenEmail && index === email.at) continue;
    json += (json === '' ? field.firstKey : field.key) + field.toJson(values[index] ?? null);
  }
  return `${json}}`;
}

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
