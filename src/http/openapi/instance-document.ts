import type { Collection, Rules } from '../../collections/collection.ts';
import { fieldType } from '../../fields/field-types.ts';
import { type Field, hasColumn } from '../../fields/field.ts';
import type { ValueSchema } from '../../fields/value-schema.ts';
import {
  cursorListSchema,
  type OpenApiDocument,
  type Paths,
  type Schema,
  schemaReference,
} from '../schemas/schema.ts';
import { describeRecordRoutes, recordFormSchema, recordMembers } from '../routes/records.ts';
import { eventSchemasOf, receivedTag, webhooksOf, withinLimit } from '../schemas/event-schemas.ts';
import { keyCollections, type KeyedCollection } from '../schemas/key-collections.ts';
import { operation } from '../schemas/operation.ts';

/** The service's document with the collections of an instance, hidden fields and rules included: for superusers. */
export function instanceDocument(
  service: OpenApiDocument,
  collections: readonly Collection[],
): OpenApiDocument {
  const described = withinLimit(collections);
  const names = new Map(collections.map(({ id, name }) => [id, name]));
  const { info, paths, components } = service;
  const keyed = keyCollections({ paths, components, webhooks: webhooksOf([]) }, described);
  const schemas = keyed.flatMap((each) => schemasOf(each, (id) => names.get(id) ?? id));
  return {
    ...service,
    info: { ...info, description: info.description + leftOut(collections.length - described.length) },
    paths: {
      ...paths,
      ...Object.fromEntries(keyed.flatMap((each) => Object.entries(pathsOf(each)))),
    },
    tags: [...service.tags, receivedTag],
    webhooks: webhooksOf(keyed),
    components: {
      ...components,
      schemas: { ...components.schemas, ...Object.fromEntries(schemas), ...eventSchemasOf(keyed) },
    },
  };
}

function leftOut(count: number): string {
  if (count === 0) return '';
  return `\n- There are too many fields to describe them all: ${count} collections are left out. Their paths are as those of any collection.`;
}

function partName(key: string, part: 'Record' | 'List' | 'Create' | 'Update'): string {
  return `${key}.${part}`;
}

function pathsOf({ collection, key }: KeyedCollection): Paths {
  const path = `/api/collections/${collection.name}/records`;
  const { list, create, view, update, ...rest } = describeRecordRoutes({
    suffix: `_${key}`,
    parameters: [],
    schemas: {
      record: schemaReference(partName(key, 'Record')),
      list: schemaReference(partName(key, 'List')),
      create: schemaReference(partName(key, 'Create')),
      update: schemaReference(partName(key, 'Update')),
      form: recordFormSchema(collection.fields.filter(({ type }) => type === 'file').map(({ name }) => name)),
    },
    describe: (rule) => ruleText(collection, rule),
  });
  if (collection.type === 'view')
    return { [path]: { get: operation(list) }, [`${path}/{id}`]: { get: operation(view) } };
  return {
    [path]: { get: operation(list), post: operation(create) },
    [`${path}/{id}`]: { get: operation(view), patch: operation(update), delete: operation(rest.delete) },
  };
}

function ruleText(collection: Collection, name: keyof Rules): string {
  const rule = collection.rules[name];
  if (rule === null) return 'Superusers only.';
  // The fence is longer than any run of backticks in the rule, which would otherwise end the code.
  const fence = '`'.repeat(1 + Math.max(0, ...[...rule.matchAll(/`+/g)].map(([ticks]) => ticks.length)));
  return rule === '' ? 'Everyone.' : `Rule: ${fence} ${rule} ${fence}`;
}

type Named = readonly [name: string, schema: Schema];

function schemasOf({ collection, key }: KeyedCollection, nameOf: (id: string) => string): readonly Named[] {
  const values = collection.fields.map((field) => ({
    field,
    ...fieldType(field).schema(field.options, nameOf),
  }));
  const record = partName(key, 'Record');
  const reads: readonly Named[] = [
    [record, answeredSchema(collection, values)],
    [partName(key, 'List'), cursorListSchema(schemaReference(record))],
  ];
  if (collection.type === 'view') return reads;
  const isNeeded = ({ options }: Field): boolean =>
    options['required'] === true && (options['autogeneratePattern'] ?? '') === '';
  const needed = values.filter(({ field }) => isNeeded(field)).map(({ field }) => field.name);
  const create = givenSchema(collection, values);
  return [
    ...reads,
    [partName(key, 'Create'), needed.length === 0 ? create : { ...create, required: needed }],
    // The id of a record never changes.
    [
      partName(key, 'Update'),
      givenSchema(
        collection,
        values.filter(({ field }) => field.name !== 'id'),
      ),
    ],
  ];
}

type Values = readonly (ValueSchema & { readonly field: Field })[];

function answeredSchema({ id, name, type }: Collection, values: Values): Schema {
  const visible = values.flatMap(({ field, output }) =>
    // A field without a column is a secret, stored apart from the record and never shown.
    output === undefined || !hasColumn(field) ? [] : [{ field, schema: annotated(field, output) }],
  );
  // Accounts may hide their address.
  const isAlways = (field: Field): boolean => !field.hidden && !(type === 'auth' && field.name === 'email');
  const always = visible.filter(({ field }) => isAlways(field)).map(({ field }) => field.name);
  return {
    type: 'object',
    required: [...Object.keys(recordMembers), ...always],
    properties: Object.fromEntries([
      ['collectionId', { type: 'string', const: id }],
      ['collectionName', { type: 'string', const: name }],
      ...visible.map(({ field, schema }): Named => [field.name, schema]),
      ['expand', schemaReference('Expanded')],
    ]),
  };
}

const secret = { type: 'string', writeOnly: true };

/** What accounts send with a new password. */
const accountMembers: readonly Named[] = [
  ['passwordConfirm', { ...secret, description: 'The new password again.' }],
  ['oldPassword', { ...secret, description: 'The current password, if an account changes its own.' }],
];

/** Modifiers and unknown names stand beside the fields, so other members are allowed. */
function givenSchema({ type }: Collection, values: Values): Schema {
  const properties = values.flatMap(({ field, input: given }): readonly Named[] =>
    given === undefined ? [] : [[field.name, annotated(field, given)]],
  );
  const ofAccount = type === 'auth' ? accountMembers : [];
  return {
    type: 'object',
    properties: Object.fromEntries([...properties, ...ofAccount]),
    additionalProperties: true,
  };
}

function annotated({ help, hidden }: Field, schema: Schema): Schema {
  const { description } = schema;
  const notes = [description, help, hidden ? 'Hidden: of superusers only.' : ''];
  const text = notes.filter((note) => typeof note === 'string' && note !== '').join(' ');
  return text === '' ? schema : { ...schema, description: text };
}
