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
