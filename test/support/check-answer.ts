import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { version } from '../../src/app.ts';
import type { Operation, Schema } from '../../src/http/schemas/schema.ts';
import { routes } from '../../src/http/server/routes.ts';
import { serviceDocument } from '../../src/http/openapi/service-document.ts';

export interface AnsweredRequest {
  readonly method: string;
  /** The URL of the request, with its query. */
  readonly url: string;
  /** The body as it was sent; empty for none. */
  readonly body: string;
}

export interface CheckedAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** Statuses that the server itself may answer on any path. */
const statusesOfServer = [405, 408, 413, 431];

/** Throws unless the document describes this answer: its path, its status, and each of its members. */
export function checkAnswer(request: AnsweredRequest, answer: CheckedAnswer): void {
  const { method } = request;
  if (method === 'OPTIONS') return;
  const { status, text, json } = answer;
  const found = findOperation(method === 'HEAD' ? 'GET' : method, new URL(request.url).pathname);
  const where = `${method} ${request.url} was answered ${status} ${text.slice(0, 2_000)}`;
  const pointer = found === undefined ? undefined : schemaPointer(found, status);
  if (pointer === undefined)
    assert.ok(isOfServer(found, status), `${where}: the document has no such answer`);
  if (method === 'HEAD' || pointer === '') {
    assert.equal(text, '', `${where}: an answer without a body`);
    return;
  }
  if (pointer?.endsWith(plainText) === true) {
    assert.ok(json === undefined && text !== '', `${where}: expected text`);
    return;
  }
  const mode = /\bfields=/.test(request.url + request.body) ? 'partial' : 'whole';
  const validate = validatorOf(mode, pointer ?? '/components/schemas/ErrorBody');
  assert.ok(validate(json), `${where}: not as described: ${JSON.stringify(validate.errors)}`);
}

interface FoundOperation {
  readonly pointer: string;
  readonly operation: Operation;
}

const document = serviceDocument(version, routes);

/** The paths of the document, fixed ones before those with parameters. */
const documentedPaths = Object.entries(document.paths)
  .toSorted(([a], [b]) => a.split('{').length - b.split('{').length)
  .map(([path, item]) => ({
    path,
    item,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

function findOperation(method: string, written: string): FoundOperation | undefined {
  const pathname = decoded(written.replace(/^\/i\/[^/]*(?=\/)/, ''));
  for (const { path, item, pattern } of documentedPaths) {
    if (!pattern.test(pathname)) continue;
    for (const [name, operation] of Object.entries(item)) {
      if (name.toUpperCase() !== method) continue;
      return { pointer: `/paths/${path.replaceAll('/', '~1')}/${name}`, operation };
    }
  }
  return undefined;
}

/** Decodes a path as the router does, which does not take an encoded slash for a separator. */
function decoded(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}

/** Returns the JSON pointer to the schema of an answer; empty for one without a body, undefined for one that is not described. */
function schemaPointer({ pointer, operation }: FoundOperation, status: number): string | undefined {
  const response = operation.responses[String(status)];
  if (response === undefined) return undefined;
  const reference = response['$ref'];
  if (typeof reference === 'string') return `${reference.slice(1)}${content}`;
  if (response['content'] === undefined) return '';
  const types = JSON.stringify(response['content']);
  const type = types.includes('*/*') ? file : types.includes('text/plain') ? plainText : content;
  return `${pointer}/responses/${status}${type}`;
}

const content = '/content/application~1json/schema';
/** Anything. */
const file = '/content/*~1*/schema';
const plainText = '/content/text~1plain/schema';

/** True for answers that no route gives: to an unknown path, a method that the path does not have, or invalid HTTP. */
function isOfServer(found: FoundOperation | undefined, status: number): boolean {
  return statusesOfServer.includes(status) || (found === undefined && status >= 400);
}

/** `partial` for answers under `fields`, which lack the members that were not asked for. */
type Mode = 'whole' | 'partial';

const validators = new Map<string, ValidateFunction>();
let ajv: Ajv2020 | undefined;

/** Compiles a validator on first use, since a test file sees only a few kinds of answers. */
function validatorOf(mode: Mode, pointer: string): ValidateFunction {
  const key = `${mode}#${pointer}`;
  const known = validators.get(key);
  if (known !== undefined) return known;
  ajv ??= openValidator();
  const validate = ajv.compile({ $ref: key });
  validators.set(key, validate);
  return validate;
}

function openValidator(): Ajv2020 {
  const made = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    validateSchema: false,
  });
  // The validator takes the whole document for a schema, so the document's own members have to be allowed.
  made.addVocabulary([...Object.keys(document), 'discriminator']);
  for (const mode of ['whole', 'partial'] as const) made.addSchema(toStrict({ ...document }, mode), mode);
  return made;
}

/** Makes the document's schemas refuse members that they do not describe. */
function toStrict(schema: Schema, mode: Mode): Schema {
  const members = Object.entries(schema).flatMap(([name, value]): readonly (readonly [string, unknown])[] => {
    // Only a list is the keyword: an object may have a property named `required`.
    if (mode === 'partial' && name === 'required' && Array.isArray(value)) return [];
    // Without the members that tell them apart, several alternatives may match.
    const key = mode === 'partial' && name === 'oneOf' ? 'anyOf' : name;
    return [[key, toStrictValue(value, mode)]];
  });
  const isClosed = schema['type'] === 'object' && schema['additionalProperties'] === undefined;
  return Object.fromEntries(isClosed ? [...members, ['additionalProperties', false]] : members);
}

function toStrictValue(value: unknown, mode: Mode): unknown {
  if (Array.isArray(value)) return value.map((item) => toStrictValue(item, mode));
  if (typeof value !== 'object' || value === null) return value;
  return toStrict({ ...value }, mode);
}
