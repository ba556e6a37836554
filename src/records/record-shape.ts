import type { Collection } from '../collections/collection.ts';
import { hasColumn, type Field } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import type { FieldType, StoredValue } from '../fields/field-type.ts';
import { mayWriteField } from './may-write-field.ts';

/** What a definition says about all of a collection's records, worked out once per definition because every request uses it. */
export interface RecordShape {
  readonly fields: readonly ShapedField[];
  readonly hasHidden: boolean;
  /** The password fields. Their values are no part of a record: only hashes are kept, apart from it. */
  readonly passwords: readonly Field[];
  /** Whether anything of a record is kept apart from it. */
  readonly hasSecrets: boolean;
  /** The e-mail address of an auth collection, where each account decides whether it is shown. */
  readonly email: ShapedEmail | undefined;
  /** The beginning of every record's JSON, up to and with the comma before its fields. */
  readonly head: string;
}

export interface ShapedField {
  readonly field: Field;
  readonly type: FieldType;
  readonly name: string;
  readonly isHidden: boolean;
  /** Whether the value is kept apart from the record and shown to nobody. */
  readonly isSecret: boolean;
  /** Whether others than superusers may write it. */
  readonly isOpen: boolean;
  /** Whether it is the `id`. */
  readonly isId: boolean;
  /** Whether it is an `id` with the standard pattern, so that the service generates the ids of new records. */
  readonly isStandardId: boolean;
  /** `,"name":`; `firstKey` is the same without the comma. */
  readonly key: string;
  readonly firstKey: string;
  readonly toJson: (value: StoredValue) => string;
}

/** Indexes into the values of a record. */
export interface ShapedEmail {
  readonly at: number;
  readonly visibilityAt: number;
}

/** By definition, not by id: a changed collection is a new object and gets a new shape. */
const shapes = new WeakMap<Collection, RecordShape>();

export function recordShape(collection: Collection): RecordShape {
  const known = shapes.get(collection);
  if (known !== undefined) return known;
  const shape = makeShape(collection);
  shapes.set(collection, shape);
  return shape;
}

function makeShape(collection: Collection): RecordShape {
  const fields = collection.fields.map(shapeField);
  const ids = JSON.stringify({ collectionId: collection.id, collectionName: collection.name });
  return {
    fields,
    hasHidden: fields.some((field) => field.isHidden && !field.isSecret),
    email: collection.type === 'auth' ? emailOf(collection) : undefined,
    passwords: collection.fields.filter(({ type }) => type === 'password'),
    hasSecrets: fields.some(({ isSecret }) => isSecret),
    head: `${ids.slice(0, -1)},`,
  };
}

function emailOf({ fields }: Collection): ShapedEmail {
  const at = fields.findIndex(({ name }) => name === 'email');
  return { at, visibilityAt: fields.findIndex(({ name }) => name === 'emailVisibility') };
}

function shapeField(field: Field): ShapedField {
  const type = fieldType(field);
  return {
    field,
    type,
    name: field.name,
    isHidden: field.hidden,
    isSecret: !hasColumn(field),
    isOpen: mayWriteField(field, false),
    isId: field.name === 'id',
    isStandardId: field.name === 'id' && field.options['autogeneratePattern'] === '[a-z0-9]{15}',
    key: `,${JSON.stringify(field.name)}:`,
    firstKey: `${JSON.stringify(field.name)}:`,
    toJson: (value) => type.toJson(value, field.options),
  };
}
