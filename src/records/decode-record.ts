import type { FieldError } from '../base/errors.ts';
import { newRecordId } from '../base/ids.ts';
import { fromTimestamp, type Timestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import type { Field } from '../fields/field.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { mayWriteField } from './may-write-field.ts';
import { readModifications, type Modifications } from './read-modifications.ts';
import { recordShape, type ShapedField } from './record-shape.ts';
import type { StoredRecord } from './record.ts';

/** The members of a JSON object as a client sent it. Unknown ones are ignored. */
export type RecordBody = Readonly<Record<string, unknown>>;

export interface DecodeRecordOptions {
  readonly isSuperuser: boolean;
  /** The moment of the change: what autodate fields get. */
  readonly now: Timestamp;
  /** The record that is being changed; absent when one is made. */
  readonly existing?: StoredRecord;
}

/** The record that a body describes, whether or not it may be stored. */
export interface DecodedRecord {
  /** In the order of the collection's fields. */
  readonly values: readonly StoredValue[];
  /** The first problem of every field that has one. Whether related records exist is not checked yet. */
  readonly problems: ReadonlyMap<string, FieldError>;
}

/** Decodes a body into the values of a record. Never throws: problems may be told only after the rule has admitted the caller. */
export function decodeRecord(
  collection: Collection,
  body: RecordBody,
  options: DecodeRecordOptions,
): DecodedRecord {
  const { existing, isSuperuser } = options;
  const find = (name: string): Field | undefined =>
    collection.fields.find((field) => field.name === name && mayWriteField(field, isSuperuser));
  const values: StoredValue[] = [];
  // A map, because a field may be called `__proto__`.
  const problems = new Map<string, FieldError>();
  const refuse = (key: string, problem: FieldError): void => void problems.set(key, problem);
  const context: DecodeContext = { body, modifications: readModifications(body, { find, refuse }), options };
  const { fields } = recordShape(collection);
  // A plain loop: every write runs it, and an iterator and an object per value would be felt.
  for (let index = 0; index < fields.length; index += 1) {
    const shaped = fields[index];
    if (shaped === undefined) continue;
    const before = existing?.values[index];
    const value = decodeValue(shaped, before, context);
    const problem = isToBeChecked(shaped, before, context) ? checkValue(shaped, value, before) : undefined;
    if (problem !== undefined) problems.set(shaped.name, problem);
    values.push(shaped.isSecret ? null : value);
  }
  return { values, problems };
}

interface DecodeContext {
  readonly body: RecordBody;
  readonly modifications: Modifications;
  readonly options: DecodeRecordOptions;
}

/** Returns the value to store. `before` is the present one; undefined while the record is made. */
function decodeValue(
  shaped: ShapedField,
  before: StoredValue | undefined,
  context: DecodeContext,
): StoredValue {
  const { field, type } = shaped;
  const { now, existing } = context.options;
  if (type.stamp !== undefined) {
    const moment = existing === undefined ? 'create' : 'update';
    return type.stamp(moment, now, field.options) ?? before ?? type.zero(field.options);
  }
  if (isGiven(shaped, context)) {
    const value = givenValue(shaped, before, context);
    return value === '' && before === undefined ? (generated(shaped, now) ?? value) : value;
  }
  return before ?? (before === null ? null : (generated(shaped, now) ?? type.zero(field.options)));
}

function isGiven({ name, isOpen }: ShapedField, { body, modifications, options }: DecodeContext): boolean {
  return (isOpen || options.isSuperuser) && (Object.hasOwn(body, name) || modifications.has(name));
}

/** Returns the value that was sent, or else the present one, with every modification applied in order. */
function givenValue(
  { field, type }: ShapedField,
  before: StoredValue | undefined,
  { body, modifications }: DecodeContext,
): StoredValue {
  const whole = Object.hasOwn(body, field.name)
    ? type.normalise(body[field.name], field.options)
    : (before ?? type.zero(field.options));
  const changes = modifications.get(field.name);
  if (changes === undefined) return whole;
  return changes.reduce((value, change) => type.modify?.(value, change, field.options) ?? value, whole);
}

/** What a text field with `autogeneratePattern` gets when nothing was given for it. */
function generated({ field, type, isStandardId }: ShapedField, now: Timestamp): StoredValue | undefined {
  return isStandardId ? newRecordId(fromTimestamp(now)) : type.generate?.(field.options);
}

function isToBeChecked(
  shaped: ShapedField,
  before: StoredValue | undefined,
  context: DecodeContext,
): boolean {
  // A generated id is not checked: the check would cost as much as all others together.
  if (before === undefined) return !shaped.isStandardId || isGiven(shaped, context);
  // A secret is stored apart from the record, and was checked when it was sent.
  return !shaped.isSecret || isGiven(shaped, context);
}

function checkValue(
  { field, type, isId }: ShapedField,
  value: StoredValue,
  before: StoredValue | undefined,
): FieldError | undefined {
  // An id stays when it has become invalid because its field was changed: ids cannot be changed, so nobody could put it right.
  if (isId && before !== undefined) return value === before ? undefined : idChange;
  return type.check(value, field.options, before);
}

const idChange: FieldError = {
  code: 'validation_pk_change',
  message: 'The record primary key cannot be changed.',
};
