import type { RuleInput } from '../access/rule-input.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import { hasColumn, mayWriteField } from '../fields/field.ts';

/** The request that a condition is compiled or bound for. */
export interface ConditionRequest {
  readonly input: RuleInput;
  /** Milliseconds since 1970, for macros such as `@now`. */
  readonly now: number;
  /** The record that the request writes, as `@request.body` has it. */
  readonly write?: WrittenRecord | undefined;
}

/** A record with the values that a write would store. */
export class WrittenRecord {
  readonly collection: Collection;
  /** In the order of the collection's fields. They need not be valid. */
  readonly values: readonly StoredValue[];
  /** Members of the body that were read before: a value may be a large JSON document. */
  readonly #members = new Map<string, unknown>();

  constructor(collection: Collection, values: readonly StoredValue[]) {
    this.collection = collection;
    this.values = values;
  }

  /**
   * Returns a member of the body, undefined where it was not sent. A field that was sent in any form (`name+`) has the value that would be
   * stored; one that the caller may not write counts as not sent.
   */
  member(input: RuleInput, name: string): unknown {
    if (!this.#members.has(name)) this.#members.set(name, this.#read(input, name));
    return this.#members.get(name);
  }

  #read(input: RuleInput, name: string): unknown {
    const { body, caller } = input;
    const index = this.collection.fields.findIndex((each) => each.name === name);
    const field = this.collection.fields[index];
    if (field === undefined) return sentMember(input, name);
    const forms = [name, `${name}+`, `+${name}`, `${name}-`, `${name}:autogenerate`];
    if (!forms.some((form) => Object.hasOwn(body, form))) return undefined;
    if (!mayWriteField(field, caller.kind === 'superuser')) return undefined;
    // A password has no column: rules see it as it was sent.
    if (!hasColumn(field)) return sentMember(input, name);
    return JSON.parse(fieldType(field).toJson(this.values[index] ?? null, field.options));
  }
}

/** Returns a member of the request's body, undefined where it was not sent. */
export function bodyMember({ input, write }: ConditionRequest, name: string): unknown {
  return write === undefined ? sentMember(input, name) : write.member(input, name);
}

function sentMember({ body }: RuleInput, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}
