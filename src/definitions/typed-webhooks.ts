import type { JsonObject } from '../base/json.ts';
import {
  geoPointType,
  member,
  moduleOf,
  typedCollections,
  type TypedCollection,
  type TypedField,
  valueType,
} from './typed-collections.ts';

/**
 * Returns a TypeScript module that types the webhooks about these collections, for the package for receivers: what bodies have, as the
 * catalogue of events says it, so without hidden fields and passwords. The same definitions make the same text, whatever their order.
 */
export function typedWebhooks(definitions: readonly JsonObject[]): string {
  const collections = typedCollections(definitions).filter(({ isView }) => !isView);
  return moduleOf([head, ...collections.map(fieldsType), recordsType(collections)]);
}

const head = `// Made by \`chancery types --for webhooks\` from the collections of an instance. Make it again after they change.

${geoPointType}`;

function fieldsType({ name, type, fields }: TypedCollection): string {
  const members = fields.filter(isTold).map((field) => member(field.name, valueType(field)));
  return `/** What a webhook has of a record of ${name}. */\nexport interface ${type}Fields {\n${members.join('')}}\n`;
}

function isTold({ type, isHidden }: TypedField): boolean {
  return !isHidden && type !== 'password';
}

function recordsType(collections: readonly TypedCollection[]): string {
  const members = collections.map(({ name, type }) => member(name, `${type}Fields`));
  return `/** The collections by their names: \`verify<Records>(secret, headers, body)\` of @chancery/webhooks. */
export interface Records {
${members.join('')}}
`;
}
