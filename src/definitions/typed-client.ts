import type { JsonObject } from '../base/json.ts';
import { parseIndex } from '../collections/index-definition.ts';
import { fieldTypes } from '../fields/field-types.ts';
import {
  geoPointType,
  isSecret,
  member,
  moduleOf,
  typedCollections,
  type TypedCollection,
  type TypedField,
  valueType,
} from './typed-collections.ts';

/**
 * Returns a TypeScript module that types the SDK for these collections. The same definitions make the same text, whatever their order, so
 * that a file of it changes only with them. Collections of the service itself are left out.
 */
export function typedClient(definitions: readonly JsonObject[]): string {
  const collections = typedCollections(definitions);
  const parts = collections.map((collection) => [
    recordType(collection, collections),
    expandType(collection, collections),
    ...(collection.isView ? [] : [createType(collection), updateType(collection)]),
  ]);
  return moduleOf([head, ...parts.flat().filter((part) => part !== ''), clientType(collections)]);
}

const head = `// Made by \`chancery types\` from the collections of an instance. Make it again after they change.
import type PocketBase from 'pocketbase';
import type { RecordModel, RecordOptions, RecordService } from 'pocketbase';

${geoPointType}
/** The service of the SDK for one collection, which knows what its records have. */
export interface TypedRecordService<Item, Create, Update>
  extends Omit<RecordService<Item>, 'create' | 'update'> {
  create(body: Create | FormData, options?: RecordOptions): Promise<Item>;
  update(id: string, body: Update | FormData, options?: RecordOptions): Promise<Item>;
}
`;

function recordType(collection: TypedCollection, all: readonly TypedCollection[]): string {
  const { name, type, isAuth, fields } = collection;
  const visible = fields.filter((field) => field.type !== 'password' && !isSecret(field));
  const members = visible.map((field) => {
    const isEmail = isAuth && field.name === 'email';
    const isOptional = field.isHidden || isEmail;
    const why = field.isHidden ? 'Hidden: only superusers see it.' : 'Only for those who may see it.';
    return member(field.name, valueType(field), { isOptional, ...(isOptional && { why }) });
  });
  const lines = [
    member('collectionId', 'string'),
    member('collectionName', JSON.stringify(name)),
    ...members,
    ...(expandType(collection, all) === '' ? [] : [member('expand', `${type}Expand`, { isOptional: true })]),
  ];
  return `/** A record of ${name}. */\nexport interface ${type}Record {\n${lines.join('')}}\n`;
}

function expandType({ id, name, type, fields }: TypedCollection, all: readonly TypedCollection[]): string {
  const forth = fields
    .filter((field) => field.type === 'relation')
    .map((field) => {
      const target = all.find((one) => one.id === field.target);
      const one = target === undefined ? 'RecordModel' : `${target.type}Record`;
      return member(field.name, field.isMultiple ? `${one}[]` : one, { isOptional: true });
    });
  const back = all.flatMap((other) =>
    other.fields
      .filter((field) => field.type === 'relation' && field.target === id)
      .map((field) => {
        const one = `${other.type}Record`;
        const isOne = !field.isMultiple && isUnique(other, field.name);
        return member(`${other.name}_via_${field.name}`, isOne ? one : `${one}[]`, { isOptional: true });
      }),
  );
  if (forth.length + back.length === 0) return '';
  return `/** What \`expand\` adds to a record of ${name}. */\nexport interface ${type}Expand {\n${[...forth, ...back].join('')}}\n`;
}

/** Whether at most one record has each value of a field. */
function isUnique({ indexes }: TypedCollection, name: string): boolean {
  return indexes.some((text) => {
    const index = parseIndex(text);
    if (index?.isUnique !== true || index.columns.length !== 1 || index.columns[0]?.name !== name)
      return false;
    return index.where.every(
      ({ column, operator, value }) => column === name && operator === '!=' && value === '',
    );
  });
}

function createType({ name, type, isAuth, fields }: TypedCollection): string {
  const members = writable(fields).map((field) => {
    const isNeeded = field.isRequired && !field.isGenerated && field.name !== 'id';
    return member(field.name, inputType(field), { isOptional: !isNeeded });
  });
  const password = isAuth ? [member('password', 'string'), member('passwordConfirm', 'string')] : [];
  return `/** What a record of ${name} is created with. */\nexport interface ${type}Create {\n${[...members, ...password].join('')}}\n`;
}

function updateType({ name, type, isAuth, fields }: TypedCollection): string {
  const members = writable(fields)
    .filter((field) => field.name !== 'id')
    .flatMap((field) => [
      member(field.name, inputType(field), { isOptional: true }),
      ...modifierMembers(field),
    ]);
  const password = ['oldPassword', 'password', 'passwordConfirm'].map((one) =>
    member(one, 'string', { isOptional: true }),
  );
  return `/** What a record of ${name} is changed by. */\nexport interface ${type}Update {\n${[...members, ...(isAuth ? password : [])].join('')}}\n`;
}

function writable(fields: readonly TypedField[]): readonly TypedField[] {
  return fields.filter((field) => field.type !== 'autodate' && !isSecret(field));
}

/** Returns the type of a value in requests. */
function inputType(field: TypedField): string {
  switch (field.type) {
    case 'date':
      return 'string | Date';
    case 'file':
      return field.isMultiple ? '(File | Blob | string)[]' : 'File | Blob | string | null';
    case 'password':
      return 'string';
    default:
      return valueType(field);
  }
}

function modifierMembers(field: TypedField): readonly string[] {
  const modifiers = fieldTypes.get(field.type)?.modifiers ?? [];
  return modifiers
    .filter((modifier) => modifier !== 'f:autogenerate')
    .filter(() => field.type === 'number' || field.isMultiple)
    .map((modifier) =>
      member(
        modifier.replace('f', () => field.name),
        modifierType(field, modifier),
        { isOptional: true },
      ),
    );
}

function modifierType(field: TypedField, modifier: string): string {
  if (field.type === 'number') return 'number';
  if (field.type === 'file' && modifier !== 'f-') return 'File | Blob | (File | Blob)[]';
  const many = valueType(field);
  return `${many.slice(0, -'[]'.length).replace(/^\((.*)\)$/, '$1')} | ${many}`;
}

function clientType(collections: readonly TypedCollection[]): string {
  const overloads = collections.map(
    ({ name, type, isView }) =>
      `  collection(idOrName: ${JSON.stringify(name)}): TypedRecordService<${type}Record, ${isView ? 'never, never' : `${type}Create, ${type}Update`}>;\n`,
  );
  return `/** The SDK for this instance: \`new PocketBase(url) as TypedPocketBase\`. */
export interface TypedPocketBase extends PocketBase {
${overloads.join('')}  collection<Item = RecordModel>(idOrName: string): RecordService<Item>;
}
`;
}
