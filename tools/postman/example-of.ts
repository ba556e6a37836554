/** As much of JSON Schema as descriptions of ours use. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly minItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

type Schemas = Readonly<Record<string, JsonSchema>>;

const textsByFormat: Readonly<Record<string, string>> = {
  email: 'ann@example.com',
  uri: 'https://example.com/hook',
};

/** Makes a value that fits a schema, with the members that are required and no others. */
export function exampleOf(schema: JsonSchema, schemas: Schemas): unknown {
  const resolved = resolve(schema, schemas);
  if (resolved.const !== undefined) return resolved.const;
  if (resolved.default !== undefined) return resolved.default;
  if (resolved.enum !== undefined) return resolved.enum[0];
  const [choice] = resolved.oneOf ?? resolved.anyOf ?? [];
  if (choice !== undefined) return exampleOf(choice, schemas);
  const type = typeof resolved.type === 'string' ? resolved.type : resolved.type?.[0];
  switch (type) {
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return resolved.minimum ?? 0;
    case 'string':
      return textsByFormat[resolved.format ?? ''] ?? 'text';
    case 'array':
      return Array.from({ length: resolved.minItems ?? 0 }, () => exampleOf(resolved.items ?? {}, schemas));
    default:
      return membersOf(resolved, schemas);
  }
}

/** Follows a reference; what stands beside it comes with it. */
export function resolve(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...beside } = schema;
  const target = schemas[$ref.slice('#/components/schemas/'.length)];
  if (target === undefined) throw new Error(`${$ref} leads to nothing`);
  return { ...resolve(target, schemas), ...beside };
}

function membersOf({ required = [], properties = {} }: JsonSchema, schemas: Schemas): object {
  return Object.fromEntries(
    required.map((name) => [name, exampleOf(properties[name] ?? { type: 'string' }, schemas)]),
  );
}
