import type { Caller } from '../access/caller.ts';
import type { FactReader, RuleInput, RequestOrigin, RuleContext } from '../access/rule-input.ts';
import type { Rule } from '../access/rule.ts';
import { assert } from '../base/assert.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import { hasColumn } from '../fields/field.ts';
import { constantOf } from '../filters/compile.ts';
import type { FilterTree } from '../filters/parse.ts';
import type { Instance } from '../instances/instance.ts';
import { inlineColumns } from '../query/inline-columns.ts';
import { isMultiple } from '../query/path.ts';
import { baseAlias, RecordScope, type ScopeContext } from '../query/record-scope.ts';
import { joinSql, lookupByKey, type Sql, sql, withValues } from '../sql/sql.ts';
import type { Names, Transaction } from '../storage/database.ts';
import { type CallerLookup, mayWriteField, type RecordTable, recordTable } from './record-table.ts';

/** The rule that `admit` left to be asked, if any, and what it may know. */
export interface RuleCheck {
  readonly rule: FilterTree | undefined;
  readonly context: ScopeContext;
}

/** Whether the rule is true of the record as it is stored now, in this transaction. */
export async function isAllowed(
  tx: Transaction,
  { collection, id }: { readonly collection: Collection; readonly id: string },
  asked: RuleCheck,
): Promise<boolean> {
  if (asked.rule === undefined) return true;
  const row = storedRow(collection, id, tx.names);
  return isTrueOf(tx, row, ruleCondition(asked.context, collection, asked.rule));
}

/** Returns what follows FROM to read one stored record. It ends in a condition, behind which `AND` may follow. */
export function storedRow(collection: Collection, id: string, names: Names): Sql {
  const { from } = recordTable(collection).statements(names).joined;
  return sql`${from} WHERE ${baseAlias}.id = ${id}`;
}

/**
 * Whether the rule would be true of a record with these values. They need not be valid: what is wrong with them is told only to
 * callers whom the rule admits.
 */
export async function valuesMeetRule(
  tx: Transaction,
  { collection, values }: { readonly collection: Collection; readonly values: readonly StoredValue[] },
  asked: RuleCheck,
): Promise<boolean> {
  if (asked.rule === undefined) return true;
  const condition = ruleCondition(asked.context, collection, asked.rule);
  const known = constantOf(condition);
  return known ?? isTrueOf(tx, inlineRow(collection, values, tx.names), condition);
}

/** As {@link storedRow}, for values that are not stored. */
export function inlineRow(collection: Collection, values: readonly StoredValue[], names: Names): Sql {
  return sql`(SELECT ${inlineColumns(collection, values, names)}) AS ${baseAlias} WHERE TRUE`;
}

/** Whether the row meets the rule's condition, which is appended to the row's own. */
async function isTrueOf(tx: Transaction, row: Sql, condition: Sql): Promise<boolean> {
  const rows = await tx.search(sql`SELECT 1 FROM ${row} AND ${condition}`);
  return rows.length > 0;
}

/** Returns the condition that a rule puts on a collection's table, which is `baseAlias` in the statement. Throws broken_rule. */
export function ruleCondition(context: ScopeContext, collection: Collection, rule: FilterTree): Sql {
  const scope = new RecordScope(context, { collection, alias: baseAlias });
  scope.addRule(rule);
  const { condition } = scope;
  // Without a condition every record would pass.
  assert(condition !== undefined, 'an empty rule has no condition');
  return condition;
}

/** Returns what a rule or filter that is asked now may know. `names` are those of the reader that runs it: the database or a transaction. */
export function scopeContext(
  { collections, database, clock }: Instance,
  facts: RuleInput,
  names: Names = database.names,
): ScopeContext {
  return { collections, names, facts, now: clock.now() };
}

/**
 * Returns the facts for a rule about a write: in its `@request.body`, the fields that were sent have the values they would be
 * stored with.
 */
export function factsOfChange(
  facts: RuleInput,
  collection: Collection,
  values: readonly StoredValue[],
): RuleInput {
  return new ChangeFacts(facts, collection, values);
}

/**
 * Makes `body` only when a rule asks for it, as most do not. A class: a getter in an object literal would give each of these a
 * hidden class of its own, which V8 keeps, with all that it refers to, until a full collection.
 */
class ChangeFacts implements RuleInput {
  readonly caller: Caller;
  readonly context: RuleContext;
  readonly method: string;
  readonly query: FactReader;
  readonly headers: FactReader;
  readonly callerRelations?: ReadonlyMap<string, string>;
  readonly origin?: () => RequestOrigin;
  readonly #sent: RuleInput['body'];
  readonly #collection: Collection;
  readonly #values: readonly StoredValue[];
  #body: RuleInput['body'] | undefined;

  constructor(facts: RuleInput, collection: Collection, values: readonly StoredValue[]) {
    this.caller = facts.caller;
    this.context = facts.context;
    this.method = facts.method;
    this.query = facts.query;
    this.headers = facts.headers;
    if (facts.callerRelations !== undefined) this.callerRelations = facts.callerRelations;
    if (facts.origin !== undefined) this.origin = facts.origin;
    this.#sent = facts.body;
    this.#collection = collection;
    this.#values = values;
  }

  get body(): RuleInput['body'] {
    return (this.#body ??= resolvedBody(this, this.#sent, {
      collection: this.#collection,
      values: this.#values,
    }));
  }
}

function resolvedBody(
  { caller }: Pick<RuleInput, 'caller'>,
  sent: Readonly<Record<string, unknown>>,
  { collection, values }: { readonly collection: Collection; readonly values: readonly StoredValue[] },
): Record<string, unknown> {
  const members = new Map(Object.entries(sent));
  for (const [index, field] of collection.fields.entries()) {
    const { name } = field;
    const forms = [name, `${name}+`, `+${name}`, `${name}-`, `${name}:autogenerate`];
    if (!forms.some((form) => members.has(form))) continue;
    // A field that the caller may not write counts as not sent.
    if (!mayWriteField(field, caller.kind === 'superuser')) for (const form of forms) members.delete(form);
    // A password has no column: rules see it as it was sent.
    else if (hasColumn(field))
      members.set(name, JSON.parse(fieldType(field).toJson(values[index] ?? null, field.options)));
  }
  return Object.fromEntries(members);
}

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
  facts: RuleInput,
  rule: Rule,
): Promise<RuleInput> {
  const { caller } = facts;
  if (caller.kind !== 'user' || rule === null || !rule.includes('@request.auth.')) return facts;
  const collection = collections.find(caller.collectionId);
  const table = collection && recordTable(collection);
  const makeLookup = (): { readonly lookup: CallerLookup | undefined } => ({
    lookup: table && toLookup(table, rule, database.names),
  });
  const lookup = table?.callerLookups.findOrAdd(rule, makeLookup).lookup;
  if (lookup === undefined) return facts;
  const [row] = await database.tuples(withValues(lookup.select, [caller.id]));
  if (row === undefined) return facts;
  const found = lookup.fields.map((name, index) => [name, String(row[index])] as const);
  return { ...facts, callerRelations: new Map(found.filter(([, id]) => plainId.test(id))) };
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
