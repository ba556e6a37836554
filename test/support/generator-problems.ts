import { foldName } from '../../src/base/distinct-names.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';

/** Names that the clients of some generator use themselves, or that their language does not allow. */
const reservedNames = new Set(
  [
    // TypeScript
    'Array ArrayBuffer Blob Boolean Configuration Date Error File FormData Function Headers Map Number Object Omit Partial Pick',
    'Promise Readonly Record Request Response Set String Symbol URL URLSearchParams',
    // Python, with what pydantic clients import
    'Annotated Any BaseModel ClassVar ConfigDict Dict Enum Field List Literal None Optional Self Tuple Type Union',
    'and as assert async await class def del elif except finally from global in is lambda nonlocal not or pass raise self try while with yield',
    // Go and the keywords that all three share
    'bool byte case chan const continue default defer delete else enum export fallthrough for func go goto if import int interface',
    'len map new nil package range return rune select string struct switch this throw type typeof uint var void',
  ]
    .join(' ')
    .split(' ')
    .map(foldName),
);

/**
 * Returns what is wrong with an OpenAPI document for generators of clients, each with its place. Every kind has kept the clients of
 * some generator from compiling.
 */
export function generatorProblems(document: JsonObject): readonly string[] {
  const schemas = Object.keys(objectAt(document, 'components', 'schemas'));
  const operations = operationsOf(document, 'paths');
  const webhooks = operationsOf(document, 'webhooks');
  const ids = [...operations, ...webhooks].map(({ operationId }) => String(operationId));
  const tags = new Set(operations.flatMap(tagsOf));
  return [
    ...[schemas, ids].flatMap(clashes).map((names) => `${names}: the same name in another case`),
    ...[...schemas, ...ids]
      .filter((name) => !/^_*[A-Za-z]/.test(name))
      .map((name) => `${name}: begins with no letter`),
    ...[...schemas, ...ids]
      .filter((name) => reservedNames.has(foldName(name)))
      .map((name) => `${name}: is reserved`),
    ...webhooks
      .flatMap(tagsOf)
      .filter((tag) => tags.has(tag))
      .map((tag) => `${tag}: a tag of routes and of webhooks`),
    ...operations.flatMap((operation) => operationProblems(document, operation)),
    ...schemaProblems(document, document, '#'),
  ];
}

function operationProblems(document: JsonObject, operation: JsonObject): readonly string[] {
  const id = String(operation['operationId']);
  const names = listOf(operation['parameters']).map((parameter) =>
    String(resolve(document, parameter)['name']),
  );
  return [
    ...clashes(names).map((found) => `${id} ${found}: the same parameter in another case`),
    ...Object.entries(objectAt(operation, 'requestBody', 'content')).flatMap(([type, body]) => {
      const schema = isJsonObject(body) && isJsonObject(body['schema']) ? body['schema'] : {};
      const isNamed = '$ref' in schema || 'properties' in schema;
      return isNamed && /form/.test(type) ? [`${id}: a form with members`] : [];
    }),
  ];
}

/** Walks all of a document: whatever has a member of JSON Schema is checked as a schema. */
function schemaProblems(document: JsonObject, value: unknown, at: string): readonly string[] {
  if (Array.isArray(value))
    return value.flatMap((each, index) => schemaProblems(document, each, `${at}/${index}`));
  if (!isJsonObject(value)) return [];
  // What is excluded, and what a condition asks for, becomes no type.
  const members = Object.entries(value).filter(([name]) => name !== 'not' && name !== 'if');
  const inside = members.flatMap(([name, member]) => schemaProblems(document, member, `${at}/${name}`));
  const own = [
    ...(typeof value['$ref'] === 'string' && Object.keys(resolve(document, value)).length === 0
      ? ['a reference to nothing']
      : []),
    ...(value['type'] === 'array' && value['items'] === undefined ? ['an array without items'] : []),
    ...choiceProblems(value),
    ...unionProblems(value),
    ...memberProblems(value),
  ];
  return [...inside, ...own.map((problem) => `${at}: ${problem}`)];
}

/** A number, a text and the like each have one type of JSON Schema. */
function choiceProblems(schema: JsonObject): readonly string[] {
  const { type, enum: values, const: only } = schema;
  const listed: readonly unknown[] = Array.isArray(values)
    ? values
    : isJsonObject(only) || only === undefined
      ? []
      : [only];
  const wrong = listed.filter((value) => type !== (typeof value === 'number' ? 'integer' : typeof value));
  const names = Array.isArray(schema['x-enum-varnames'])
    ? schema['x-enum-varnames'].map(String)
    : listed.map(String);
  const constants = names.filter((name) => name !== '');
  return [
    ...(wrong.length === 0 ? [] : ['a choice of another type']),
    ...(names.length === listed.length && constants.every(hasName) ? [] : ['a choice without a name']),
    ...clashes(constants).map((found) => `${found}: the same choice in another case`),
  ];
}

function unionProblems(schema: JsonObject): readonly string[] {
  const choices = [...listOf(schema['oneOf']), ...listOf(schema['anyOf'])];
  if (choices.length === 0) return [];
  const references = choices
    .flatMap((each) => [each, each['items']])
    .flatMap((each) => (isJsonObject(each) && '$ref' in each ? [String(each['$ref'])] : []));
  const { discriminator } = schema;
  const mapping = isJsonObject(discriminator) ? Object.values(objectAt(discriminator, 'mapping')) : [];
  const isDiscriminated =
    discriminator === undefined || choices.every(({ $ref }) => mapping.includes($ref ?? ''));
  return [
    ...('default' in schema ? ['a default of a union'] : []),
    ...(new Set(references).size === references.length ? [] : ['a union that names a schema twice']),
    ...(isDiscriminated ? [] : ['a discriminator of schemas without names']),
  ];
}

/** Generators make names of letters and digits, and know a star and an underscore. */
function hasName(constant: string): boolean {
  return /^[*_]$/.test(constant) || foldName(constant) !== '';
}

/** Members that are there twice for clients of PocketBase, with the same value. */
const spelledTwice = ['authURL, authUrl', 'avatarURL, avatarUrl', 'redirectURL, redirectUrl'];

function memberProblems({ properties }: JsonObject): readonly string[] {
  if (!isJsonObject(properties)) return [];
  return clashes(Object.keys(properties))
    .filter((found) => !spelledTwice.includes(found))
    .map((found) => `${found}: the same member in another case`);
}

/** Returns the names that are the same when folded, those of a clash together. */
function clashes(names: readonly string[]): readonly string[] {
  return [...Map.groupBy(names, foldName).values()]
    .filter((same) => same.length > 1)
    .map((same) => same.join(', '));
}

function operationsOf(document: JsonObject, member: string): readonly JsonObject[] {
  return Object.values(objectAt(document, member)).flatMap((item) =>
    isJsonObject(item) ? Object.values(item).filter(isJsonObject) : [],
  );
}

function tagsOf({ tags }: JsonObject): readonly string[] {
  return Array.isArray(tags) ? tags.map(String) : [];
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function resolve(document: JsonObject, schema: JsonObject): JsonObject {
  const { $ref } = schema;
  if (typeof $ref !== 'string') return schema;
  return objectAt(document, ...$ref.replace('#/', '').split('/'));
}

/** Returns the object at these members of another, or an empty one. */
function objectAt(value: JsonObject, ...names: readonly string[]): JsonObject {
  return names.reduce<JsonObject>((inside, name) => {
    const member = inside[name];
    return isJsonObject(member) ? member : {};
  }, value);
}
