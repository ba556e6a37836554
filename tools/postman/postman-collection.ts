import { exampleOf, type JsonSchema, resolve } from './example-of.ts';
import { exampleBodies, parameterValues } from './example-bodies.ts';

/** As much of an OpenAPI document as becomes part of the collection. */
export interface OpenapiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly schema: JsonSchema;
}

/** See https://schema.getpostman.com/json/collection/v2.1.0/collection.json. */
export interface PostmanCollection {
  readonly info: {
    readonly name: string;
    readonly description: string;
    readonly version: string;
    readonly schema: string;
  };
  readonly auth: object;
  readonly variable: readonly Variable[];
  readonly item: readonly Folder[];
}

export interface Folder {
  readonly name: string;
  readonly description?: string;
  readonly item: readonly Item[];
}

export interface Item {
  readonly id: string;
  readonly name: string;
  readonly event?: readonly object[];
  readonly request: {
    readonly method: string;
    readonly description?: string;
    readonly header: readonly Variable[];
    readonly body?: { readonly mode: 'raw'; readonly raw: string; readonly options: object };
    readonly url: {
      readonly raw: string;
      readonly host: readonly string[];
      readonly path: readonly string[];
      readonly query?: readonly Variable[];
      readonly variable?: readonly Variable[];
    };
  };
}

interface Variable {
  readonly key: string;
  readonly value: string;
  readonly type?: string;
  readonly description?: string;
  /** Shown, but not sent. */
  readonly disabled?: boolean;
}

const json = 'application/json';

/** Makes a collection with a folder for each tag that has operations with this tag first. */
export function postmanCollection(document: OpenapiDocument): PostmanCollection {
  const { info, tags } = document;
  return {
    info: {
      name: info.title,
      description: info.description,
      version: info.version,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{token}}', type: 'string' }] },
    variable: [
      {
        key: 'baseUrl',
        value: 'http://127.0.0.1:8090',
        type: 'string',
        description: 'The service, or one of its instances by name: http://127.0.0.1:8090/i/acme',
      },
      {
        key: 'token',
        value: '',
        type: 'string',
        description: 'An API key, or the token of a sign-in, which the request for that puts here.',
      },
    ],
    item: tags
      .map(({ name, description }) => ({
        name,
        ...(description !== undefined && { description }),
        item: itemsOf(document, name),
      }))
      .filter(({ item }) => item.length > 0),
  };
}

function itemsOf(document: OpenapiDocument, tag: string): readonly Item[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { tags }]) => tags[0] === tag)
      .map(([method, operation]) => itemOf(document, { path, method, operation })),
  );
}

interface Place {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

function itemOf(document: OpenapiDocument, { path, method, operation }: Place): Item {
  const parameters = (operation.parameters ?? []).map((parameter) =>
    '$ref' in parameter ? parameterOf(document, parameter.$ref) : parameter,
  );
  const body = operation.requestBody?.content[json]?.schema;
  const id = operation.operationId;
  const texts =
    body === undefined ? undefined : (exampleBodies[id] ?? exampleOf(body, document.components.schemas));
  return {
    id,
    name: operation.summary,
    ...(id === 'signInWithPassword' && { event: [keepToken] }),
    request: {
      method: method.toUpperCase(),
      ...(operation.description !== undefined && { description: operation.description }),
      header: [
        ...(texts === undefined ? [] : [{ key: 'Content-Type', value: json }]),
        ...parameters.filter((one) => one.in === 'header').map((one) => optional(one, document)),
      ],
      ...(texts !== undefined && {
        body: {
          mode: 'raw' as const,
          raw: JSON.stringify(texts, null, 2),
          options: { raw: { language: 'json' } },
        },
      }),
      url: urlOf(document, { path, operation }, parameters),
    },
  };
}

function parameterOf({ components }: OpenapiDocument, reference: string): Parameter {
  const name = reference.slice('#/components/parameters/'.length);
  const parameter = components.parameters[name];
  if (parameter === undefined) throw new Error(`${reference} leads to nothing`);
  return parameter;
}

function urlOf(
  document: OpenapiDocument,
  { path, operation }: Omit<Place, 'method'>,
  parameters: readonly Parameter[],
): Item['request']['url'] {
  const values =
    operation.tags[0] === 'auth' ? { ...parameterValues, ...accountValues(operation) } : parameterValues;
  const segments = path
    .slice(1)
    .replaceAll(/\{(\w+)\}/g, ':$1')
    .split('/');
  const query = parameters.filter((one) => one.in === 'query').map((one) => optional(one, document));
  const variable = parameters
    .filter((one) => one.in === 'path')
    .map(({ name, description }) => ({
      key: name,
      value: values[name] ?? '',
      ...(description !== undefined && { description }),
    }));
  return {
    raw: `{{baseUrl}}/${segments.join('/')}`,
    host: ['{{baseUrl}}'],
    path: segments,
    ...(query.length > 0 && { query }),
    ...(variable.length > 0 && { variable }),
  };
}

/** Superusers sign in first; what else is asked of accounts is asked of others. */
function accountValues({ operationId }: Operation): Readonly<Record<string, string>> {
  return { collection: operationId === 'signInWithPassword' ? '_superusers' : 'users' };
}

/** A parameter that is there to be switched on: none of them is needed. */
function optional({ name, description, schema }: Parameter, { components }: OpenapiDocument): Variable {
  const value = parameterValues[name] ?? exampleOf(resolve(schema, components.schemas), components.schemas);
  return {
    key: name,
    value: typeof value === 'string' ? value : JSON.stringify(value),
    ...(description !== undefined && { description }),
    disabled: true,
  };
}

/** Puts the token of a sign-in where all requests take theirs from. */
const keepToken = {
  listen: 'test',
  script: {
    type: 'text/javascript',
    exec: ["if (pm.response.code === 200) pm.collectionVariables.set('token', pm.response.json().token);"],
  },
};
