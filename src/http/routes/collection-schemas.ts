import { collectionLimits, defaultAuthOptions, ruleNames } from '../../collections/collection.ts';
import type { FieldType } from '../../fields/field-type.ts';
import { fieldTypes } from '../../fields/field-types.ts';
import { listSchema, objectSchema, type Schema, schemaLike, schemaReference } from '../schemas/schema.ts';

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };

const rules: Readonly<Record<string, Schema>> = Object.fromEntries(
  ruleNames.map((name) => [
    name,
    { type: ['string', 'null'], description: 'A filter; null: superusers only; empty: everyone.' },
  ]),
);

const indexes: Schema = {
  type: 'array',
  maxItems: collectionLimits.indexesMax,
  items: { type: 'string', maxLength: collectionLimits.indexTextLengthMax },
  description: 'In SQL: `CREATE UNIQUE INDEX name ON posts (title, created DESC)`.',
};

/** Members that fields of every type have. */
const members: Readonly<Record<string, Schema>> = {
  id: { type: 'string', maxLength: 100 },
  name: { type: 'string', minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9_]+$' },
  system: flag,
  hidden: { ...flag, description: 'Visible to superusers only.' },
  presentable: flag,
  help: { type: 'string', maxLength: 300 },
};

const viewQuery: Schema = {
  type: 'string',
  maxLength: collectionLimits.viewQueryLengthMax,
  description: 'Of a view: one SELECT, in the SQL of the engine.',
};

const definable: Readonly<Record<string, Schema>> = {
  ...rules,
  type: { type: 'string', enum: ['base', 'auth', 'view'], default: 'base' },
  viewQuery,
  fields: {
    type: 'array',
    maxItems: collectionLimits.fieldsMax,
    items: schemaReference('CollectionFieldInput'),
    description: '`id`, `created` and `updated` are added where they are missing.',
  },
  indexes: { ...indexes, items: text },
};

const name: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: collectionLimits.nameLengthMax,
  pattern: '^[A-Za-z0-9_]+$',
};

const nullable: Schema = { type: ['string', 'null'] };

/** Additional members of auth collections. */
const authMembers: Readonly<Record<string, Schema>> = {
  // The defaults have every member that there can be.
  ...Object.fromEntries(
    Object.entries(defaultAuthOptions).map(([member, value]) => [member, schemaLike(value)] as const),
  ),
  oauth2: objectSchema({
    providers: { type: 'array', maxItems: 50, items: schemaReference('OAuth2Provider') },
    mappedFields: schemaLike(defaultAuthOptions.oauth2.mappedFields),
    enabled: flag,
  }),
  authRule: { ...nullable, description: 'Who may sign in: null nobody, empty everyone, else a filter.' },
  manageRule: {
    ...nullable,
    description: 'Who may change what otherwise only the owner of the account may.',
  },
};

const changes: Schema = { type: 'integer', minimum: 0 };

/** Definitions of collections. */
export const collectionSchemas: Readonly<Record<string, Schema>> = {
  Collection: collectionSchema(),
  OAuth2Provider: objectSchema({
    pkce: { type: ['boolean', 'null'], description: 'Null for the default of the provider.' },
    name: text,
    clientId: text,
    authURL: { ...text, description: 'Empty for that of the provider.' },
    tokenURL: text,
    userInfoURL: text,
    displayName: text,
    extra: {
      type: 'object',
      properties: { issuer: text, jwksURL: text, issuers: { type: 'array', items: text } },
      description: 'For OpenID Connect: `issuer`, or `jwksURL` and `issuers`.',
    },
  }),
  CollectionList: listSchema(schemaReference('Collection')),
  CollectionInput: {
    type: 'object',
    description: 'An update keeps the members that it omits; `fields` and `indexes` are replaced as a whole.',
    properties: {
      id: { type: 'string', pattern: '^[A-Za-z0-9_]{0,100}$' },
      name,
      ...definable,
      ...definableAuthMembers(),
    },
  },
  CollectionImport: objectSchema(
    {
      collections: {
        type: 'array',
        minItems: 1,
        maxItems: collectionLimits.collectionsMax,
        items: schemaReference('CollectionInput'),
      },
      deleteMissing: {
        type: ['boolean', 'null'],
        description: 'Whether to delete collections and fields that are not listed.',
      },
    },
    ['deleteMissing'],
  ),
  ImportPlan: objectSchema({
    created: { type: 'array', items: schemaReference('Collection') },
    changed: {
      type: 'array',
      items: objectSchema({ before: schemaReference('Collection'), after: schemaReference('Collection') }),
    },
    deleted: { type: 'array', items: schemaReference('Collection') },
  }),
  Scaffolds: objectSchema({
    auth: schemaReference('Collection'),
    base: schemaReference('Collection'),
    view: schemaReference('Collection'),
  }),
  CollectionStats: objectSchema({
    collections: {
      type: 'array',
      items: objectSchema({
        id: { type: 'string' },
        name: { type: 'string' },
        type: { type: 'string', enum: ['base', 'auth', 'view'] },
        records: {
          type: ['integer', 'null'],
          minimum: 0,
          description: 'At most `recordsMax`; null for a view.',
        },
        recordsIsAtLeast: { type: 'boolean', description: 'Whether there are more records than counted.' },
        created: { ...changes, description: 'Records created in the last 24 hours.' },
        updated: changes,
        deleted: changes,
      }),
      description: 'The collections that the caller reaches, without system collections, by name.',
    },
    recordsMax: { type: 'integer', description: '2,000,000 divided among the collections, 1,000 at least.' },
    changesMax: { type: 'integer', description: 'Events that are counted at most, the newest first.' },
    changesIsAtLeast: { type: 'boolean', description: 'Whether there were more events than counted.' },
  }),
  ViewQuery: objectSchema({ query: viewQuery }),
  DryRunView: objectSchema({
    fields: { type: 'array', items: schemaReference('CollectionField') },
    sample: { type: 'array', maxItems: 10, items: schemaReference('AnyRecord') },
  }),
  ...fieldSchemas('CollectionField', '', answeredField),
  ...fieldSchemas('CollectionFieldInput', 'Input', givenField),
};

function collectionSchema(): Schema {
  return objectSchema(
    {
      id: text,
      ...rules,
      name: text,
      type: { type: 'string', enum: ['base', 'auth', 'view'] },
      fields: { type: 'array', items: schemaReference('CollectionField') },
      indexes: { type: 'array', items: text },
      created: text,
      updated: text,
      system: flag,
      viewQuery,
      ...authMembers,
    },
    ['viewQuery', ...Object.keys(authMembers)],
  );
}

function definableAuthMembers(): Readonly<Record<string, Schema>> {
  const asShown = { type: 'object', description: 'As in `Collection`; omitted members stay.' };
  const named = Object.entries(authMembers).map(
    ([member, schema]) => [member, schema['type'] === 'object' ? asShown : schema] as const,
  );
  return Object.fromEntries(named);
}

/** A schema for each type of field, `TextField` with an ending, and the union of them. */
function fieldSchemas(
  union: string,
  ending: string,
  schemaOf: (type: FieldType) => Schema,
): Readonly<Record<string, Schema>> {
  const types = [...fieldTypes.values()];
  const nameOf = ({ type }: FieldType): string =>
    `${type.slice(0, 1).toUpperCase()}${type.slice(1)}Field${ending}`;
  const references = types.map((type) => [type.type, schemaReference(nameOf(type))] as const);
  return {
    ...Object.fromEntries(types.map((type) => [nameOf(type), schemaOf(type)])),
    [union]: {
      oneOf: references.map(([, reference]) => reference),
      discriminator: {
        propertyName: 'type',
        mapping: Object.fromEntries(references.map(([type, { $ref }]) => [type, $ref])),
      },
    },
  };
}

function answeredField(type: FieldType): Schema {
  return objectSchema(fieldMembers(type));
}

function givenField(type: FieldType): Schema {
  const properties = fieldMembers(type);
  const optional = Object.keys(properties).filter((member) => member !== 'name' && member !== 'type');
  return objectSchema(properties, optional);
}

function fieldMembers(type: FieldType): Readonly<Record<string, Schema>> {
  const { help, ...others } = members;
  const all = type.type === 'autodate' || help === undefined ? others : { ...others, help };
  return { ...all, type: { type: 'string', const: type.type }, ...optionSchemas(type) };
}

/** Derives the schemas of a type's options from their defaults, so that a new option cannot be left undescribed. */
function optionSchemas(type: FieldType): Readonly<Record<string, Schema>> {
  // Problems are ignored: they only say that an option without a default is missing.
  const options = type.decodeOptions({}, { add: () => undefined });
  return Object.fromEntries(Object.entries(options).map(([option, value]) => [option, schemaOf(value)]));
}

function schemaOf(value: unknown): Schema {
  if (typeof value === 'boolean') return flag;
  if (typeof value === 'number') return { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  if (value === null) return { type: ['number', 'null'] };
  return Array.isArray(value) ? { type: 'array', items: text } : text;
}
