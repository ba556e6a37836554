import type { Collection } from '../../api/client.ts';
import { excerpt } from '../../parts/excerpt.ts';

/** A record as an event tells of it. */
export type RecordState = Readonly<Record<string, unknown>>;

/** What an event has changed in one field. */
export interface FieldChange {
  readonly name: string;
  /** As one line; undefined where the record did not have it. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/**
 * What is other in a record after an event. Fields that set themselves (`updated`) are left out: they change with each event and tell
 * nothing.
 */
export function changesBetween(
  collection: Collection,
  before: RecordState,
  after: RecordState,
): readonly FieldChange[] {
  const own = ownFields(collection);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => {
    const [one, other] = [toLine(before[name]), toLine(after[name])];
    if (own.has(name) || one === other) return [];
    const start = excerptStart(one, other);
    return [{ name, before: one && excerpt(one, start), after: other && excerpt(other, start) }];
  });
}

/** A field of two states side by side. */
interface ComparedField {
  readonly name: string;
  readonly isChanged: boolean;
  readonly before: string;
  readonly after: string;
}

/** How much of a long text is shown before its first change. */
const excerptLead = 200;

/** All fields of two states, in the order of the definition; those that it no longer has come last. */
export function compareFields(
  { fields }: Collection,
  before: RecordState,
  after: RecordState,
): readonly ComparedField[] {
  const known = fields.map(({ name }) => name).filter((name) => name in before || name in after);
  const names = [...new Set([...known, ...Object.keys(before), ...Object.keys(after)])];
  return names.map((name) => {
    const [one, other] = [toLine(before[name]), toLine(after[name])];
    const start = excerptStart(one, other);
    const shown = (text: string | undefined) =>
      text === undefined ? 'no field' : text === '' ? 'empty' : excerpt(text, start);
    return { name, isChanged: one !== other, before: shown(one), after: shown(other) };
  });
}

/** Long texts are shown around their first change. */
function excerptStart(one = '', other = ''): number {
  return Math.max(0, firstDifference(one, other) - excerptLead);
}

/** Where two texts part; 0 if they are equal. */
function firstDifference(one: string, other: string): number {
  if (one === other) return 0;
  let index = 0;
  while (index < one.length && one[index] === other[index]) index += 1;
  return index;
}

/** The values that a record began with. */
export function valuesOf(collection: Collection, state: RecordState): readonly FieldChange[] {
  const own = ownFields(collection);
  return Object.entries(state).flatMap(([name, value]) => {
    const line = toLine(value);
    const isEmpty = line === undefined || line === '' || line === '[]' || line === 'null' || line === '{}';
    return isEmpty || own.has(name) ? [] : [{ name, before: undefined, after: excerpt(line) }];
  });
}

function ownFields({ fields }: Collection): ReadonlySet<string> {
  return new Set(
    fields.filter(({ type, name }) => type === 'autodate' || name === 'id').map(({ name }) => name),
  );
}

function toLine(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
