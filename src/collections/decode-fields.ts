import type { FieldError } from '../base/errors.ts';
import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import { fieldError } from '../fields/field-error.ts';
import {
  accountFields,
  createdField,
  decodeField,
  type Field,
  idField,
  updatedField,
} from '../fields/field.ts';
import { type Collection, collectionLimits } from './collection.ts';
import type { CollectionNames } from './collection-names.ts';
import { ProblemList } from './member-reader.ts';

/** What the fields of a definition are checked against. */
export interface FieldsContext {
  /** The id of the collection that the fields belong to. */
  readonly id: string;
  readonly type: Collection['type'];
  readonly existing?: Collection;
  readonly names: Pick<CollectionNames, 'hasExactId' | 'isView'>;
}

/** Decodes the fields of a definition and adds the standard fields of its type. */
export function decodeFields(raw: unknown, context: FieldsContext, problems: ProblemList): readonly Field[] {
  const { existing } = context;
  if (raw === undefined || raw === null) return withStandardFields(existing?.fields ?? [], context);
  if (!Array.isArray(raw) || raw.length > collectionLimits.fieldsMax) {
    problems.add('fields', tooManyFields);
    return [];
  }
  const errors = new ProblemList();
  const fields: Field[] = [];
  const before = { ids: new Set<string>(), names: new Set<string>() };
  const stored = new Map(existing?.fields.map((field) => [field.id, field]));
  const items = raw.map((item) => complete(item, context));
  const ids = new Set(items.map((item) => memberOf(item, 'id')));
  // An `id` that is left out is added before the others.
  const offset = items.some((item) => memberOf(item, 'name') === 'id') ? 0 : 1;
  for (const [index, item] of items.entries()) {
    const itemErrors = new ProblemList();
    const field = decodeField(item, itemErrors);
    if (field !== undefined) {
      checkField(field, { ...context, before, ids, was: stored.get(field.id) }, itemErrors);
      before.ids.add(field.id);
      before.names.add(field.name.toLowerCase());
      if (context.type === 'auth') checkAccountField(field, item, itemErrors);
      const system = stored.get(field.id)?.system ?? field.name === 'id';
      const own = context.type === 'auth' ? accountField(field) : undefined;
      fields.push(own ?? { ...field, system });
    }
    errors.addAll(String(index + offset), itemErrors);
  }
  problems.addAll('fields', errors);
  const all = withStandardFields(fields, context);
  // Added fields count, too: a definition that is shown can be sent back.
  if (all.length > collectionLimits.fieldsMax) problems.add('fields', tooManyFields);
  return all;
}

const tooManyFields: FieldError = {
  code: 'validation_length_too_long',
  message: `Must be an array of at most ${collectionLimits.fieldsMax} fields.`,
  params: { max: collectionLimits.fieldsMax },
};

interface FieldContext extends FieldsContext {
  /** Of the fields that come before it: their ids, and their names in lower case. */
  readonly before: { readonly ids: ReadonlySet<string>; readonly names: ReadonlySet<string> };
  /** The ids that the definition has, as they were sent. */
  readonly ids: ReadonlySet<unknown>;
  /** The field as it is stored, if it is. */
  readonly was: Field | undefined;
}

function checkField(field: Field, context: FieldContext, problems: ProblemList): void {
  const { before, ids, was } = context;
  if (before.ids.has(field.id)) {
    problems.add('id', {
      code: 'validation_duplicated_field_id',
      message: `Duplicated or invalid field id ${field.id}.`,
    });
  }
  if (before.names.has(field.name.toLowerCase())) {
    problems.add('name', {
      code: 'validation_duplicated_field_name',
      message: `Duplicated or invalid field name ${field.name}.`,
      params: { fieldName: field.name },
    });
  }
  checkStandardName(field, problems);
  if (was !== undefined && was.type !== field.type) {
    problems.add('type', { code: 'validation_field_type_change', message: 'Field type cannot be changed.' });
  }
  if (field.type === 'relation') checkRelation(field, context, problems);
  const namesake = context.existing?.fields.find(
    (other) => other.name.toLowerCase() === field.name.toLowerCase(),
  );
  const isReplaced = namesake !== undefined && namesake.id !== field.id;
  if ((was?.system === true && was.name !== field.name) || (isReplaced && namesake.system)) {
    problems.add('name', {
      code: 'validation_system_field_change',
      message: 'System fields cannot be renamed or replaced.',
    });
  } else if (isReplaced && !ids.has(namesake.id)) {
    problems.add('name', {
      code: 'validation_field_replaced',
      message: `This name belongs to the ${namesake.type} field ${namesake.id}. Remove that field first, with its values.`,
    });
  }
}

/**
 * Checks that `id` is a text, and that standard names are in lower case: standard fields are added where they are missing, which a name
 * in another case would hide.
 */
function checkStandardName(field: Field, problems: ProblemList): void {
  const name = field.name.toLowerCase();
  if (!['id', 'created', 'updated'].includes(name)) return;
  if (field.name !== name || (name === 'id' && field.type !== 'text')) {
    problems.add('name', {
      code: 'validation_reserved_field_name',
      message: `The name is reserved for the standard field ${JSON.stringify(name)}.`,
    });
  }
}

/** Adds the fields that a definition may omit: `id` at the beginning, `created` and `updated`, and system fields, which are never lost. */
function withStandardFields(fields: readonly Field[], { existing, type }: FieldsContext): readonly Field[] {
  const result = [...fields];
  const isMissing = (standard: Field): boolean =>
    !result.some((field) => field.name.toLowerCase() === standard.name.toLowerCase());
  const id = existing?.fields.find((field) => field.name === 'id') ?? idField();
  if (isMissing(id)) result.unshift(withFreeId(id, result));
  const systemFields = existing?.fields.filter((field) => field.system) ?? [];
  const dates = ['created', 'updated'].map((name) => existing?.fields.find((field) => field.name === name));
  for (const field of [...systemFields, dates[0] ?? createdField(), dates[1] ?? updatedField()]) {
    if (isMissing(field)) result.push(withFreeId(field, result));
  }
  return type === 'auth' ? withAccountFields(result) : result;
}

/**
 * Returns the field with an id that no other has. A renamed field keeps its id and its data, so the standard field that takes its
 * old name needs another id.
 */
function withFreeId(field: Field, others: readonly Field[]): Field {
  let { id } = field;
  while (others.some((other) => other.id === id)) id += '_';
  return id === field.id ? field : { ...field, id };
}

/**
 * Checks that a relation leads to a collection that exists, perhaps its own, and that an update does not change which one: in
 * another collection the stored ids would mean nothing, or other records.
 */
function checkRelation(field: Field, context: FieldContext, problems: ProblemList): void {
  const { collectionId } = field.options;
  const { was } = context;
  if (was?.type === 'relation' && was.options['collectionId'] !== collectionId)
    problems.add('collectionId', fieldError('validation_field_relation_change'));
  if (collectionId !== context.id && !context.names.hasExactId(collectionId))
    problems.add('collectionId', fieldError('validation_field_relation_missing_collection'));
  else if (context.names.isView(collectionId))
    problems.add('collectionId', {
      code: 'validation_relation_field_non_view_base_collection',
      message: 'Only view collections are allowed to have relations to other views.',
    });
}

const standard: ReadonlyMap<string, Field> = new Map(
  accountFields().map((field) => [field.name.toLowerCase(), field]),
);

/** Members of an account's body that are not fields, in lower case. */
const bodyNames: ReadonlySet<string> = new Set(['passwordconfirm', 'oldpassword']);

/**
 * Returns the definition of a field with what may be left out: the options that `id` must have, that the password of an account is
 * required, and the id of the stored field of this name and type.
 */
function complete(raw: unknown, { type, existing }: FieldsContext): unknown {
  if (!isJsonObject(raw)) return raw;
  const [name, id] = [ownMember(raw, 'name'), ownMember(raw, 'id')];
  const isSame = (field: Field): boolean => field.name === name && field.type === ownMember(raw, 'type');
  const stored = id === undefined || id === null || id === '' ? existing?.fields.find(isSame) : undefined;
  return {
    ...raw,
    ...(stored !== undefined && { id: stored.id }),
    ...(name === 'id' && ownMember(raw, 'type') === 'text' && idOptions(raw)),
    ...(name === 'password' && type === 'auth' && { required: true }),
  };
}

function idOptions(raw: JsonObject): JsonObject {
  const pattern = ownMember(raw, 'pattern');
  const isUnset = pattern === undefined || pattern === null || pattern === '';
  return { primaryKey: true, required: true, ...(isUnset && { pattern: idField().options['pattern'] }) };
}

/**
 * Returns a field of an auth collection as it is stored, or undefined for one that accounts do not need. Whatever the definition
 * leaves out, the standard fields are system fields, hidden where they have to be, and `tokenKey` is generated by the service.
 */
function accountField(field: Field): Field | undefined {
  const own = standard.get(field.name.toLowerCase());
  if (own === undefined) return undefined;
  if (own.name === 'tokenKey') return { ...own, id: field.id };
  return { ...field, system: true, hidden: field.hidden || own.hidden };
}

/** `raw` is the definition that the field was read from. */
function checkAccountField(field: Field, raw: unknown, problems: ProblemList): void {
  const name = field.name.toLowerCase();
  const own = standard.get(name);
  if (bodyNames.has(name) || (own !== undefined && own.name !== field.name)) {
    problems.add('name', {
      code: 'validation_reserved_field_name',
      message: `The name ${JSON.stringify(field.name)} is reserved in auth collections.`,
    });
  }
  if (own === undefined) return;
  if (own.type !== field.type) {
    problems.add('type', {
      code: `validation_missing_${own.name}_field`,
      message: `The field ${JSON.stringify(own.name)} of an auth collection is of type ${own.type}.`,
    });
  }
  // These flags may be left out, which means true. An explicit false is refused.
  const flag = (member: string): unknown => memberOf(raw, member);
  if (own.hidden && (flag('hidden') === false || flag('system') === false)) {
    problems.add(flag('hidden') === false ? 'hidden' : 'system', {
      code: 'validation_must_be_system_and_hidden',
      message: `The field ${JSON.stringify(own.name)} must be system and hidden.`,
    });
  } else if (flag('system') === false) {
    problems.add('system', {
      code: 'validation_must_be_system',
      message: `The field ${JSON.stringify(own.name)} must be system.`,
    });
  }
}

/** Adds the standard fields of accounts that are missing, in their order behind `id`. */
export function withAccountFields(fields: readonly Field[]): readonly Field[] {
  const missing = accountFields().filter((own) => !fields.some(({ name }) => name === own.name));
  if (missing.length === 0) return fields;
  const at = fields.findIndex(({ name }) => name === 'id') + 1;
  return [...fields.slice(0, at), ...missing, ...fields.slice(at)];
}

function memberOf(raw: unknown, member: string): unknown {
  return isJsonObject(raw) ? ownMember(raw, member) : undefined;
}
