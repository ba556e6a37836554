import { isDeepStrictEqual } from 'node:util';
import type { Collection } from '../collections/collection.ts';
import { eventMembers, type EventState } from '../events/event-values.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fileNames } from '../files/file-removals.ts';
import { type FieldPlan, recordTable } from './record-table.ts';
import type { StoredRecord } from './record.ts';

/** Why the value of a field is not restored. */
export const lossReasons = [
  'unknown_field',
  'not_in_event',
  'secret',
  'set_by_service',
  'other_type',
  'invalid',
  'file_gone',
  'relation_gone',
] as const;

export type LossReason = (typeof lossReasons)[number];

/** A field whose value a revert does not bring back. */
export interface Loss {
  readonly field: string;
  readonly reason: LossReason;
  readonly message: string;
  /** The names of files or the ids of records that are gone. */
  readonly values?: readonly string[];
}

/** What a past state brings back of a record. */
export interface RestoredValues {
  /** Values by name, as a client would send them. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly losses: readonly Loss[];
}

/**
 * Returns what of a past state today's definition can store. `existing` is the record as it is now; undefined where it was deleted. A value
 * that the definition refuses or would change stays as it is, rather than becoming another one. Whether related records still exist is not
 * checked yet.
 */
export function restoredValues(
  collection: Collection,
  state: EventState,
  existing: StoredRecord | undefined,
): RestoredValues {
  const members = eventMembers(state);
  const body = new Map<string, unknown>();
  const losses: Loss[] = [];
  for (const [index, plan] of recordTable(collection).fields.entries()) {
    if (plan.isId) continue;
    const restored = restoreField(plan, members, existing?.values[index]);
    if (restored === undefined) continue;
    if ('value' in restored) body.set(plan.name, restored.value);
    else losses.push(restored);
  }
  const names = new Set(collection.fields.map(({ name }) => name));
  for (const field of members.keys())
    if (!names.has(field))
      losses.push({ field, reason: 'unknown_field', message: 'The collection has no such field any more.' });
  return { body: Object.fromEntries(body), losses };
}

/** Returns undefined where the value of the record is kept and nothing is lost. `before` is undefined where the record was deleted. */
function restoreField(
  plan: FieldPlan,
  members: ReadonlyMap<string, unknown>,
  before: StoredValue | undefined,
): Loss | { readonly value: unknown } | undefined {
  const { name: field, type } = plan;
  if (plan.isSecret) return { field, reason: 'secret', message: 'The log holds no passwords and no keys.' };
  if (type.stamp !== undefined)
    return before === undefined
      ? { field, reason: 'set_by_service', message: 'The service sets it when a record is created.' }
      : undefined;
  const value = members.get(field);
  if (value === undefined) return { field, reason: 'not_in_event', message: 'The event has no value of it.' };
  return type.checkFiles === undefined
    ? restoreValue(plan, value, before)
    : restoreFiles(plan, value, before);
}

function restoreValue(
  { name: field, type, field: { options } }: FieldPlan,
  value: unknown,
  before: StoredValue | undefined,
): Loss | { readonly value: unknown } {
  // As text it cannot be taken for a text that holds JSON.
  const sent = type.type === 'json' ? JSON.stringify(value) : value;
  const stored = type.normalise(sent, options);
  const problem = type.check(stored, options, before);
  if (problem !== undefined)
    return { field, reason: 'invalid', message: `The definition refuses its value: ${problem.message}` };
  if (isSame(JSON.parse(type.toJson(stored, options)), value, type.type === 'json')) return { value: sent };
  return { field, reason: 'other_type', message: `A field of type ${type.type} cannot hold its value.` };
}

/** Files that a record no longer names are deleted. Without one of them the field stays as it is: others are not removed for nothing. */
function restoreFiles(
  { name: field, type, field: definition }: FieldPlan,
  value: unknown,
  before: StoredValue | undefined,
): Loss | { readonly value: unknown } {
  const { options } = definition;
  const names = [value]
    .flat()
    .map(String)
    .filter((name) => name !== '');
  const present = new Set(fileNames(definition, before ?? null));
  const values = names.filter((name) => !present.has(name));
  if (values.length > 0)
    return { field, reason: 'file_gone', message: `Deleted: ${values.join(', ')}.`, values };
  const problem = type.checkFiles?.(type.normalise(value, options), options, { before, files: [] });
  if (problem === undefined) return { value };
  return { field, reason: 'invalid', message: `The definition refuses its value: ${problem.message}` };
}

/** Whether a value is stored as the event has it; a text and a number of the same digits are the same. */
function isSame(stored: unknown, value: unknown, isStrict: boolean): boolean {
  if (isDeepStrictEqual(stored, value)) return true;
  const textsOf = (each: unknown): readonly unknown[] =>
    [each].flat().map((one) => (typeof one === 'number' || typeof one === 'boolean' ? `${one}` : one));
  return !isStrict && isDeepStrictEqual(textsOf(stored), textsOf(value));
}
