import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import { ruleNames } from '../collections/collection.ts';
import { memberReader, type MemberReader } from '../collections/member-reader.ts';
import { ProblemList } from '../collections/problem-list.ts';
import { fieldError } from '../fields/field-error.ts';
import type { RuleContext } from '../rules/request-facts.ts';
import type { RecordBody } from './decode-record.ts';

/** A question about a rule, decoded without looking anything up. */
export interface RuleTest {
  /** The name of a rule of the collection; undefined where the text of a rule was sent instead. */
  readonly name: RuleName | undefined;
  readonly rule: string | null;
  readonly caller: TestedCaller;
  /** The id of a record, or the members of one that could be made. */
  readonly record: string | RecordBody;
  readonly method: string;
  readonly context: RuleContext;
  readonly query: ReadonlyMap<string, string>;
  /** Header values by name, in lower case with `_` for `-`, as rules write them. */
  readonly headers: ReadonlyMap<string, string>;
  /** The members that the request would change of an existing record. */
  readonly body: RecordBody;
}

export type RuleName = (typeof ruleNames)[number] | 'authRule' | 'manageRule';

export type TestedCaller =
  | { readonly kind: 'guest' }
  | { readonly kind: 'superuser' }
  | { readonly kind: 'record'; readonly collection: string; readonly id: string };

const allNames: readonly RuleName[] = [...ruleNames, 'authRule', 'manageRule'];
const contexts: readonly RuleContext[] = Object.keys({
  default: true,
  expand: true,
  realtime: true,
  protectedFile: true,
  batch: true,
  oauth2: true,
  otp: true,
  password: true,
} satisfies Record<RuleContext, true>) as RuleContext[]; // Their names are the keys of this very object.

const failed = 'The rule could not be tested.';

/** Throws bad_request with every problem, under the member that has it. */
export function decodeRuleTest(collection: Collection, body: JsonObject): RuleTest {
  const problems = new ProblemList();
  const read = memberReader(body, problems);
  const asked = ruleOf(collection, body, read);
  const caller = callerOf(body, read);
  const record = recordOf(body, read);
  const request = read.members('request', (member) => requestOf(member, body['request']));
  if (typeof record !== 'string' && Object.keys(request.body).length > 0)
    problems.add('request', {
      body: { code: 'validation_invalid_value', message: 'Must be left out where the record is made of it.' },
    });
  problems.throwIfAny(failed);
  return { ...asked, caller, record, ...request, method: request.method ?? methodOf(asked.name) };
}

function ruleOf(
  { rules, auth }: Collection,
  body: JsonObject,
  read: MemberReader,
): Pick<RuleTest, 'name' | 'rule'> {
  const given = Object.hasOwn(body, 'rule') ? read.rule('rule', null) : undefined;
  if (given === undefined) read.refuse('rule', fieldError('validation_required'));
  const name = allNames.find((known) => known === given);
  if (name === undefined) return { name, rule: given ?? null };
  const all = { ...rules, ...(auth && { authRule: auth.authRule, manageRule: auth.manageRule }) };
  const rule = new Map<string, string | null>(Object.entries(all)).get(name);
  if (rule === undefined)
    read.refuse('rule', { code: 'validation_invalid_value', message: 'The collection has no such rule.' });
  return { name, rule: rule ?? null };
}

function callerOf(body: JsonObject, read: MemberReader): TestedCaller {
  const caller = Object.hasOwn(body, 'caller') ? body['caller'] : 'guest';
  if (caller === 'guest' || caller === 'superuser') return { kind: caller };
  if (isJsonObject(caller)) {
    const { collection, id } = caller;
    if (typeof collection === 'string' && typeof id === 'string') return { kind: 'record', collection, id };
  }
  const message = 'Must be "guest", "superuser" or the collection and the id of a record.';
  read.refuse('caller', { code: 'validation_invalid_value', message });
  return { kind: 'guest' };
}

function recordOf(body: JsonObject, read: MemberReader): RuleTest['record'] {
  const record = Object.hasOwn(body, 'record') ? body['record'] : {};
  if (typeof record === 'string' || isJsonObject(record)) return record;
  const message = 'Must be the id of a record or the members of one.';
  read.refuse('record', { code: 'validation_invalid_value', message });
  return {};
}

function requestOf(
  read: MemberReader,
  raw: unknown,
): Pick<RuleTest, 'context' | 'query' | 'headers' | 'body'> & { readonly method: string | undefined } {
  const context = read.text('context', 'default');
  const known = contexts.find((one) => one === context);
  if (known === undefined)
    read.refuse('context', {
      code: 'validation_invalid_value',
      message: `Must be one of ${contexts.join(', ')}.`,
    });
  const texts = (name: string): ReadonlyMap<string, string> =>
    read.members(name, (member) => textsOf(member, isJsonObject(raw) ? raw[name] : undefined));
  const body = isJsonObject(raw) ? (raw['body'] ?? {}) : {};
  if (!isJsonObject(body))
    read.refuse('body', { code: 'validation_invalid_value', message: 'Must be an object.' });
  return {
    method: read.text('method', undefined),
    context: known ?? 'default',
    query: texts('query'),
    headers: new Map([...texts('headers')].map(([name, value]) => [toFactName(name), value])),
    body: isJsonObject(body) ? body : {},
  };
}

function textsOf(read: MemberReader, raw: unknown): ReadonlyMap<string, string> {
  const names = isJsonObject(raw) ? Object.keys(raw) : [];
  return new Map(names.map((name) => [name, read.text(name, '')]));
}

/** `X-Token` is asked for as `x_token`. */
export function toFactName(header: string): string {
  return header.toLowerCase().replaceAll('-', '_');
}

function methodOf(name: RuleName | undefined): string {
  switch (name) {
    case 'createRule':
    case 'authRule':
      return 'POST';
    case 'updateRule':
      return 'PATCH';
    case 'deleteRule':
      return 'DELETE';
    default:
      return 'GET';
  }
}
