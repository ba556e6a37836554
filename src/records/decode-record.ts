import { AppError, type FieldError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Timestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { hasColumn, type Field } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { mayWriteField } from './may-write-field.ts';
import { readModifications, type Modifications } from './read-modifications.ts';
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
  for (const [index, field] of collection.fields.entries()) {
    const before = options.existing?.values[index];
    const value = decodeValue(field, before, context);
    const problem = checkValue(field, value, { before, isGiven: isGiven(field, context) });
    if (problem !== undefined) problems.set(field.name, problem);
    values.push(hasColumn(field) ? value : null);
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

function decodeValue(field: Field, before: StoredValue | undefined, context: DecodeContext): StoredValue {
  const type = fieldType(field);
  if (type.stamp !== undefined) {
    const { existing, now } = context.options;
    const moment = existing === undefined ? 'create' : 'update';
    return type.stamp(moment, now, field.options) ?? before ?? type.zero(field.options);
  }
  if (isGiven(field, context)) {
    const value = givenValue(field, before, context);
    return value === '' && before === undefined ? (generated(field) ?? value) : value;
  }
  return before ?? (before === null ? null : (generated(field) ?? type.zero(field.options)));
}

function isGiven(field: Field, { body, modifications, options }: DecodeContext): boolean {
  return (
    mayWriteField(field, options.isSuperuser) &&
    (Object.hasOwn(body, field.name) || modifications.has(field.name))
  );
}

/** The whole value where it was sent, then every change on the one before. */
function givenValue(field: Field, before: StoredValue | undefined, context: DecodeContext): StoredValue {
  const { body, modifications } = context;
  const type = fieldType(field);
  const whole = Object.hasOwn(body, field.name)
    ? type.normalise(body[field.name], field.options)
    : (before ?? type.zero(field.options));
  const changes = modifications.get(field.name) ?? [];
  return changes.reduce((value, change) => type.modify?.(value, change, field.options) ?? value, whole);
}

/** What a text field with `autogeneratePattern` gets when nothing was given for it. */
function generated(field: Field): StoredValue | undefined {
  if (isStandardId(field)) return newId();
  return fieldType(field).generate?.(field.options);
}

function isStandardId(field: Field): boolean {
  return field.name === 'id' && field.options['autogeneratePattern'] === '[a-z0-9]{15}';
}

function checkValue(
  field: Field,
  value: StoredValue,
  { before, isGiven: wasGiven }: { readonly before: StoredValue | undefined; readonly isGiven: boolean },
): FieldError | undefined {
  if (field.name === 'id' && before !== undefined && value !== before) {
    return { code: 'validation_pk_change', message: 'The record primary key cannot be changed.' };
  }
  // Of our own making: its check would cost as much as all others together.
  if (!wasGiven && before === undefined && isStandardId(field)) return undefined;
  // What is kept apart from the record was checked when it came.
  if (!wasGiven && before !== undefined && !hasColumn(field)) return undefined;
  return fieldType(field).check(value, field.options, before);
}
