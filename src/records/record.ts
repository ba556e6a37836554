import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Tuple } from '../storage/database.ts';
import { recordShape, type RecordShape } from './record-shape.ts';

/**
 * A record as it is stored. `values` stand in the order of the collection's fields; a password's is null.
 *
 *   body ── decode-record ──► values ── INSERT/UPDATE ──► row ── fromTuple ──► StoredRecord ── recordToJson ──► answer
 *                                                                                  └────── recordToEventJson ──► event
 *
 * A class, as a copy by `{ ...record }` would be one without its members, and the compiler says so.
 *
 * The map of this folder:
 *
 *   create-, update-, upsert-, delete-record   a change of one, in two parts (record-write.ts); remove-record: of a delete, what refers
 *                                              to it as well; save-changes, erase-record: the row and its event
 *   batch, lock-batch, asks-nothing            several changes, all or none; truncate-collection: all records of one
 *   ask-rule, find-allowed, test-rule          a rule, of a record that is stored or of values that are given
 *   read-record, list-records                  what is written by the engine and remembered (answer-key); present-records: what is
 *                                              written here, with what expand.ts finds
 *   record-shape, -statements, -json           made once for each definition
 *   accounts/                                  what more is asked of accounts, and passwords, which are kept apart from records
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
   * Written when somebody asks for it: what a record was before a change is shown to nobody.
   */
  get visibleMembers(): string {
    return (this.#visibleMembers ??= membersJson(recordShape(this.collection), this.values, 'public'));
  }
}

/** From a row of `RecordStatements.columns`: the revision, then the fields. */
export function fromTuple(collection: Collection, tuple: Tuple): StoredRecord {
  // The columns of a collection's table hold nothing but stored values.
  const values = tuple.slice(1) as readonly StoredValue[];
  return new StoredRecord(collection, Number(tuple[0]), values);
}

/**
 * How much of a record somebody sees who may see it at all: `account` also the e-mail address that an account hides, as its owner
 * and who may manage it do; `everything` hidden fields as well, as superusers do. Secrets nobody sees.
 */
export type Sight = 'public' | 'account' | 'everything';

/** The record as the API shows it. */
export function recordToJson(record: StoredRecord, sight: Sight): string {
  const shape = recordShape(record.collection);
  const hasMore = shape.email !== undefined || (shape.hasHidden && sight === 'everything');
  if (sight === 'public' || !hasMore) return shape.head + record.visibleMembers;
  return shape.head + membersJson(shape, record.values, sight);
}

/** Only which record it is. */
export function recordIdsJson(record: StoredRecord): string {
  return `${recordShape(record.collection).head}"id":${JSON.stringify(valueOf(record, 'id'))}}`;
}

/** The `data` of the record's events: of an account with its address, as an endpoint is where superusers want to be told. */
export function recordToEventJson(record: StoredRecord): string {
  const shape = recordShape(record.collection);
  if (shape.email === undefined) return `{${record.visibleMembers}`;
  return `{${membersJson(shape, record.values, 'account')}`;
}

/** The value of one field by name; undefined when the collection has no such field. */
export function valueOf(record: StoredRecord, name: string): StoredValue | undefined {
  const at = record.collection.fields.findIndex((field) => field.name === name);
  return at === -1 ? undefined : record.values[at];
}

function membersJson(shape: RecordShape, values: readonly StoredValue[], sight: Sight): string {
  const { fields, email } = shape;
  const hiddenEmail = sight === 'public' && email !== undefined && values[email.visibilityAt] !== 1;
  let json = '';
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index];
    if (field === undefined || field.isSecret || (field.isHidden && sight !== 'everything')) continue;
    if (hiddenEmail && index === email.at) continue;
    json += (json === '' ? field.firstKey : field.key) + field.toJson(values[index] ?? null);
  }
  return `${json}}`;
}
