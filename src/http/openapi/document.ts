/**
 * The map of this folder: the description of the service in the form of OpenAPI 3.1.
 *
 *   …-paths, …-schemas     one subject each: what its routes take and answer
 *   service-document       all of them together; `npm run openapi` writes it to openapi.json
 *   instance-document      the same with the real collections of an instance (value-schema: one field's values)
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

export interface Components {
  readonly securitySchemes: Readonly<Record<string, Schema>>;
  readonly parameters: Readonly<Record<string, Schema>>;
  readonly headers: Readonly<Record<string, Schema>>;
  readonly responses: Readonly<Record<string, Schema>>;
  readonly schemas: Readonly<Record<string, Schema>>;
}
