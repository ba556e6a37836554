import type { RuleInput } from '../access/rule-input.ts';
import { admit, type Rule, type RuleName } from '../access/rule.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import type { ConditionRequest, WrittenRecord } from '../query/condition-request.ts';
import { inlineForm, inlineValues } from '../query/inline-columns.ts';
import { isMultiple } from '../query/path.ts';
import { baseAlias, type ScopeContext } from '../query/record-scope.ts';
import { bindRule, type BoundRule, constantRule, statementOf } from '../query/rule-plan.ts';
import { joinSql, lookupByKey, type Sql, sql, withValues } from '../sql/sql.ts';
import type { Names, Transaction } from '../storage/database.ts';
import { type CallerLookup, type RecordTable, recordTable } from './record-table.ts';

/** A request to an instance, as its rules see it. */
export interface RuleRequest {
  readonly instance: Instance;
  readonly input: RuleInput;
  /** The record that is written. */
  readonly write?: WrittenRecord | undefined;
}

/** Returns the rule of this name for a request. Throws forbidden where it admits the caller to no record, broken_rule. */
export function admission(request: RuleRequest, collection: Collection, name: RuleName): BoundRule {
  return boundRule(request, collection, admit(collection, name, request.input.caller));
}

/** Returns a stored rule for a request; undefined and the empty rule admit everybody. Throws broken_rule. */
export function boundRule(request: RuleRequest, collection: Collection, rule: string | undefined): BoundRule {
  if (rule === undefined || rule === '') return constantRule(collection, true);
  const { instance } = request;
  const { collections, database } = instance;
  return bindRule({ collections, names: database.names }, { collection, rule }, conditionRequest(request));
}

function conditionRequest({ instance, input, write }: RuleRequest): ConditionRequest {
  return { input, now: instance.clock.now(), write };
}

/** Whether the rule is true of the record as it is stored now. */
export async function isAllowed(tx: Transaction, rule: BoundRule, id: string): Promise<boolean> {
  const { collection, constant } = rule.plan;
  if (constant !== undefined) return constant;
  const make = (): Sql => sql`SELECT 1 FROM ${storedRow(collection, null, tx.names)}`;
  const rows = await tx.search(statementOf(rule, { form: 'stored', make, values: [id] }));
  return rows.length > 0;
}

/** Returns what follows FROM to read one stored record. It ends in a condition, behind which `AND` may follow. */
export function storedRow(collection: Collection, id: string | null, names: Names): Sql {
  const { from } = recordTable(collection).statements(names).joined;
  return sql`${from} WHERE ${baseAlias}.id = ${id}`;
}

/**
 * Whether the rule would be true of a record with these values. They need not be valid: problems are reported only to callers
 * whom the rule admits.
 */
export async function valuesMeetRule(
  tx: Transaction,
  rule: BoundRule,
  values: readonly StoredValue[],
): Promise<boolean> {
  const { collection, constant } = rule.plan;
  if (constant !== undefined) return constant;
  const make = (): Sql =>
    sql`SELECT 1 FROM (SELECT ${inlineForm(collection, tx.names)}) AS ${baseAlias} WHERE TRUE`;
  const begin = { form: 'inline', make, values: inlineValues(collection, values) };
  return (await tx.search(statementOf(rule, begin))).length > 0;
}

/** Returns the inputs of a rule or filter that is compiled for this request alone. */
export function scopeContext({ collections, database, clock }: Instance, input: RuleInput): ScopeContext {
  return { collections, names: database.names, input, now: clock.now() };
}

/** Fields of the caller's own record that a rule names, without the paths that lead on from them. */
const ownFields = /@request\.auth\.(\w+)(?![\w.:])/g;
/** Ids in the form of generated ones: none of their characters is special to `~`. */
const plainId = /^[a-z0-9]*$/;

/**
 * Returns the input with the values of the caller's relations that the rule names, such as `@request.auth.team`. An engine can
 * use an index to compare a column with a known value; compared with another column it reads every row. Only relations are looked
 * up: ids compare with ids, while a text value beside a number would compare otherwise than the two columns do.
 */
export async function lookUpCaller(
  { database, collections }: Pick<Instance, 'database' | 'collections'>,
  input: RuleInput,
  rule: Rule,
): Promise<RuleInput> {
  const { caller } = input;
  if (caller.kind !== 'user' || rule === null || !rule.includes('@request.auth.')) return input;
  const collection = collections.find(caller.collectionId);
  const table = collection && recordTable(collection);
  const makeLookup = (): { readonly lookup: CallerLookup | undefined } => ({
    lookup: table && toLookup(table, rule, database.names),
  });
  const lookup = table?.callerLookups.findOrAdd(rule, makeLookup).lookup;
  if (lookup === undefined) return input;
  const [row] = await database.tuples(withValues(lookup.select, [caller.id]));
  if (row === undefined) return input;
  const relationIds = lookup.fields.map((name, index) => [name, String(row[index])] as const);
  return { ...input, callerRelations: new Map(relationIds.filter(([, id]) => plainId.test(id))) };
}

function toLookup(
  { collection, relations }: RecordTable,
  rule: string,
  names: Names,
): CallerLookup | undefined {
  const named = new Set([...rule.matchAll(ownFields)].map(([, name]) => name));
  const fields = relations
    .filter(({ field }) => named.has(field.name) && !isMultiple(field))
    .map(({ field }) => field.name);
  if (fields.length === 0) return undefined;
  const columns = joinSql(
    fields.map((name) => names.column(name)),
    ', ',
  );
  const select = sql`SELECT ${columns} FROM ${names.collectionTable(collection.name)} WHERE id = ${null}`;
  return { fields, select: lookupByKey(select) };
}
