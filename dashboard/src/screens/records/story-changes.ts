import type { Collection } from '../../api/client.ts';

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
    return own.has(name) || one === other ? [] : [{ name, before: one, after: other }];
  });
}

/** A field of two states side by side. */
interface ComparedField {
  readonly name: string;
  readonly isChanged: boolean;
  readonly before: string;
  readonly after: string;
}

const excerptMax = 2_000;
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
    const start = Math.max(0, firstDifference(one ?? '', other ?? '') - excerptLead);
    const isChanged = one !== other;
    return { name, isChanged, before: excerpt(one, start), after: excerpt(other, start) };
  });
}

/** A long text is shown around its first change. */
function excerpt(text: string | undefined, start: number): string {
  if (text === undefined) return 'no field';
  if (text === '') return 'empty';
  if (text.length <= excerptMax) return text;
  const end = start + excerptMax;
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''} (${text.length.toLocaleString()} characters)`;
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
    return isEmpty || own.has(name) ? [] : [{ name, before: undefined, after: line }];
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
