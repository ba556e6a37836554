import { GenerationMap } from '../base/generation-map.ts';
import type { Collection } from '../collections/collection.ts';
import { isMultiple } from '../collections/path.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { Rule } from '../rules/rule.ts';
import { joinSql, runTogether, sql, withValues, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

/** Fields of the caller's own record that a rule names, without the paths that lead on from them. */
const ownFields = /@request\.auth\.(\w+)(?![\w.:])/g;
/** Ids in the form of generated ones: none of their characters is special to `~`. */
const plainId = /^[a-z0-9]*$/;

/**
 * Returns the facts with the values of the caller's relations that the rule names, such as `@request.auth.team`. An engine can
 * use an index to compare a column with a known value; compared with another column it reads every row. Only relations are looked
 * up: ids compare with ids, while a text value beside a number would compare otherwise than the two columns do.
 */
export async function lookUpCaller(
  { database, collections }: Pick<Instance, 'database' | 'collections'>,
  facts: RequestFacts,
  rule: Rule,
): Promise<RequestFacts> {
  const { caller } = facts;
  if (caller.kind !== 'user' || rule === null || !rule.includes('@request.auth.')) return facts;
  const collection = collections.find(caller.collectionId);
  const question = collection && questionOf(collection, rule, database.names);
  if (question === undefined) return facts;
  const [row] = await database.tuples(withValues(question.select, [caller.id]));
  if (row === undefined) return facts;
  const found = question.fields.map((name, index) => [name, String(row[index])] as const);
  return { ...facts, callerRelations: new Map(found.filter(([, id]) => plainId.test(id))) };
}

interface Question {
  readonly fields: readonly string[];
  /** Selects the fields. Its only value is the caller's id. */
  readonly select: Sql;
}

/** Questions by rule, for each definition of the callers' collection; undefined where a rule asks nothing of this kind. */
const questions = new WeakMap<
  Collection,
  GenerationMap<string, { readonly question: Question | undefined }>
>();
const rulesMax = 100;

function questionOf(collection: Collection, rule: string, names: Names): Question | undefined {
  const ofCollection = questions.get(collection) ?? new GenerationMap(rulesMax);
  questions.set(collection, ofCollection);
  return ofCollection.findOrAdd(rule, () => ({ question: toQuestion(collection, rule, names) })).question;
}

function toQuestion(collection: Collection, rule: string, names: Names): Question | undefined {
  const named = new Set([...rule.matchAll(ownFields)].map(([, name]) => name));
  const fields = collection.fields
    .filter((field) => field.type === 'relation' && named.has(field.name) && !isMultiple(field))
    .map(({ name }) => name);
  if (fields.length === 0) return undefined;
  const columns = joinSql(
    fields.map((name) => names.column(name)),
    ', ',
  );
  const select = sql`SELECT ${columns} FROM ${names.collectionTable(collection.name)} WHERE id = ${null}`;
  return { fields, select: runTogether(select, 'lookup') };
}
