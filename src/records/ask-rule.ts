import type { Collection } from '../collections/collection.ts';
import { RecordScope, baseAlias, type ScopeContext } from '../collections/record-scope.ts';
import { fieldColumn, hasColumn, type Field } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Caller } from '../rules/caller.ts';
import type { FactReader, RequestFacts, RequestOrigin, RuleContext } from '../rules/request-facts.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Engine, Names, Transaction } from '../storage/database.ts';
import { mayWriteField } from './may-write-field.ts';
import { readStatements } from './read-statements.ts';

/** A rule, as far as `admit` left one, and what it may know. */
export interface AskedRule {
  readonly rule: FilterTree | undefined;
  readonly context: ScopeContext;
}

/** Whether the rule is true of the record as it is stored now, in this transaction. */
export async function isAllowed(
  tx: Transaction,
  { collection, id }: { readonly collection: Collection; readonly id: string },
  asked: AskedRule,
): Promise<boolean> {
  if (asked.rule === undefined) return true;
  return ask(tx, storedRow(collection, id, tx.names), { collection, asked });
}

/** What stands behind a FROM for one record; another condition may follow. */
export function storedRow(collection: Collection, id: string, names: Names): Sql {
  const { from } = readStatements(collection, names);
  return sql`${from} WHERE ${baseAlias}.id = ${id}`;
}

/** Whether it would be true of a record of these values, which may never be stored: what is wrong with them is told to no one else. */
export async function wouldBeAllowed(
  tx: Transaction,
  { collection, values }: { readonly collection: Collection; readonly values: readonly StoredValue[] },
  asked: AskedRule,
): Promise<boolean> {
  if (asked.rule === undefined) return true;
  return ask(tx, givenRow(collection, values, tx.names), { collection, asked });
}

/** As {@link storedRow}, of a record that is not stored. */
export function givenRow(collection: Collection, values: readonly StoredValue[], names: Names): Sql {
  const columns = collection.fields.map(
    (field, index) =>
      sql`${typed(values[index] ?? null, field, names.engine)} AS ${names.column(field.name)}`,
  );
  return sql`(SELECT ${joinSql(columns, ', ')}) AS ${baseAlias} WHERE TRUE`;
}

/** A value as it would come out of the field's column. */
function typed(value: StoredValue, field: Field, engine: Engine): Sql {
  const kind = fieldColumn(field);
  if (kind === 'number')
    return engine === 'sqlite' ? sql`CAST(${value} AS REAL)` : sql`CAST(${value} AS double precision)`;
  if (kind === 'bool') return sql`CAST(${value} AS INTEGER)`;
  return engine === 'sqlite' ? sql`CAST(${value} AS TEXT)` : sql`CAST(${value} AS text) COLLATE "C"`;
}

async function ask(
  tx: Transaction,
  row: Sql,
  { collection, asked }: { readonly collection: Collection; readonly asked: AskedRule },
): Promise<boolean> {
  if (asked.rule === undefined) return true;
  const scope = new RecordScope(asked.context, { collection, alias: baseAlias });
  scope.addRule(asked.rule);
  const rows = await tx.tuples(sql`SELECT 1 FROM ${row} AND ${scope.condition ?? sql`TRUE`}`);
  return rows.length > 0;
}

/** What `@request.body` is while a record is written: what was sent, with the values of its fields as they would be stored. */
export function factsOfChange(
  facts: RequestFacts,
  collection: Collection,
  values: readonly StoredValue[],
): RequestFacts {
  return new ChangeFacts(facts, collection, values);
}

/**
 * Most rules ask for no body, so it is put together when one does. By a class: a getter in a literal would make each of these an
 * object of a shape of its own, which V8 keeps, with all that it leads to, until it collects everything.
 */
class ChangeFacts implements RequestFacts {
  readonly caller: Caller;
  readonly context: RuleContext;
  readonly method: string;
  readonly query: FactReader;
  readonly headers: FactReader;
  readonly callerRelations?: ReadonlyMap<string, string>;
  readonly origin?: () => RequestOrigin;
  readonly #sent: RequestFacts['body'];
  readonly #collection: Collection;
  readonly #values: readonly StoredValue[];
  #body: RequestFacts['body'] | undefined;

  constructor(facts: RequestFacts, collection: Collection, values: readonly StoredValue[]) {
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

  get body(): RequestFacts['body'] {
    return (this.#body ??= resolvedBody(this, this.#sent, {
      collection: this.#collection,
      values: this.#values,
    }));
  }
}

function resolvedBody(
  { caller }: Pick<RequestFacts, 'caller'>,
  sent: Readonly<Record<string, unknown>>,
  { collection, values }: { readonly collection: Collection; readonly values: readonly StoredValue[] },
): Record<string, unknown> {
  const members = new Map(Object.entries(sent));
  for (const [index, field] of collection.fields.entries()) {
    const { name } = field;
    const forms = [name, `${name}+`, `+${name}`, `${name}-`, `${name}:autogenerate`];
    if (!forms.some((form) => members.has(form))) continue;
    // What the caller may not write is as if it had not been sent.
    if (!mayWriteField(field, caller.kind === 'superuser')) for (const form of forms) members.delete(form);
    // A password is not stored; what was sent is all there is to ask about.
    else if (hasColumn(field))
      members.set(name, JSON.parse(fieldType(field).toJson(values[index] ?? null, field.options)));
  }
  return Object.fromEntries(members);
}
