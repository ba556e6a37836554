import { type Caller, guest } from '../access/caller.ts';
import type { RuleInput, RuleContext } from '../access/rule-input.ts';
import { operandText, parseRule, type RuleTerm, ruleTerms } from '../access/rule.ts';
import { AppError } from '../base/errors.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { type Collection, ruleNames } from '../collections/collection.ts';
import { memberReader, type MemberReader, ProblemList } from '../collections/member-reader.ts';
import { filterRules } from '../definitions/check-rules.ts';
import { fieldError } from '../fields/field-error.ts';
import { readCurrentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { callerOf } from '../instances/token-secrets.ts';
import { type ComparedSide, findComparedValues, readSides } from '../query/compared-values.ts';
import { type ConditionRequest, WrittenRecord } from '../query/condition-request.ts';
import { inlineColumns } from '../query/inline-columns.ts';
import { baseAlias, RecordScope, type ScopeContext } from '../query/record-scope.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import { QueryTimeout } from '../storage/engine-errors.ts';
import { withVerified } from './check-account.ts';
import { scopeContext, storedRow } from './check-rule.ts';
import { decodeRecord, type RecordBody } from './decode-record.ts';
import { findRecord } from './find-record.ts';
import type { StoredRecord } from './record.ts';

/** The result of a rule test. */
export interface RuleVerdict {
  readonly allowed: boolean;
  /** The result of each comparison by itself. Empty where no rule is evaluated: for superusers, and for a rule that is null or empty. */
  readonly terms: readonly TermVerdict[];
}

interface TermVerdict {
  readonly text: string;
  readonly position: number;
  readonly result: boolean;
  /** What was compared, where it is false: both sides. Empty where it is true, and where it takes too long to read. */
  readonly sides: readonly ComparedSide[];
}

/** False comparisons whose values are read, and the time for each. */
const shownMax = 10;
const readingMs = 250;

const failed = 'The rule could not be tested.';

/**
 * Evaluates a rule as a request would: with the same compiler, for a stored record or for values of a new one. It is one statement,
 * so that one query timeout holds for all of it; nothing is written. Throws not_found (collection), bad_request.
 */
export function testRule(
  instance: Instance,
  request: { readonly collection: string; readonly body: JsonObject },
): Promise<RuleVerdict> {
  return readCurrentCollection(instance, request.collection, (collection) =>
    testRuleOf(instance, collection, decodeRuleTest(collection, request.body)),
  );
}

export async function testRuleOf(
  instance: Instance,
  collection: Collection,
  test: RuleTest,
): Promise<RuleVerdict> {
  const caller = await findCaller(instance, test.caller);
  const existing = await findExisting(instance, collection, test.record);
  if (caller.kind === 'superuser') return { allowed: true, terms: [] };
  if (test.rule === null) return { allowed: false, terms: [] };
  // The manage rule never admits guests.
  const mayPass = test.name !== 'manageRule' || caller.kind !== 'guest';
  if (test.rule === '') return { allowed: mayPass, terms: [] };
  const { row, ...request } = evaluationOf(instance, { collection, test, caller, existing });
  // A stored rule is evaluated as it is, even where it could not be saved today.
  const isStored = filterRules(collection).some(([, rule]) => rule === test.rule);
  const context = { ...scopeContext(instance, request.input), ...request, isStored };
  const { terms, columns } = compileRule(test.rule, { collection, context });
  const [answer = []] = await instance.database.search(sql`SELECT ${joinSql(columns, ', ')} FROM ${row}`);
  const [whole, ...results] = answer.map((result) => Number(result) === 1);
  const verdicts: TermVerdict[] = [];
  let count = 0;
  for (const [index, term] of terms.entries()) {
    const result = results[index] === true;
    const isShown = !result && count < shownMax;
    if (isShown) count += 1;
    const reading = { rule: test.rule, collection, context, row };
    const sides = isShown ? await readTermSides(instance, term, reading) : [];
    verdicts.push({ text: term.text, position: term.position, result, sides });
  }
  return { allowed: mayPass && whole === true, terms: verdicts };
}

interface TermReading {
  readonly rule: string;
  readonly collection: Collection;
  readonly context: ScopeContext;
  readonly row: Sql;
}

async function readTermSides(
  { database }: Instance,
  { tree }: RuleTerm,
  { rule, collection, context, row }: TermReading,
): Promise<readonly ComparedSide[]> {
  const values = findComparedValues(context, { collection, alias: baseAlias, isOfRule: true }, tree);
  if (values === undefined) return [];
  const search = async (columns: readonly Sql[], rest: Sql): Promise<readonly Tuple[]> =>
    // A stored row has a condition, behind which nothing can be joined.
    database.search(
      sql`SELECT ${joinSql(columns, ', ')} FROM (SELECT * FROM ${row}) AS ${baseAlias}${rest}`,
      { timeoutMs: readingMs },
    );
  try {
    const texts = [operandText(rule, tree.left), operandText(rule, tree.right)] as const;
    return await readSides({ names: database.names, search }, values, texts);
  } catch (error) {
    const isRefused = error instanceof AppError && error.code === 'bad_request';
    if (error instanceof QueryTimeout || isRefused) return [];
    throw error;
  }
}

async function findCaller(instance: Instance, caller: TestedCaller): Promise<Caller> {
  if (caller.kind === 'guest') return guest;
  if (caller.kind === 'superuser') return { kind: 'superuser', id: '' };
  const collection = instance.collections.find(caller.collection);
  if (collection?.type !== 'auth') throw refusal('caller', 'There is no such auth collection.');
  const { id } = caller;
  if ((await findRecord(instance.database, collection, id)) === undefined)
    throw refusal('caller', 'There is no such record.');
  return callerOf(collection, id);
}

async function findExisting(
  { database }: Instance,
  collection: Collection,
  record: RuleTest['record'],
): Promise<StoredRecord | undefined> {
  if (typeof record !== 'string') return undefined;
  const existing = await findRecord(database, collection, record);
  if (existing === undefined) throw refusal('record', 'There is no such record.');
  return existing;
}

interface RuleTestCase {
  readonly collection: Collection;
  readonly test: RuleTest;
  readonly caller: Caller;
  readonly existing: StoredRecord | undefined;
}

/**
 * Returns the input of the rule and the row that it is evaluated for: a stored one, or one made of the sent values, as for a create.
 */
function evaluationOf(
  { database, clock }: Instance,
  { collection, test, caller, existing }: RuleTestCase,
): Pick<ConditionRequest, 'input' | 'write'> & { readonly row: Sql } {
  const { context, method, query, headers, record } = test;
  const body = typeof record === 'string' ? test.body : record;
  const now = toTimestamp(clock.now());
  const options = { isSuperuser: false, now, ...(existing && { existing }) };
  const { values } = decodeRecord(collection, body, options);
  const input: RuleInput = {
    caller,
    context,
    method,
    query: { get: (name) => query.get(name) ?? null },
    headers: { get: (name) => headers.get(toHeaderKey(name)) ?? null },
    body,
  };
  const write = new WrittenRecord(collection, values);
  if (typeof record === 'string') return { input, write, row: storedRow(collection, record, database.names) };
  const asMade = collection.type === 'auth' ? withVerified(collection, values, 0) : values;
  const columns = inlineColumns(collection, asMade, database.names);
  return { input, write, row: sql`(SELECT ${columns}) AS ${baseAlias}` };
}

/** Compiles the rule, then each of its terms, as separate conditions. They share one counter, so that no two joins have the same alias. */
function compileRule(
  rule: string,
  { collection, context }: { readonly collection: Collection; readonly context: ScopeContext },
): { readonly terms: readonly RuleTerm[]; readonly columns: readonly Sql[] } {
  try {
    const terms = ruleTerms(rule);
    const counter = { next: 1 };
    const columns = [parseRule(rule), ...terms.map(({ tree }) => tree)].map((tree) => {
      const scope = new RecordScope(context, { collection, alias: baseAlias }, { counter });
      scope.addRuleDraft(tree);
      return sql`CASE WHEN ${scope.condition ?? sql`TRUE`} THEN 1 ELSE 0 END`;
    });
    return { terms, columns };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const message = `Invalid rule. Raw error: ${error.message}`;
    throw new AppError('bad_request', failed, {
      details: { rule: { code: 'validation_invalid_rule', message } },
    });
  }
}

function refusal(name: string, message: string): AppError {
  return new AppError('bad_request', failed, {
    details: { [name]: { code: 'validation_invalid_value', message } },
  });
}

/** The body of a rule test, decoded without reading the database. */
export interface RuleTest {
  /** The name of a rule of the collection; undefined where the text of a rule was sent instead. */
  readonly name: TestedRuleName | undefined;
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

export type TestedRuleName = (typeof ruleNames)[number] | 'authRule' | 'manageRule';

type TestedCaller =
  | { readonly kind: 'guest' }
  | { readonly kind: 'superuser' }
  | { readonly kind: 'record'; readonly collection: string; readonly id: string };

const allNames: readonly TestedRuleName[] = [...ruleNames, 'authRule', 'manageRule'];
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

const refusedTest = 'The rule could not be tested.';

/** Throws bad_request with every problem, under the member that has it. */
export function decodeRuleTest(collection: Collection, body: JsonObject): RuleTest {
  const problems = new ProblemList();
  const read = memberReader(body, problems);
  const ruleText = ruleOf(collection, body, read);
  const caller = decodeCaller(body, read);
  const record = recordOf(body, read);
  const request = read.members('request', (member) => requestOf(member, body['request']));
  if (typeof record !== 'string' && Object.keys(request.body).length > 0)
    problems.add('request', {
      body: { code: 'validation_invalid_value', message: 'Must be left out where the record is made of it.' },
    });
  problems.throwIfAny(refusedTest);
  return { ...ruleText, caller, record, ...request, method: request.method ?? methodOf(ruleText.name) };
}

function ruleOf(
  { rules, auth }: Collection,
  body: JsonObject,
  read: MemberReader,
): Pick<RuleTest, 'name' | 'rule'> {
  const text = Object.hasOwn(body, 'rule') ? read.rule('rule', null) : undefined;
  if (text === undefined) read.refuse('rule', fieldError('validation_required'));
  const name = allNames.find((each) => each === text);
  if (name === undefined) return { name, rule: text ?? null };
  const all = { ...rules, ...(auth && { authRule: auth.authRule, manageRule: auth.manageRule }) };
  const rule = new Map<string, string | null>(Object.entries(all)).get(name);
  if (rule === undefined)
    read.refuse('rule', { code: 'validation_invalid_value', message: 'The collection has no such rule.' });
  return { name, rule: rule ?? null };
}

function decodeCaller(body: JsonObject, read: MemberReader): TestedCaller {
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
  const knownContext = contexts.find((one) => one === context);
  if (knownContext === undefined)
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
    context: knownContext ?? 'default',
    query: texts('query'),
    headers: new Map([...texts('headers')].map(([name, value]) => [toHeaderKey(name), value])),
    body: isJsonObject(body) ? body : {},
  };
}

function textsOf(read: MemberReader, raw: unknown): ReadonlyMap<string, string> {
  const names = isJsonObject(raw) ? Object.keys(raw) : [];
  return new Map(names.map((name) => [name, read.text(name, '')]));
}

/** A rule writes `X-Token` as `x_token`. */
function toHeaderKey(header: string): string {
  return header.toLowerCase().replaceAll('-', '_');
}

function methodOf(name: TestedRuleName | undefined): string {
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
