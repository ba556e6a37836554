import type { Collection } from '../collections/collection.ts';
import { fromTimestamp, type Timestamp, toTimestamp } from '../base/timestamp.ts';
import type { NewEvent } from '../events/event.ts';
import { eventMembers } from '../events/event-values.ts';
import { readBodies } from '../events/read-bodies.ts';
import { type HeldKey, heldText } from '../endpoints/held-records.ts';
import { sql } from '../sql/sql.ts';
import type { InlineColumn, Reader } from '../storage/database.ts';

/*
 * What a transition says that is decided after the change of its record: by a decision for an account (accounts/decide-transitions.ts), or by a
 * reconcile (replays/reconciles.ts).
 */

const columns: readonly InlineColumn[] = [
  ['endpoint', 'number'],
  ['collection', 'text'],
  ['record', 'text'],
];

/** The kinds of events that send the state of a record that exists. */
const stateKinds = ['record.create', 'record.update', 'backfill', 'enter'];

/** Returns the position of the last event by which an endpoint has received each of these records, by the text of its key. */
async function readLastStates(
  reader: Reader,
  keys: readonly HeldKey[],
): Promise<ReadonlyMap<string, number>> {
  if (keys.length === 0) return new Map();
  const { names } = reader;
  const rows = keys.map(({ endpoint, collection, record }) => [endpoint, collection, record] as const);
  const outcome = sql`${names.table('$outcome')} o ON ${names.instance.conditionOf('o')} AND o.event = e.position
    AND o.endpoint = CAST(given.endpoint AS bigint) AND o.status = 'delivered'`;
  const positions = await reader.tuples(sql`
    SELECT given.endpoint, given.collection, given.record, max(e.position) FROM ${names.valuesTable(columns, rows)}
    JOIN ${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.record = given.record AND e.collection = given.collection
    JOIN ${outcome} WHERE e.kind${names.anyOf(stateKinds)} AND e.expunged IS NULL GROUP BY given.endpoint, given.collection, given.record`);
  return new Map(
    positions.map(([endpoint, collection, record, position]) => [
      heldText({ endpoint: Number(endpoint), collection: String(collection), record: String(record) }),
      Number(position),
    ]),
  );
}

/** Returns the JSON texts of the records in these events, with those fields that are visible today. */
async function readDataOf(
  reader: Reader,
  { fields }: Pick<Collection, 'fields'>,
  positions: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const bodies = await readBodies(reader, positions);
  const visible = new Set(fields.flatMap(({ name, hidden }) => (hidden ? [] : [name])));
  return new Map(
    [...bodies].map(([position, body]) => {
      const members = [...eventMembers({ body })].filter(([name]) => visible.has(name));
      return [position, JSON.stringify(Object.fromEntries(members))];
    }),
  );
}

/**
 * Returns what dates the transitions of these records: now, and after each event of the record, so that revision and time give the order in
 * which they are to be applied; and the revision of the last event, or 0.
 */
export async function nextTransition(
  reader: Reader,
  {
    collection,
    records,
    now,
  }: { readonly collection: string; readonly records: readonly string[]; readonly now: number },
): Promise<(record: string) => { readonly created: Timestamp; readonly revision: number }> {
  const { names } = reader;
  const rows =
    records.length === 0
      ? []
      : await reader.tuples(sql`
          SELECT record, max(created), max(revision) FROM ${names.table('$event')}
          WHERE ${names.instance.condition} AND record${names.anyOf(records)} AND collection = ${collection} GROUP BY record`);
  const last = new Map(
    rows.map(([record, created, revision]) => [
      String(record),
      { ms: fromTimestamp(String(created)), revision: Number(revision) },
    ]),
  );
  return (record) => {
    const { ms, revision } = last.get(record) ?? { ms: 0, revision: 0 };
    return { created: toTimestamp(Math.max(now, ms + 1)), revision };
  };
}

/** Returns the leaves of a record: one for all endpoints that have received the same state of it last. */
export async function leavesOf(
  reader: Reader,
  collection: Pick<Collection, 'fields'>,
  keys: readonly HeldKey[],
): Promise<readonly Required<Pick<NewEvent, 'dataJson' | 'recipients'>>[]> {
  const last = await readLastStates(reader, keys);
  const data = await readDataOf(reader, collection, [...new Set(last.values())]);
  const byState = Map.groupBy(keys, (key) => last.get(heldText(key)));
  return [...byState].map(([position, ofState]) => ({
    dataJson: data.get(position ?? 0) ?? JSON.stringify({ id: ofState[0]?.record }),
    recipients: ofState.map(({ endpoint }) => endpoint),
  }));
}
