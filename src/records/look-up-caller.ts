import { GenerationMap } from '../base/generation-map.ts';
import type { Collection } from '../collections/collection.ts';
import { isMultiple } from '../collections/path.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { Rule } from '../rules/rule.ts';
import { joinSql, runTogether, sql, withValues, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

/** What a rule asks of the caller's own record, without going on from there. */
const ownFields = /@request\.auth\.(\w+)(?![\w.:])/g;
/** Ids as they are made unless somebody has other ones: nothing in them means anything to `~`. */
const plainId = /^[a-z0-9]*$/;

/**
 * The facts with the relations of the caller that the rule names, such as `@request.auth.team`: beside a value that is known an
 * engine uses an index of what it is compared with, where beside another column it has to read every row. Of relations only: ids
 * are compared with ids, while a text beside a number would be another comparison than that of two columns.
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
  /** By the caller's id. */
  readonly select: Sql;
}

/** Of callers of one definition, by rule; undefined where a rule asks nothing of this kind. */
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
