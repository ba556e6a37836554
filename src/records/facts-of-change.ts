import type { Collection } from '../collections/collection.ts';
import { hasColumn } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Caller } from '../rules/caller.ts';
import type { FactReader, RequestFacts, RequestOrigin, RuleContext } from '../rules/request-facts.ts';
import { mayWriteField } from './may-write-field.ts';

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
