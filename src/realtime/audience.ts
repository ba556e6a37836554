import type { Caller } from '../access/caller.ts';
import type { FactReader, RuleInput } from '../access/rule-input.ts';
import { admit, BrokenRule, isLocked, unlessBroken } from '../access/rule.ts';
import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { constantOf } from '../filters/compile.ts';
import type { FilterTree } from '../filters/parse.ts';
import type { Instance } from '../instances/instance.ts';
import { pickFields } from '../query/projection.ts';
import { baseAlias, RecordScope } from '../query/record-scope.ts';
import { inlineRow, scopeContext } from '../records/check-rule.ts';
import { refuseRuleNames } from '../records/list-records.ts';
import { presentRecords } from '../records/present-records.ts';
import type { StoredRecord } from '../records/record.ts';
import { sql } from '../sql/sql.ts';
import type { Topic } from './topic.ts';

/** Who is told of a change: those who may see the same of it. The change is looked at once for all of them. */
export interface Audience {
  readonly topic: Topic;
  readonly caller: Caller;
}

/** Returns a text that is equal for audiences who are told the same of a collection's changes, with whatever rules. */
export function audienceKey({ topic, caller }: Audience, collection: Collection): string {
  const { query, headers } = topic;
  const options = query.size + headers.size === 0 ? '' : JSON.stringify([...query, '', ...headers]);
  return `${topic.rule} ${callerKey(caller, { topic, collection })} ${options}`;
}

/** The part of a key that the caller is: everybody who is not distinguished by what decides. */
function callerKey(
  caller: Caller,
  { topic, collection }: { readonly topic: Topic; readonly collection: Collection },
): string {
  if (caller.kind === 'superuser') return caller.key === undefined ? 'superuser' : `key ${caller.id}`;
  if (!dependsOnCaller(topic, collection)) return 'anybody';
  return caller.kind === 'guest' ? 'guest' : `${caller.collectionId}/${caller.id}`;
}

/**
 * Whether two callers who are no superusers may be told different things. A rule with a dot may lead to other records, whose own rules ask about
 * the caller; an account shows its address to some.
 */
export function dependsOnCaller({ rule, query, filter }: Topic, collection: Collection): boolean {
  const text = collection.rules[rule] ?? '';
  const isPlain = !/[@.]/.test(text) && !text.includes('_via_');
  return !isPlain || filter !== undefined || Boolean(query.get('expand')) || collection.type === 'auth';
}

/** Returns the JSON of a record as an audience may see it; undefined where they may not, or have not asked for it. */
export function recordFor(
  instance: Instance,
  audience: Audience,
  record: StoredRecord,
): Promise<string | undefined> {
  return unlessBroken(instance, undefined, async () => {
    const { topic, caller } = audience;
    const { collection } = record;
    if (!mayAsk(audience, collection)) return undefined;
    const facts = factsOf(audience);
    const rule = admit(collection, topic.rule, caller);
    const condition = { facts, rule, filter: topic.filter };
    const isTold = await isTrueOf(instance, record, condition).catch((error: unknown) => {
      throw brokenIfRefused(error, collection);
    });
    if (!isTold) return undefined;
    const [json = ''] = await presentRecords({ instance, facts }, [record]);
    return topic.fields === undefined ? json : JSON.stringify(pickFields(JSON.parse(json), topic.fields));
  });
}

/** Whether an audience is told of any record of a collection. */
function mayAsk({ topic, caller }: Audience, collection: Collection): boolean {
  return !isLocked(collection, [topic.rule], caller);
}

/** Throws bad_request when the filter of an audience names what the collection has not, forbidden when it names what only rules may. */
export function checkFilter(instance: Instance, audience: Audience, collection: Collection): void {
  const { filter, query } = audience.topic;
  if (filter === undefined || !mayAsk(audience, collection)) return;
  if (audience.caller.kind !== 'superuser') refuseRuleNames(reader(query));
  const scope = scopeFor(instance, { facts: factsOf(audience), rule: undefined, filter }, collection);
  void scope.condition;
}

interface Condition {
  readonly facts: RuleInput;
  readonly rule: FilterTree | undefined;
  readonly filter: FilterTree | undefined;
}

async function isTrueOf(instance: Instance, record: StoredRecord, condition: Condition): Promise<boolean> {
  const { collection, values } = record;
  const asked = scopeFor(instance, condition, collection).condition;
  if (asked === undefined) return true;
  const { database } = instance;
  const known = constantOf(asked);
  if (known !== undefined) return known;
  const row = inlineRow(collection, values, database.names);
  const rows = await database.search(sql`SELECT 1 FROM ${row} AND ${asked}`);
  return rows.length > 0;
}

function scopeFor(
  instance: Instance,
  { facts, rule, filter }: Condition,
  collection: Collection,
): RecordScope {
  const scope = new RecordScope(scopeContext(instance, facts), { collection, alias: baseAlias });
  if (rule !== undefined) scope.addRule(rule);
  if (filter !== undefined) scope.add(filter, facts.caller.kind === 'superuser' ? 'rule' : 'client');
  return scope;
}

/** A filter that was right when it was sent no longer is, as a field was removed: it admits nothing, as a rule would. */
function brokenIfRefused(error: unknown, { name }: Collection): unknown {
  return error instanceof AppError && error.code === 'bad_request' ? new BrokenRule(error, name) : error;
}

/** What rules may know of a subscription: the options that a request would have. */
function factsOf({ topic, caller }: Audience): RuleInput {
  const { query, headers } = topic;
  return {
    caller,
    context: 'realtime',
    method: 'GET',
    query: reader(query),
    headers: reader(headers),
    body: {},
  };
}

function reader(texts: ReadonlyMap<string, string>): FactReader {
  return { get: (name) => texts.get(name) ?? null };
}
