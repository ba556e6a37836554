import { type Collection, emitsEvents } from '../../collections/collection.ts';
import { recordEventKinds } from '../../events/event.ts';
import { never } from '../../filters/compile/compile.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Transaction } from '../../storage/database.ts';
import type { LockedRecord } from '../../endpoints/backfill-records.ts';
import { endpointCondition } from '../../endpoints/endpoint-conditions.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import {
  dropRecords,
  type HeldKey,
  heldText,
  holdRecords,
  isHeldBy,
  lockHeld,
  readHeld,
} from '../../endpoints/held-records.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { undecidedFor } from '../decision-cursor.ts';
import { leavesOf, nextTransition } from '../leaves-of.ts';

/*
 * What a step of a reconcile sends (reconciles.ts). What differs is looked at again behind a lock of the record, so that each change of it
 * is decided before or after. A record with events that are not decided yet for an account is left to the decision.
 */

export type ReconcileInstance = Pick<
  WebhookInstance,
  'database' | 'collections' | 'endpoints' | 'records' | 'events' | 'clock'
>;

export interface ReconcileTarget {
  readonly instance: ReconcileInstance;
  readonly endpoint: Endpoint;
  readonly collection: Collection;
}

/** How many records are read together, and the size of their JSON, about, at which a step ends. */
const readTogetherMax = 20;
const jsonLengthMax = 4 * 1024 * 1024;

/** Returns the conditions on a record that the endpoint may be sent it, and that this differs from what it holds, or it lacks a state of it. */
export function whatDiffers({ instance, endpoint, collection }: ReconcileTarget): {
  readonly match: Sql;
  readonly differs: Sql;
} {
  const {
    collections,
    clock,
    database: { names },
  } = instance;
  const { number, collections: only } = endpoint;
  const isSubscribed = emitsEvents(collection) && (only.length === 0 || only.includes(collection.id));
  const context = { collections, names, now: clock.now(), isStored: true };
  const match = (isSubscribed ? endpointCondition(endpoint, collection, context) : undefined) ?? never;
  const key = { endpoint: number, collection: collection.id };
  const differs = sql`CASE WHEN ${match} THEN NOT ${isHeldBy(names, key, 'whole')} ELSE ${isHeldBy(names, key)} END`;
  return { match, differs };
}

export interface Differences {
  /** The ids of the events that were appended. */
  readonly ids: readonly string[];
  /** The position where the step ends, if that is before its end, as the records are large. */
  readonly end?: number;
}

const context = { actor: 'service', hops: 1 } as const;

/** Sends what differs of the records at these positions. */
export async function sendDifferences(
  tx: Transaction,
  target: ReconcileTarget,
  positions: readonly number[],
): Promise<Differences> {
  if (positions.length === 0) return { ids: [] };
  const { records, clock } = target.instance;
  const what = { collection: target.collection.id, filter: '', now: clock.now() };
  const locked = await records.lock(tx, what, positions);
  const open = await withoutUndecided(tx, target, locked);
  const { match } = whatDiffers(target);
  const matching = await records.lock(
    tx,
    { ...what, condition: match },
    open.map(({ position }) => position),
  );
  const isMatch = new Set(matching.map(({ id }) => id));
  const keys = await readHeld(
    tx,
    open.map((record) => keyOf(target, record.id)),
  );
  const stateOf = ({ id }: LockedRecord): { readonly isStale: boolean } | undefined =>
    keys.get(heldText(keyOf(target, id)));
  const leaves = open.filter((record) => !isMatch.has(record.id) && stateOf(record) !== undefined);
  const enters = open.filter((record) => isMatch.has(record.id) && stateOf(record)?.isStale !== false);
  const ofLeaves = await sendLeaves(tx, target, leaves);
  const ofEnters = await sendEnters(tx, target, enters);
  return { ...ofEnters, ids: [...ofLeaves, ...ofEnters.ids] };
}

/** Sends the leaves of records that are gone, by their ids, unless they were made again. */
export async function sendGone(
  tx: Transaction,
  target: ReconcileTarget,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const { instance, collection } = target;
  await lockHeld(
    tx,
    ids.map((id) => keyOf(target, id)),
  );
  const existing = new Set((await instance.records.lockByIds(tx, collection.id, ids)).map(({ id }) => id));
  const next = await nextTransition(tx, { collection: collection.id, records: ids, now: 0 });
  const missing = ids.flatMap((id) =>
    existing.has(id) ? [] : [{ id, position: 0, revision: next(id).revision }],
  );
  const open = await withoutUndecided(tx, target, missing);
  const keys = await readHeld(
    tx,
    open.map(({ id }) => keyOf(target, id)),
  );
  return sendLeaves(
    tx,
    target,
    open.filter(({ id }) => keys.has(heldText(keyOf(target, id)))),
  );
}

function keyOf({ endpoint, collection }: ReconcileTarget, record: string): HeldKey {
  return { endpoint: endpoint.number, collection: collection.id, record };
}

async function withoutUndecided(
  tx: Transaction,
  { endpoint, collection }: ReconcileTarget,
  records: readonly LockedRecord[],
): Promise<readonly LockedRecord[]> {
  const undecided = endpoint.owner === '' ? undefined : await undecidedFor(tx, endpoint.number);
  if (undecided === undefined || records.length === 0) return records;
  const { names } = tx;
  const rows = await tx.tuples(sql`
    SELECT DISTINCT record FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND record${names.anyOf(records.map(({ id }) => id))} AND position > ${undecided}
      AND collection = ${collection.id} AND kind${names.anyOf(recordEventKinds)} AND expunged IS NULL`);
  const later = new Set(rows.map(([record]) => String(record)));
  return records.filter(({ id }) => !later.has(id));
}

async function sendLeaves(
  tx: Transaction,
  target: ReconcileTarget,
  records: readonly LockedRecord[],
): Promise<readonly string[]> {
  const { collection } = target;
  const { events, clock } = target.instance;
  const next = await nextTransition(tx, {
    collection: collection.id,
    records: records.map(({ id }) => id),
    now: clock.now(),
  });
  const ids: string[] = [];
  for (const { id: record, revision } of records) {
    const [leave] = await leavesOf(tx, collection, [keyOf(target, record)]);
    const dataJson = leave?.dataJson ?? JSON.stringify({ id: record });
    const about = { collection: collection.id, collectionName: collection.name, record, revision, dataJson };
    const { created } = next(record);
    ids.push((await events.append(tx, { ...about, kind: 'leave', created, context })).id);
  }
  await dropRecords(
    tx,
    records.map(({ id }) => keyOf(target, id)),
  );
  return ids;
}

async function sendEnters(
  tx: Transaction,
  target: ReconcileTarget,
  entering: readonly LockedRecord[],
): Promise<Differences> {
  const { collection } = target;
  const { records, events, clock } = target.instance;
  const now = clock.now();
  const next = await nextTransition(tx, {
    collection: collection.id,
    records: entering.map(({ id }) => id),
    now,
  });
  const ids: string[] = [];
  let length = 0;
  for (let at = 0; at < entering.length; at += readTogetherMax) {
    const together = entering.slice(at, at + readTogetherMax);
    const what = { collection: collection.id, filter: '', now };
    for (const { about } of await records.read(
      tx,
      what,
      together.map(({ position }) => position),
    )) {
      length += about.dataJson.length;
      const { created } = next(about.record);
      ids.push((await events.append(tx, { ...about, kind: 'enter', created, context })).id);
    }
    await holdRecords(
      tx,
      together.map(({ id }) => keyOf(target, id)),
    );
    const end = together.at(-1)?.position;
    if (length >= jsonLengthMax && end !== undefined) return { ids, end };
  }
  return { ids };
}
