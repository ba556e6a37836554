import type { Collection } from '../../collections/collection.ts';
import { recordEventKinds } from '../../events/event.ts';
import { eventValues, type EventValues } from '../../events/event-values.ts';
import type { StoredValue } from '../../fields/field-type.ts';
import { fieldType } from '../../fields/field-types.ts';
import { sql } from '../../sql/sql.ts';
import type { Reader, Tuple } from '../../storage/database.ts';
import { isOneOf } from '../deliveries.ts';

/** A change of a record as the log has it, with values for the fields of today's definition. */
export interface LoggedChange {
  readonly position: number;
  readonly id: string;
  readonly kind: string;
  readonly record: string;
  readonly revision: number;
  readonly created: string;
  /** The last values for a deletion. */
  readonly after: readonly StoredValue[];
  /** Undefined where the log no longer has the previous state. */
  readonly before: readonly StoredValue[] | undefined;
  /** Whether the log has a value of every field: not of those that were added or renamed since. */
  readonly isWhole: boolean;
}

/** Reads the changes of records of a collection at these positions, the newest first. */
export async function readChanges(
  reader: Reader,
  collection: Collection,
  positions: readonly number[],
): Promise<readonly LoggedChange[]> {
  const { names } = reader;
  const table = names.table('$event');
  const rows = await reader.tuples(sql`
    SELECT e.position, e.id, e.kind, e.record, e.revision, e.created, e.body, e.hidden, b.body, b.hidden, b.expunged
    FROM ${table} e LEFT JOIN ${table} b ON ${names.instance.conditionOf('b')} AND b.record = e.record AND b.collection = e.collection
      AND b.revision = e.revision - 1 AND b.position < e.position AND b.kind${names.anyOf(recordEventKinds)}
    WHERE ${names.instance.conditionOf('e')} AND ${isOneOf(names, sql`e.position`, positions)} ORDER BY e.position DESC, b.position DESC`);
  // A record that was deleted and made again has had the revision before twice: the later one counts.
  const byPosition = Map.groupBy(rows, ([position]) => Number(position));
  return [...byPosition.values()].flatMap(([row]) => (row === undefined ? [] : [toChange(row, collection)]));
}

function toChange(
  [position, id, kind, record, revision, created, ...states]: Tuple,
  collection: Collection,
): LoggedChange {
  const [body, hidden, bodyBefore, hiddenBefore, expungedBefore] = states;
  const { values: after, isWhole } = valuesOf(collection, body, hidden);
  const zero = (): readonly StoredValue[] =>
    collection.fields.map((field) => fieldType(field).zero(field.options));
  const isKept = bodyBefore instanceof Uint8Array && expungedBefore === null;
  const logged = isKept ? valuesOf(collection, bodyBefore, hiddenBefore).values : undefined;
  return {
    position: Number(position),
    id: String(id),
    kind: String(kind),
    record: String(record),
    revision: Number(revision),
    created: String(created),
    after,
    before: kind === 'record.create' ? zero() : kind === 'record.delete' ? after : logged,
    isWhole,
  };
}

function valuesOf(collection: Collection, body: unknown, hidden: unknown): EventValues {
  // The column is a BLOB and never null.
  const state = { body: body as Uint8Array, hidden: typeof hidden === 'string' ? hidden : null };
  return eventValues(collection, state);
}
