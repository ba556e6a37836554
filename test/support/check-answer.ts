import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { version } from '../../src/app.ts';
import type { Operation, Schema } from '../../src/http/openapi/document.ts';
import { serviceDocument } from '../../src/http/openapi/service-document.ts';

export interface AnsweredRequest {
  readonly method: string;
  /** Of the whole request, with its query. */
  readonly url: string;
  /** As it was sent; empty for none. */
  readonly body: string;
}

export interface CheckedAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** Given by the server itself, whatever the path. */
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
  const mode = /\bfields=/.test(request.url + request.body) ? 'partial' : 'whole';
  const validate = validatorOf(mode, pointer ?? '/components/schemas/Error');
  assert.ok(validate(json), `${where}: not as described: ${JSON.stringify(validate.errors)}`);
}

interface FoundOperation {
  readonly pointer: string;
  readonly operation: Operation;
}

const document = serviceDocument(version);

/** Fixed paths before those with parameters. */
const routes = Object.entries(document.paths)
  .toSorted(([a], [b]) => a.split('{').length - b.split('{').length)
  .map(([path, item]) => ({
    path,
    item,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

function findOperation(method: string, written: string): FoundOperation | undefined {
  const pathname = decoded(written.replace(/^\/i\/[^/]*(?=\/)/, ''));
  for (const { path, item, pattern } of routes) {
    if (!pattern.test(pathname)) continue;
    for (const [name, operation] of Object.entries(item)) {
      if (name.toUpperCase() !== method) continue;
      return { pointer: `/paths/${path.replaceAll('/', '~1')}/${name}`, operation };
    }
  }
  return undefined;
}

/** As the router reads it, which takes an encoded slash for no slash. */
function decoded(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}

/** Where the schema of an answer stands; empty for one that has no body, undefined for one that is not described. */
function schemaPointer({ pointer, operation }: FoundOperation, status: number): string | undefined {
  const response = operation.responses[String(status)];
  if (response === undefined) return undefined;
  const reference = response['$ref'];
  if (typeof reference === 'string') return `${reference.slice(1)}${content}`;
  return response['content'] === undefined ? '' : `${pointer}/responses/${status}${content}`;
}

const content = '/content/application~1json/schema';

/** What no route answers: of an unknown path, with a method it has not, or by no valid HTTP. */
function isOfServer(found: FoundOperation | undefined, status: number): boolean {
  return statusesOfServer.includes(status) || (found === undefined && status >= 400);
}

/** With `fields`, members that were not asked for are missing. */
type Mode = 'whole' | 'partial';

const validators = new Map<string, ValidateFunction>();
let ajv: Ajv2020 | undefined;

/** Compiled when it is first asked for: a file of tests has answers of a few kinds. */
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
  // To the validator the document is a schema with parts that it does not know.
  made.addVocabulary([...Object.keys(document), 'discriminator']);
  for (const mode of ['whole', 'partial'] as const) made.addSchema(toStrict({ ...document }, mode), mode);
  return made;
}

/** The document's schemas, without leave for members that they do not describe. */
function toStrict(schema: Schema, mode: Mode): Schema {
  const members = Object.entries(schema).flatMap(([name, value]): readonly (readonly [string, unknown])[] => {
    // A member of an object may have that name, too.
    if (mode === 'partial' && name === 'required' && Array.isArray(value)) return [];
    // What is left of two forms may be alike.
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
