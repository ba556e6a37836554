import { AppError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { RecordScope, baseAlias, type ScopeContext } from '../collections/record-scope.ts';
import { callerOf } from '../instances/caller-of.ts';
import type { Instance } from '../instances/instance.ts';
import { guest, type Caller } from '../rules/caller.ts';
import { parseRule } from '../rules/parse-rule.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { ruleTerms, type RuleTerm } from '../rules/rule-terms.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import { givenRow, storedRow } from './ask-rule.ts';
import { withVerified } from './accounts/check-account.ts';
import { decodeRecord } from './decode-record.ts';
import { decodeRuleTest, toFactName, type RuleTest, type TestedCaller } from './decode-rule-test.ts';
import { factsOfChange } from './facts-of-change.ts';
import { findRecord } from './find-record.ts';
import type { StoredRecord } from './record.ts';
import { scopeContext } from './scope-context.ts';
import { readCurrentCollection } from '../instances/read-current-collection.ts';

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
}

const failed = 'The rule could not be tested.';

/**
 * Asks a rule as a request would: with the same compiler, about a stored record or one that could be made. It is one statement,
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

async function testRuleOf(instance: Instance, collection: Collection, asked: RuleTest): Promise<RuleVerdict> {
  const caller = await findCaller(instance, asked.caller);
  const existing = await findExisting(instance, collection, asked.record);
  if (caller.kind === 'superuser') return { allowed: true, terms: [] };
  if (asked.rule === null) return { allowed: false, terms: [] };
  // The manage rule never admits guests.
  const mayPass = asked.name !== 'manageRule' || caller.kind !== 'guest';
  if (asked.rule === '') return { allowed: mayPass, terms: [] };
  const { facts, row } = questionOf(instance, { collection, asked, caller, existing });
  const context = scopeContext(instance, facts);
  const { terms, columns } = compiled(asked.rule, { collection, context });
  const [answer = []] = await instance.database.search(sql`SELECT ${joinSql(columns, ', ')} FROM ${row}`);
  const [whole, ...results] = answer.map((result) => Number(result) === 1);
  return {
    allowed: mayPass && whole === true,
    terms: terms.map(({ text, position }, index) => ({ text, position, result: results[index] === true })),
  };
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

interface Tested {
  readonly collection: Collection;
  readonly asked: RuleTest;
  readonly caller: Caller;
  readonly existing: StoredRecord | undefined;
}

/**
 * Returns what the rule may know and the row that it is about: a stored one, or one made of the given values, as for a create.
 */
function questionOf(
  { database, clock }: Instance,
  { collection, asked, caller, existing }: Tested,
): { readonly facts: RequestFacts; readonly row: Sql } {
  const { context, method, query, headers, record } = asked;
  const body = typeof record === 'string' ? asked.body : record;
  const now = toTimestamp(clock.now());
  const options = { isSuperuser: false, now, ...(existing && { existing }) };
  const { values } = decodeRecord(collection, body, options);
  const sent: RequestFacts = {
    caller,
    context,
    method,
    query: { get: (name) => query.get(name) ?? null },
    headers: { get: (name) => headers.get(toFactName(name)) ?? null },
    body,
  };
  const facts = factsOfChange(sent, collection, values);
  if (typeof record === 'string') return { facts, row: storedRow(collection, record, database.names) };
  const asMade = collection.type === 'auth' ? withVerified(collection, values, 0) : values;
  return { facts, row: givenRow(collection, asMade, database.names) };
}

/** Compiles the rule, then each of its terms, as separate conditions. They share one counter, so that no two joins have the same alias. */
function compiled(
  rule: string,
  { collection, context }: { readonly collection: Collection; readonly context: ScopeContext },
): { readonly terms: readonly RuleTerm[]; readonly columns: readonly Sql[] } {
  try {
    const terms = ruleTerms(rule);
    const counter = { next: 1 };
    const columns = [parseRule(rule), ...terms.map(({ tree }) => tree)].map((tree) => {
      const scope = new RecordScope(context, { collection, alias: baseAlias }, { counter });
      scope.add(tree, 'rule');
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
