import type { LockedRecord } from '../../endpoints/backfill-records.ts';
import { dropRecords, type HeldKey, heldText, holdRecords, readHeld } from '../../endpoints/held-records.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import type { Transaction } from '../../storage/database.ts';
import type { DecidedPair } from '../decision-cursor.ts';
import { leavesOf, nextTransition } from '../leaves-of.ts';
import { transitionOf } from '../transitions.ts';
import type { MirrorAnswer, UndecidedEvent } from './decide-event.ts';

/**
 * The decisions for endpoints of accounts with transitions, in the transaction that stores them. An enter and a leave are events at the end of
 * the log. Later events of the record may lie before them, so they are appended only while the record is as the event left it, behind a
 * lock of the record: otherwise the later event decides, as the endpoint still holds, or does not hold, the record. A leave may so be left
 * to the deletion, whose last state was never sent then: that is a leave as well.
 */
export interface MirroredEvent {
  readonly event: UndecidedEvent;
  readonly mirrors: readonly MirrorAnswer[];
}

type DecidingParts = Pick<WebhookInstance, 'collections' | 'records' | 'events' | 'clock'>;

/** Appends transitions, stores what the endpoints hold, and returns the deliveries of the events themselves. */
export async function decideMirrored(
  tx: Transaction,
  instance: DecidingParts,
  mirrored: readonly MirroredEvent[],
): Promise<readonly DecidedPair[]> {
  if (mirrored.length === 0) return [];
  const current = await lockRecords(tx, instance, mirrored);
  const keys = mirrored.flatMap(({ event, mirrors }) =>
    mirrors.map(({ endpoint }) => keyOf(event, endpoint)),
  );
  // Behind the locks: a reconcile may have changed them before.
  const before = await readHeld(tx, keys);
  const holds = new Map(keys.flatMap((key) => (before.has(heldText(key)) ? [[heldText(key), key]] : [])));
  const pairs: DecidedPair[] = [];
  for (const { event, mirrors } of mirrored) {
    const state = current.get(recordText(event));
    const isDelete = event.kind === 'record.delete';
    const isCurrent = isDelete ? state === undefined : state?.revision === event.revision;
    const [enters, leaves]: [number[], number[]] = [[], []];
    for (const { endpoint, isMatch } of mirrors) {
      const key = keyOf(event, endpoint);
      const isHeld = holds.has(heldText(key));
      // The change that made it leave may have been left to this one: the last state was never sent then.
      const isUnseen = isDelete && isHeld && !isMatch;
      const transition = isUnseen ? 'leave' : transitionOf(event.kind, { isMatch, isHeld });
      if (transition === undefined || (transition !== 'change' && !isCurrent)) continue;
      if (transition === 'change') pairs.push([event.position, endpoint]);
      if (transition === 'enter') enters.push(endpoint);
      if (transition === 'leave') leaves.push(endpoint);
      if (transition === 'leave' || isDelete) holds.delete(heldText(key));
      else holds.set(heldText(key), key);
    }
    await appendTransitions(tx, instance, { event, state, enters, leaves });
  }
  await holdRecords(
    tx,
    [...holds].flatMap(([text, key]) => (before.has(text) ? [] : [key])),
  );
  await dropRecords(
    tx,
    keys.filter((key) => before.has(heldText(key)) && !holds.has(heldText(key))),
  );
  return pairs;
}

function keyOf({ collection, record }: UndecidedEvent, endpoint: number): HeldKey {
  return { endpoint, collection, record };
}

function recordText({ collection, record }: Pick<UndecidedEvent, 'collection' | 'record'>): string {
  return `${collection}/${record}`;
}

/** Locks the records of these events that still exist, and returns them by their texts. */
async function lockRecords(
  tx: Transaction,
  { collections, records }: DecidingParts,
  mirrored: readonly MirroredEvent[],
): Promise<ReadonlyMap<string, LockedRecord>> {
  const locked = new Map<string, LockedRecord>();
  const byCollection = Map.groupBy(mirrored, ({ event }) => event.collection);
  for (const [collection, ofCollection] of [...byCollection].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (collections.find(collection) === undefined) continue;
    const ids = [...new Set(ofCollection.map(({ event }) => event.record))];
    for (const state of await records.lockByIds(tx, collection, ids))
      locked.set(recordText({ collection, record: state.id }), state);
  }
  return locked;
}

interface DecidedTransitions {
  readonly event: UndecidedEvent;
  readonly state: LockedRecord | undefined;
  readonly enters: readonly number[];
  readonly leaves: readonly number[];
}

async function appendTransitions(
  tx: Transaction,
  instance: DecidingParts,
  { event, state, enters, leaves }: DecidedTransitions,
): Promise<void> {
  if (enters.length === 0 && leaves.length === 0) return;
  const { records, events, clock } = instance;
  const collection = instance.collections.get(event.collection);
  const now = clock.now();
  const next = await nextTransition(tx, { collection: collection.id, records: [event.record], now });
  const { actor = 'service', hops = 1 } = event.context ?? {};
  const common = { created: next(event.record).created, context: { actor, hops } };
  if (enters.length > 0 && state !== undefined) {
    const [record] = await records.read(tx, { collection: collection.id, filter: '', now }, [state.position]);
    if (record !== undefined)
      await events.append(tx, { ...common, ...record.about, kind: 'enter', recipients: enters });
  }
  const about = {
    collection: collection.id,
    collectionName: collection.name,
    record: event.record,
    revision: event.revision,
  };
  const keys = leaves.map((endpoint) => keyOf(event, endpoint));
  for (const leave of await leavesOf(tx, collection, keys))
    await events.append(tx, { ...common, ...about, ...leave, kind: 'leave' });
}
