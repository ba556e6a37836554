import { toTimestamp } from '../../base/timestamp.ts';
import { type Collection, emitsEvents } from '../../collections/collection.ts';
import { limit, sql } from '../../sql/sql.ts';
import type { Reader, Transaction } from '../../storage/database.ts';
import { OutdatedDefinitions } from '../../storage/engine-errors.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import { forgetHeld } from '../../endpoints/held-records.ts';
import { lastEvent, over, positionsOf } from './backfills.ts';
import {
  type ReconcileInstance,
  type ReconcileTarget,
  sendDifferences,
  sendGone,
  whatDiffers,
} from './reconcile-records.ts';
import { type ReplayStepResult, lockCursor, makeDue, readRoom, type Replay } from './replay-store.ts';

/**
 * A reconcile compares what an endpoint with transitions holds with what matches its conditions now, and sends the difference. It is needed
 * where that changes without a change of the record: by the endpoint's filter, a view rule, or other records that these name
 * (reconcile-watch.ts).
 *
 * It is a replay that goes over one collection after the other, in the order of their ids: over its table, for records that match and are not
 * held, or are held and do not match; then over the keys, for those of records that are gone. A step sends what differs and moves the place in
 * one transaction, so that each difference is sent once, even if the process dies in between. Records made since it began are
 * decided by their own events.
 */

/** Records of one step. Changes of these wait for it. */
const lockedMax = 100;
const keysMax = 500;

/** Where a reconcile stands, as its row has it. */
type Place = Pick<Replay, 'collection' | 'record' | 'cursor' | 'last'>;

interface Step extends Omit<ReconcileTarget, 'instance'> {
  readonly replay: Replay;
  readonly place: Place;
  readonly now: number;
}

/** Compares the next records or keys. Returns how many deliveries became due, and whether it may go on at once. */
export async function advanceReconcile(
  instance: ReconcileInstance,
  { replay, endpoint }: { readonly replay: Replay; readonly endpoint: Endpoint },
  { now, allowed }: { readonly now: number; readonly allowed: number },
): Promise<ReplayStepResult> {
  try {
    return await advance(instance, { replay, endpoint }, { now, allowed });
  } catch (error) {
    // The definitions have been read again by now.
    if (error instanceof OutdatedDefinitions) return { count: 0, isOver: false, isFull: false };
    throw error;
  }
}

async function advance(
  instance: ReconcileInstance,
  { replay, endpoint }: { readonly replay: Replay; readonly endpoint: Endpoint },
  { now, allowed }: { readonly now: number; readonly allowed: number },
): Promise<ReplayStepResult> {
  const { database, collections } = instance;
  const place = await readPlace(database, replay.number);
  if (place === undefined) return over;
  const room = Math.min(lockedMax, await readRoom(database, replay.number, allowed));
  if (room === 0) return { count: 0, isOver: false, isFull: true };
  const collection = collections.find(place.collection);
  if (!endpoint.transitions || (collection === undefined && place.collection !== ''))
    return forgetKeys(instance, { replay, place, now, endpoint });
  if (collection === undefined) return passOn(instance, { replay, place, now, endpoint });
  const step = { replay, place, now, endpoint, collection };
  if (place.cursor < place.last) return compareRecords(instance, step, room);
  return compareKeys(instance, step, room);
}

async function readPlace(reader: Reader, number: number): Promise<Place | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT collection, record, cursor, last FROM ${names.table('$replay')}
    WHERE ${names.instance.condition} AND number = ${number} AND state = 'running'`);
  if (row === undefined) return undefined;
  const [collection, record, cursor, last] = row;
  return {
    collection: String(collection),
    record: String(record),
    cursor: Number(cursor),
    last: Number(last),
  };
}

async function compareRecords(
  instance: ReconcileInstance,
  step: Step,
  room: number,
): Promise<ReplayStepResult> {
  const { place, collection, now } = step;
  const what = {
    collection: collection.id,
    filter: '',
    now,
    condition: whatDiffers({ ...step, instance }).differs,
  };
  const range = { after: place.cursor, upTo: place.last };
  const next = await instance.records.next(what, range, room);
  return runStep(instance, step, async (tx, current) => {
    const sent = await sendDifferences(tx, { instance, endpoint: current, collection }, next.positions);
    const end = sent.end ?? (next.isLast ? place.last : next.end);
    return { ids: sent.ids, place: { ...place, cursor: end } };
  });
}

async function compareKeys(instance: ReconcileInstance, step: Step, room: number): Promise<ReplayStepResult> {
  const { database } = instance;
  const { place, endpoint, collection } = step;
  const { names } = database;
  const rows = await database.tuples(sql`
    SELECT record FROM ${names.table('$held')} WHERE ${names.instance.condition} AND endpoint = ${endpoint.number}
      AND collection = ${collection.id} AND record > ${place.record} ORDER BY record${limit(keysMax)}`);
  const keys = rows.map(([record]) => String(record));
  if (keys.length === 0) return passOn(instance, step);
  const existing = await database.tuples(
    sql`SELECT id FROM ${names.collectionTable(collection.name)} WHERE id${names.anyOf(keys)}`,
  );
  const present = new Set(existing.map(([id]) => String(id)));
  const missing = keys.filter((record) => !present.has(record)).slice(0, room);
  const record = (missing.length === room ? missing.at(-1) : keys.at(-1)) ?? place.record;
  return runStep(instance, step, async (tx, current) => ({
    ids: await sendGone(tx, { instance, endpoint: current, collection }, missing),
    place: { ...place, record },
  }));
}

/** Goes on to the next collection that the endpoint subscribes to, or holds records of; there may be none. */
async function passOn(
  instance: ReconcileInstance,
  step: Omit<Step, 'collection'>,
): Promise<ReplayStepResult> {
  return runStep(instance, step, async (tx, endpoint) => {
    const { names } = tx;
    const { collection: before } = step.place;
    const [row] = await tx.tuples(sql`
      SELECT min(collection) FROM ${names.table('$held')}
      WHERE ${names.instance.condition} AND endpoint = ${endpoint.number} AND collection > ${before}`);
    const subscribed = instance.collections.all().filter((one) => isSubscribed(endpoint, one));
    const ofKeys = typeof row?.[0] === 'string' ? [row[0]] : [];
    const [next] = [...subscribed.map(({ id }) => id), ...ofKeys].filter((id) => id > before).toSorted();
    if (next === undefined) return { ids: [], place: undefined };
    const exists = instance.collections.find(next) !== undefined;
    const last = exists ? await instance.records.lastPosition(tx, next) : 0;
    return { ids: [], place: { collection: next, record: '', cursor: 0, last } };
  });
}

function isSubscribed({ collections }: Endpoint, collection: Collection): boolean {
  return emitsEvents(collection) && (collections.length === 0 || collections.includes(collection.id));
}

/** Forgets keys, of an endpoint that has no transitions any more, or of a collection that was deleted. */
async function forgetKeys(
  instance: ReconcileInstance,
  step: Omit<Step, 'collection'>,
): Promise<ReplayStepResult> {
  const { place, endpoint } = step;
  const ofCollection = endpoint.transitions ? place.collection : undefined;
  const count = await instance.database.write((tx) => forgetHeld(tx, endpoint.number, ofCollection));
  if (count > 0) return { count: 0, isOver: false, isFull: false };
  if (endpoint.transitions) return passOn(instance, step);
  return runStep(instance, step, () => Promise.resolve({ ids: [], place: undefined }));
}

interface StepEnd {
  /** The ids of the events that were appended. */
  readonly ids: readonly string[];
  /** Where the reconcile stands now; undefined at its end. */
  readonly place: Place | undefined;
}

/** Runs a step behind a lock of the reconcile: makes the deliveries of its events due, and stores where it ends. */
function runStep(
  { database, endpoints }: ReconcileInstance,
  { replay, place, now }: Omit<Step, 'collection'>,
  work: (tx: Transaction, endpoint: Endpoint) => Promise<StepEnd>,
): Promise<ReplayStepResult> {
  const step = async (tx: Transaction): Promise<ReplayStepResult> => {
    const { number } = replay;
    const isRunning = (await lockCursor(tx, number)) !== undefined;
    // The endpoint as this transaction sees it: its conditions may have changed.
    const endpoint = (await endpoints.all(tx)).find((one) => one.number === replay.endpoint);
    if (!isRunning || endpoint === undefined) return over;
    // Another node may have made a step meanwhile.
    if (!isSame(place, await readPlace(tx, number))) return { count: 0, isOver: false, isFull: false };
    const before = await lastEvent(tx);
    const { ids, place: after } = await work(tx, endpoint);
    const events = ids.length === 0 ? [] : await positionsOf(tx, before, ids);
    if (events.length > 0) await makeDue(tx, { replay, events, endpoint, now });
    await storePlace(tx, replay, { before: place, after, count: events.length, now });
    return { count: events.length, isOver: after === undefined, isFull: false };
  };
  return database.write(step, { findsByKey: true });
}

function isSame(a: Place, b: Place | undefined): boolean {
  return (
    a.collection === b?.collection && a.record === b.record && a.cursor === b.cursor && a.last === b.last
  );
}

interface PlaceChange {
  readonly before: Place;
  readonly after: Place | undefined;
  readonly count: number;
  readonly now: number;
}

async function storePlace(
  tx: Transaction,
  { number }: Replay,
  { before, after, count, now }: PlaceChange,
): Promise<void> {
  const { names } = tx;
  const { collection, record, cursor, last } = after ?? before;
  await tx.run(sql`
    UPDATE ${names.table('$replay')} SET collection = ${collection}, record = ${record}, cursor = ${cursor}, last = ${last},
      taken = taken + ${count}, total = total + ${count}, state = ${after === undefined ? 'done' : 'running'}, updated = ${toTimestamp(now)}
    WHERE ${names.instance.condition} AND number = ${number}`);
}
