import type { Caller } from '../access/caller.ts';
import type { ValueReader, RuleInput } from '../access/rule-input.ts';
import { admit, BrokenRule, isLocked, unlessBroken } from '../access/rule.ts';
import { AppError } from '../base/errors.ts';
import { partsBySize } from '../base/process.ts';
import type { Collection } from '../collections/collection.ts';
import { constantOf, never } from '../filters/compile/compile.ts';
import type { Instance } from '../instances/instance.ts';
import { inlineColumns } from '../query/inline-columns.ts';
import { pickFields } from '../query/projection.ts';
import { baseAlias } from '../query/record-scope.ts';
import { bindRule, type BoundRule, conditionOf, type RuleForm } from '../query/rule-plan.ts';
import { refuseRuleNames } from '../records/list-records.ts';
import { presentRecords } from '../records/present-records.ts';
import type { StoredRecord } from '../records/record.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Topic } from './topic.ts';

/** The subscriptions that get the same message for a change. It is evaluated once for all of them. */
export interface Audience {
  readonly topic: Topic;
  readonly caller: Caller;
}

/** Returns a key that is equal for audiences that get the same messages for a collection's changes, with whatever rules. */
export function audienceKey({ topic, caller }: Audience, collection: Collection): string {
  const { query, headers } = topic;
  const options = query.size + headers.size === 0 ? '' : JSON.stringify([...query, '', ...headers]);
  return `${topic.rule} ${callerKey(caller, { topic, collection })} ${options}`;
}

/** The caller's part of a key: equal for callers that no rule distinguishes. */
function callerKey(
  caller: Caller,
  { topic, collection }: { readonly topic: Topic; readonly collection: Collection },
): string {
  if (caller.kind === 'superuser') return caller.key === undefined ? 'superuser' : `key ${caller.id}`;
  if (!dependsOnCaller(topic, collection)) return 'anybody';
  return caller.kind === 'guest' ? 'guest' : `${caller.collectionId}/${caller.id}`;
}

/**
 * Whether two callers who are no superusers may get different messages. A rule with a dot may lead to other records, whose own rules depend
 * on the caller; an account shows its address to some.
 */
export function dependsOnCaller({ rule, query, filter }: Topic, collection: Collection): boolean {
  const text = collection.rules[rule] ?? '';
  const isPlain = !/[@.]/.test(text) && !text.includes('_via_');
  return !isPlain || filter !== undefined || Boolean(query.get('expand')) || collection.type === 'auth';
}

/** Returns the JSON of a record as an audience may see it, without evaluating the rule. */
export async function jsonFor(instance: Instance, audience: Audience, record: StoredRecord): Promise<string> {
  const { fields } = audience.topic;
  const [json = ''] = await presentRecords({ instance, input: inputOf(audience) }, [record]);
  return fields === undefined ? json : JSON.stringify(pickFields(JSON.parse(json), fields));
}

/** Returns the condition under which an audience gets a record of the collection. */
export function conditionFor(instance: Instance, audience: Audience, collection: Collection): Promise<Sql> {
  return unlessBroken(instance, never, async () => {
    const { topic, caller } = audience;
    if (!canMatch(audience, collection)) return never;
    const rule = admit(collection, topic.rule, caller);
    try {
      return conditionOf(bind(instance, audience, { collection, rule, filter: topic.filter }));
    } catch (error) {
      throw brokenIfRefused(error, collection);
    }
  });
}

function bind({ collections, database, clock }: Instance, audience: Audience, form: RuleForm): BoundRule {
  const definitions = { collections, names: database.names };
  return bindRule(definitions, form, { input: inputOf(audience), now: clock.now() });
}

/** How long the conditions of one statement may be together: that of a filter with many values alone has thousands of characters. */
const textLengthMax = 128 * 1024;

/**
 * Returns of each condition whether it is true of a record. Conditions of the same text, which differ in the caller, are evaluated together:
 * hundreds of statements for one change would hold up all later ones.
 */
export async function evaluateAll(
  instance: Instance,
  record: StoredRecord,
  conditions: readonly Sql[],
): Promise<readonly boolean[]> {
  const answers = conditions.map((condition) => constantOf(condition) ?? false);
  const open = [...conditions.entries()].filter(([, condition]) => constantOf(condition) === undefined);
  const sameTexts = [...Map.groupBy(open, ([, condition]) => condition.text).values()];
  const statements = sameTexts.flatMap((same) =>
    partsBySize(same, ([, condition]) => condition.text.length, textLengthMax),
  );
  const evaluated = statements.map(async (statement) => {
    const results = await evaluate(
      instance,
      record,
      statement.map(([, condition]) => condition),
    );
    for (const [place, [index]] of statement.entries()) answers[index] = results[place] === true;
  });
  await Promise.all(evaluated);
  return answers;
}

/** As {@link evaluateAll}, in one statement. When that fails, each condition is evaluated by itself: the error of one does not affect the others. */
async function evaluate(
  instance: Instance,
  record: StoredRecord,
  conditions: readonly Sql[],
): Promise<readonly boolean[]> {
  const { database } = instance;
  const { collection, values } = record;
  const row = sql`(SELECT ${inlineColumns(collection, values, database.names)}) AS ${baseAlias}`;
  const columns = conditions.map((condition) => sql`CASE WHEN ${condition} THEN 1 ELSE 0 END`);
  try {
    const [results = []] = await database.search(sql`SELECT ${joinSql(columns, ', ')} FROM ${row}`);
    return results.map((value) => Number(value) === 1);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (conditions.length > 1)
      return (await Promise.all(conditions.map((one) => evaluate(instance, record, [one])))).flat();
    return unlessBroken(instance, [false], async () => {
      throw brokenIfRefused(error, collection);
    });
  }
}

/** Whether an audience may get any record of a collection. */
function canMatch({ topic, caller }: Audience, collection: Collection): boolean {
  return !isLocked(collection, [topic.rule], caller);
}

/** Throws bad_request when the filter of an audience names an unknown field, forbidden when it names what only rules may. */
export function checkFilter(instance: Instance, audience: Audience, collection: Collection): void {
  const { filter, query } = audience.topic;
  if (filter === undefined || !canMatch(audience, collection)) return;
  if (audience.caller.kind !== 'superuser') refuseRuleNames(reader(query));
  bind(instance, audience, { collection, filter });
}

/** A filter that was valid when it was sent no longer is, as a field was removed: it matches nothing, as a rule would. */
export function brokenIfRefused(error: unknown, { name }: Collection): unknown {
  return error instanceof AppError && error.code === 'bad_request' ? new BrokenRule(error, name) : error;
}

/** The input of rules for a subscription: the options that a request would have. */
function inputOf({ topic, caller }: Audience): RuleInput {
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

function reader(texts: ReadonlyMap<string, string>): ValueReader {
  return { get: (name) => texts.get(name) ?? null };
}
