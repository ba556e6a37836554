import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import { storedAgain, type StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import { hasColumn } from '../fields/field.ts';

/** The parts of an event that hold the state of its record. */
export interface EventState {
  /** The payload, in UTF-8. */
  readonly body: Uint8Array;
  /** JSON text of the hidden fields, or null. */
  readonly hidden?: string | null;
}

/** The values of a record as an event has them, in the order of the collection's fields. */
export interface EventValues {
  readonly values: readonly StoredValue[];
  /** Whether the event has a value of every field. It has not where a field was added or renamed since. */
  readonly isWhole: boolean;
}

/** Returns the values that a field of today's definition would have stored; zero where the event has no value of it. */
export function eventValues({ fields }: Collection, state: EventState): EventValues {
  const members = eventMembers(state);
  let isWhole = true;
  const values = fields.map((field): StoredValue => {
    // A secret has no column, and is in no event.
    if (!hasColumn(field)) return null;
    const type = fieldType(field);
    const value = members.get(field.name);
    if (value !== undefined) return storedAgain(type, value, field.options);
    isWhole = false;
    return type.zero(field.options);
  });
  return { values, isWhole };
}

/** Returns the values in an event as JSON by the names that their fields had, hidden ones included. */
export function eventMembers({ body, hidden }: EventState): ReadonlyMap<string, unknown> {
  return new Map([
    ...Object.entries(dataOf(body)),
    ...Object.entries(objectOf(hidden === null || hidden === undefined ? {} : JSON.parse(hidden))),
  ]);
}

function dataOf(body: Uint8Array): JsonObject {
  return objectOf(objectOf(JSON.parse(Buffer.from(body).toString('utf8')))['data']);
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
