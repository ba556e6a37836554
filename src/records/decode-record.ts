import { AppError, type FieldError } from '../base/errors.ts';
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
  /** The message of the error when a value is refused. */
  readonly failed: string;
}

/** What a body makes of a record, whether or not it may be stored. */
export interface DecodedRecord {
  /** In the order of the collection's fields. */
  readonly values: readonly StoredValue[];
  /** Throws `bad_request` with the first problem of every field that has one. */
  readonly refuseProblems: () => void;
}

/** Throws nothing: whether there is such a record is the first thing that its rule has to allow to be told. */
export function decodeRecord(
  collection: Collection,
  body: RecordBody,
  options: DecodeRecordOptions,
): DecodedRecord {
  const find = (name: string): Field | undefined =>
    collection.fields.find((field) => field.name === name && mayWriteField(field, options.isSuperuser));
  const values: StoredValue[] = [];
  // Not an object to assign to: a field may be called `__proto__`.
  const problems = new Map<string, FieldError>();
  const refuse = (key: string, problem: FieldError): void => void problems.set(key, problem);
  const modifications = readModifications(body, { find, refuse });
  const context: DecodeContext = { body, modifications, options };
  for (const [index, shaped] of recordShape(collection).fields.entries()) {
    const before = options.existing?.values[index];
    const given = { before, isGiven: isGiven(shaped.field, context) };
    const value = decodeValue(shaped, given, context);
    const problem = checkValue(shaped, value, given);
    if (problem !== undefined) problems.set(shaped.name, problem);
    values.push(shaped.isSecret ? null : value);
  }
  const refuseProblems = (): void => {
    if (problems.size === 0) return;
    throw new AppError('bad_request', options.failed, { details: Object.fromEntries(problems) });
  };
  return { values, refuseProblems };
}

interface DecodeContext {
  readonly body: RecordBody;
  readonly modifications: Modifications;
  readonly options: DecodeRecordOptions;
}

interface Given {
  /** What the record has; undefined while it is made. */
  readonly before: StoredValue | undefined;
  readonly isGiven: boolean;
}

function decodeValue(
  shaped: ShapedField,
  { before, isGiven: wasGiven }: Given,
  context: DecodeContext,
): StoredValue {
  const { field, type } = shaped;
  const { now } = context.options;
  if (type.stamp !== undefined) {
    const moment = context.options.existing === undefined ? 'create' : 'update';
    return type.stamp(moment, now, field.options) ?? before ?? type.zero(field.options);
  }
  if (wasGiven) {
    const value = givenValue(shaped, before, context);
    return value === '' && before === undefined ? (generated(shaped, now) ?? value) : value;
  }
  return before ?? (before === null ? null : (generated(shaped, now) ?? type.zero(field.options)));
}

function isGiven(field: Field, { body, modifications, options }: DecodeContext): boolean {
  return (
    mayWriteField(field, options.isSuperuser) &&
    (Object.hasOwn(body, field.name) || modifications.has(field.name))
  );
}

/** The whole value where it was sent, then every change on the one before. */
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
function generated({ field, type }: ShapedField, now: Timestamp): StoredValue | undefined {
  if (isStandardId(field)) return newRecordId(fromTimestamp(now));
  return type.generate?.(field.options);
}

function isStandardId(field: Field): boolean {
  return field.name === 'id' && field.options['autogeneratePattern'] === '[a-z0-9]{15}';
}

function checkValue(
  { field, type, isSecret }: ShapedField,
  value: StoredValue,
  { before, isGiven: wasGiven }: Given,
): FieldError | undefined {
  if (field.name === 'id' && before !== undefined && value !== before) {
    return { code: 'validation_pk_change', message: 'The record primary key cannot be changed.' };
  }
  // Of our own making: its check would cost as much as all others together.
  if (!wasGiven && before === undefined && isStandardId(field)) return undefined;
  // What is kept apart from the record was checked when it came.
  if (!wasGiven && before !== undefined && isSecret) return undefined;
  return type.check(value, field.options, before);
}
