import { isJsonObject } from '../../base/json.ts';
import { digest } from '../../secrets/digest.ts';

/**
 * The map of the description of the service, in the form of OpenAPI 3.1.
 *
 *   schemas/               the forms in which routes describe what they take and answer
 *   routes/                paths and schemas, beside the routes, one subject each
 *  openapi/
 *   service-document       all of them together; `npm run generate` writes it to spec/openapi.json
 *   instance-document      the same with the real collections of an instance, whose values the types of their fields describe
 *
 * Schemas of requests say what is accepted. Schemas of answers say only what always holds: a field's options do not apply to values
 * that were stored before them. Answers may gain members later, so no schema here forbids others; the tests do.
 */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly unknown[];
  readonly tags: readonly Tag[];
  readonly paths: Paths;
  /** What is sent to endpoints; only of an instance. */
  readonly webhooks?: Readonly<Record<string, PathItem>>;
  readonly components: Components;
}

/** A JSON schema (2020-12). */
export type Schema = Readonly<Record<string, unknown>>;

export interface Tag {
  readonly name: string;
  readonly description: string;
}

export type Paths = Readonly<Record<string, PathItem>>;

export type PathItem = Readonly<Partial<Record<Method, Operation>>>;

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly unknown[];
  readonly parameters?: readonly Schema[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, Schema>>;
}

interface Components {
  readonly securitySchemes: Readonly<Record<string, Schema>>;
  readonly parameters: Readonly<Record<string, Schema>>;
  readonly headers: Readonly<Record<string, Schema>>;
  readonly responses: Readonly<Record<string, Schema>>;
  readonly schemas: Readonly<Record<string, Schema>>;
}

/** An object whose members are all there, but for those named as optional. */
export function objectSchema(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', ...(required.length === 0 ? {} : { required }), properties };
}

const pageMembers = {
  page: { type: 'integer', minimum: 1 },
  perPage: { type: 'integer', minimum: 1 },
  totalItems: { type: 'integer', minimum: -1 },
  totalPages: { type: 'integer', minimum: -1 },
} as const;

/** A page of a list. */
export function listSchema(item: Schema): Schema {
  return objectSchema({ items: { type: 'array', items: item }, ...pageMembers });
}

/**
 * A page of a list that has cursors, by its number or by a cursor. One object rather than a union of two: clients in Go and Python refuse
 * a member of a union that gains members.
 */
export function cursorListSchema(item: Schema): Schema {
  const nextCursor = { type: ['string', 'null'], description: 'With `cursor` only; null at the end.' };
  const { perPage, ...counted } = pageMembers;
  const counts = Object.entries(counted).map(([name, schema]): readonly [string, Schema] => [
    name,
    { ...schema, description: 'Without `cursor` only.' },
  ]);
  const members = { items: { type: 'array', items: item }, perPage, nextCursor };
  return objectSchema({ ...members, ...Object.fromEntries(counts) }, ['nextCursor', ...Object.keys(counted)]);
}

/** A reference to a part that is described once. */
export function reference(kind: keyof Components, name: string): Schema {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A reference to a schema. */
export function schemaReference(name: string): Schema {
  return reference('schemas', name);
}

/**
 * Returns the schema of values shaped like this example, which must have every possible member. `choices` are the values that a member may have,
 * by its path: `smtp.authMethod`.
 */
export function schemaLike(
  value: unknown,
  choices: Readonly<Record<string, readonly string[]>> = {},
  path = '',
): Schema {
  const values = choices[path];
  if (values !== undefined) return { type: 'string', enum: values };
  if (Array.isArray(value)) return { type: 'array', items: schemaLike(value[0] ?? '', choices, path) };
  if (isJsonObject(value)) {
    const members = Object.entries(value).map(([name, member]) => {
      const memberPath = path === '' ? name : `${path}.${name}`;
      return [name, schemaLike(member, choices, memberPath)] as const;
    });
    return objectSchema(Object.fromEntries(members));
  }
  return { type: typeof value };
}

/** A document as it is sent. */
export interface Description {
  readonly json: string;
  readonly etag: string;
}

/** Adds a tag made from the content, so equal documents have equal tags for every caller. */
export function describe(json: string): Description {
  return { json, etag: `"${digest(json)}"` };
}
