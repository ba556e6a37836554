import type { Collection } from '../collections/collection.ts';
import { hasColumn } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Caller } from '../rules/caller.ts';
import type { FactReader, RequestFacts, RequestOrigin, RuleContext } from '../rules/request-facts.ts';
import { mayWriteField } from './may-write-field.ts';

/**
 * Returns the facts for a rule about a write: in its `@request.body`, the fields that were sent have the values they would be
 * stored with.
 */
export function factsOfChange(
  facts: RequestFacts,
  collection: Collection,
  values: readonly StoredValue[],
): RequestFacts {
  return new ChangeFacts(facts, collection, values);
}

/**
 * Makes `body` only when a rule asks for it, as most do not. A class: a getter in an object literal would give each of these a
 * hidden class of its own, which V8 keeps, with all that it refers to, until a full collection.
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
    // A field that the caller may not write counts as not sent.
    if (!mayWriteField(field, caller.kind === 'superuser')) for (const form of forms) members.delete(form);
    // A password has no column: rules see it as it was sent.
    else if (hasColumn(field))
      members.set(name, JSON.parse(fieldType(field).toJson(values[index] ?? null, field.options)));
  }
  return Object.fromEntries(members);
}
