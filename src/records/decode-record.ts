import type { FieldError } from '../base/errors.ts';
import { newRecordId } from '../base/ids.ts';
import { fromTimestamp, type Timestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { FieldChange, Modifier, StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import { type Field, mayWriteField } from '../fields/field.ts';
import { type NewFile, newFilesIn } from '../fields/new-file.ts';
import { recordTable, type FieldPlan } from './record-table.ts';
import type { StoredRecord } from './record.ts';

/** The members of a JSON object as a client sent it. Unknown ones are ignored. */
export type RecordBody = Readonly<Record<string, unknown>>;

export interface DecodeRecordOptions {
  readonly isSuperuser: boolean;
  /** The moment of the change: what autodate fields get. */
  readonly now: Timestamp;
  /** The record that is being changed; absent when one is made. */
  readonly existing?: StoredRecord;
  /** The id that a new record gets where the body has none: one that was generated before. */
  readonly newId?: string | undefined;
}

/** The record that a body describes, whether or not it may be stored. */
export interface DecodedRecord {
  /** In the order of the collection's fields. */
  readonly values: readonly StoredValue[];
  /** The first problem of every field that has one. Whether related records exist is not checked yet. */
  readonly problems: ReadonlyMap<string, FieldError>;
}

/** Decodes a body into the values of a record. Never throws: problems are reported only after the rule has admitted the caller. */
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
  const { fields } = recordTable(collection);
  // A plain loop: every write runs it, and an iterator and an object per value would be felt.
  for (let index = 0; index < fields.length; index += 1) {
    const plan = fields[index];
    if (plan === undefined) continue;
    const before = existing?.values[index];
    const value = decodeValue(plan, before, context);
    const problem = isToBeChecked(plan, before, context)
      ? plan.type.checkFiles === undefined
        ? checkValue(plan, value, before)
        : checkFiles(plan, value, { before, body })
      : undefined;
    if (problem !== undefined) problems.set(plan.name, problem);
    values.push(plan.isSecret ? null : value);
  }
  return { values, problems };
}

interface DecodeContext {
  readonly body: RecordBody;
  readonly modifications: Modifications;
  readonly options: DecodeRecordOptions;
}

/** Returns the value to store. `before` is the present one; undefined while the record is made. */
function decodeValue(plan: FieldPlan, before: StoredValue | undefined, context: DecodeContext): StoredValue {
  const { field, type } = plan;
  const { now, existing } = context.options;
  if (type.stamp !== undefined) {
    const moment = existing === undefined ? 'create' : 'update';
    return type.stamp(moment, now, field.options) ?? before ?? type.zero(field.options);
  }
  if (isSent(plan, context)) {
    const value = sentValue(plan, before, context);
    return value === '' && before === undefined ? (generatedValue(plan, context.options) ?? value) : value;
  }
  return (
    before ?? (before === null ? null : (generatedValue(plan, context.options) ?? type.zero(field.options)))
  );
}

function isSent({ name, isOpen }: FieldPlan, { body, modifications, options }: DecodeContext): boolean {
  return (isOpen || options.isSuperuser) && (Object.hasOwn(body, name) || modifications.has(name));
}

/** Returns the value that was sent, or else the present one, with every modification applied in order. */
function sentValue(
  { field, type }: FieldPlan,
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

/** Returns the value of a text field with `autogeneratePattern` for which the body has none. */
function generatedValue(
  { field, type, isId, isStandardId }: FieldPlan,
  { now, newId }: DecodeRecordOptions,
): StoredValue | undefined {
  if (isId && newId !== undefined) return newId;
  return isStandardId ? newRecordId(fromTimestamp(now)) : type.generate?.(field.options);
}

function isToBeChecked(plan: FieldPlan, before: StoredValue | undefined, context: DecodeContext): boolean {
  // A generated id is not checked: the check would cost as much as all others together.
  if (before === undefined) return !plan.isStandardId || isSent(plan, context);
  // A secret is stored apart from the record, and was checked when it was sent.
  return !plan.isSecret || isSent(plan, context);
}

function checkValue(
  { field, type, isId }: FieldPlan,
  value: StoredValue,
  before: StoredValue | undefined,
): FieldError | undefined {
  // An id stays when it has become invalid because its field was changed: ids cannot be changed, so nobody could put it right.
  if (isId && before !== undefined) return value === before ? undefined : idChange;
  return type.check(value, field.options, before);
}

/** Checks the value of a field of files, together with those that were sent for it. */
function checkFiles(
  { field, type }: FieldPlan,
  value: StoredValue,
  { before, body }: { readonly before: StoredValue | undefined; readonly body: RecordBody },
): FieldError | undefined {
  return type.checkFiles?.(value, field.options, { before, files: newFilesOf(body, field.name) });
}

/** Returns the new files that a body has for a field. */
export function newFilesOf(body: RecordBody, name: string): readonly NewFile[] {
  return [name, `${name}+`, `+${name}`].flatMap((key) =>
    Object.hasOwn(body, key) ? newFilesIn(body[key]) : [],
  );
}

const idChange: FieldError = {
  code: 'validation_pk_change',
  message: 'The record primary key cannot be changed.',
};

export interface ReadModificationsOptions {
  /** Returns the field of this name; undefined where there is none for the caller. */
  readonly find: (name: string) => Field | undefined;
  /** Called for each key whose modifier its field does not have. */
  readonly refuse: (key: string, problem: FieldError) => void;
}

/** Changes to the values of fields, by field name: `views+`, `+tags`, `name:autogenerate`. */
type Modifications = ReadonlyMap<string, readonly FieldChange[]>;

// No field's name holds one of these characters.
const MODIFIED = /^\+|[+-]$|:autogenerate$/;
const none: Modifications = new Map();

/**
 * Returns the modifications in a body by field, in the order in which they are applied: shortest key first, then as they were
 * sent. A modifier that the field's type does not have is refused: ignored, it would answer 200 to a change that was not made.
 * Keys that only look similar are ignored like other unknown members.
 */
function readModifications(
  body: Readonly<Record<string, unknown>>,
  options: ReadModificationsOptions,
): Modifications {
  let modifications: Map<string, FieldChange[]> | undefined;
  for (const key in body) {
    if (!MODIFIED.test(key) || !Object.hasOwn(body, key)) continue;
    const { name, modifier } = parseKey(key);
    const field = options.find(name);
    if (modifier === undefined || field === undefined) continue;
    if (fieldType(field).modifiers?.includes(modifier) !== true) {
      options.refuse(key, unknownModifier(field));
      continue;
    }
    modifications ??= new Map();
    const ofField = modifications.get(name) ?? [];
    ofField.push({ modifier, value: body[key] });
    modifications.set(name, ofField);
  }
  // Modifiers with a sign are all of one length and sorting is stable: they stay in the order in which they were sent.
  for (const ofField of modifications?.values() ?? [])
    ofField.sort((one, other) => one.modifier.length - other.modifier.length);
  return modifications ?? none;
}

function parseKey(key: string): { readonly name: string; readonly modifier: Modifier | undefined } {
  const name = /^\+?(\w+)(?:[+-]|:autogenerate)?$/.exec(key)?.[1] ?? '';
  switch (key) {
    case `${name}+`:
      return { name, modifier: 'f+' };
    case `+${name}`:
      return { name, modifier: '+f' };
    case `${name}-`:
      return { name, modifier: 'f-' };
    case `${name}:autogenerate`:
      return { name, modifier: 'f:autogenerate' };
    default:
      return { name, modifier: undefined };
  }
}

function unknownModifier({ name, type }: Field): FieldError {
  const modifiers = (fieldType({ type }).modifiers ?? []).map((modifier) => modifier.replace('f', name));
  const instead =
    modifiers.length === 0 ? `send the whole value as ${name}` : `it has ${modifiers.join(', ')}`;
  return invalidValue(`A field of type ${type} has no such modifier: ${instead}.`);
}
