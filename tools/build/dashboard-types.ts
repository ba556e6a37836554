/** The parts of an OpenAPI 3.1 document that become types. Ours, so its form is certain. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

interface Operation {
  readonly parameters?: readonly { readonly $ref: string }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

const methods = ['get', 'post', 'patch', 'put', 'delete'] as const;

/**
 * Returns TypeScript with a type for each schema, in `Schemas`, and for each operation its query, body and answer, in `Operations` by
 * `GET /api/logs/{id}`. Ours rather than a package's: those that do this need the programming interface of an older TypeScript.
 */
export function dashboardTypes(input: unknown): string {
  // spec/openapi.json, so its form is certain.
  const document = input as Document;
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) => `  ${name}: ${typeOf(schema)};\n`,
  );
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      return `  '${method.toUpperCase()} ${path}': ${operationType(operation, document)};\n`;
    }),
  );
  return `// Written by \`npm run generate\` from spec/openapi.json.

export interface Schemas {
${schemas.join('')}}

export interface Operations {
${operations.join('')}}
`;
}

function operationType(operation: Operation, { components }: Document): string {
  const query = (operation.parameters ?? []).flatMap(({ $ref }) => {
    const parameter = components.parameters[nameOf($ref)];
    if (parameter?.in !== 'query') return [];
    const mark = parameter.required === true ? '' : '?';
    return `${keyOf(parameter.name)}${mark}: ${typeOf(parameter.schema)}`;
  });
  const body = operation.requestBody?.content['application/json']?.schema;
  const [success] = Object.entries(operation.responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => content?.['application/json']?.schema);
  const members = [
    `query: ${query.length === 0 ? 'Record<never, never>' : `{ ${query.join('; ')} }`}`,
    `body: ${body === undefined ? 'undefined' : typeOf(body)}`,
    `answer: ${success === undefined ? 'undefined' : typeOf(success)}`,
  ];
  return `{ ${members.join('; ')} }`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return `Schemas['${nameOf(schema.$ref)}']`;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return choices.map((choice) => `(${typeOf(choice)})`).join(' | ');
  if (schema.allOf !== undefined) return schema.allOf.map((part) => `(${typeOf(part)})`).join(' & ');
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (types.length === 0) return 'unknown';
  return types.map((type) => plainType(type, schema)).join(' | ');
}

function plainType(type: string, schema: Schema): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return schema.items === undefined ? 'readonly unknown[]' : `readonly (${typeOf(schema.items)})[]`;
    case 'object':
      return objectType(schema);
    default:
      throw new Error(`expected a type of JSON Schema, not ${type}`);
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(
    ([name, schema]) => `readonly ${keyOf(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  );
  const value =
    typeof additionalProperties === 'object'
      ? typeOf(additionalProperties)
      : additionalProperties === true || members.length === 0
        ? 'unknown'
        : undefined;
  const others = value === undefined ? undefined : `{ readonly [name: string]: ${value} }`;
  if (members.length === 0) return others ?? '{}';
  const known = `{ ${members.join('; ')} }`;
  return others === undefined ? known : `(${known} & ${others})`;
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`;
}
