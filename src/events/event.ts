import { type Timestamp, toIsoTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { EventContext } from './event-context.ts';

/** The kinds of events that changes of records cause, as they stand in a webhook's `event`. */
export const recordEventKinds = ['record.create', 'record.update', 'record.delete'] as const;

export type RecordEventKind = (typeof recordEventKinds)[number];

/** The kinds of events about endpoints themselves, to which other endpoints may subscribe. */
export const operationalEventKinds = [
  'endpoint.failing',
  'endpoint.disabled',
  'endpoint.recovered',
  'endpoint.certificate_expiring',
  'delivery.exhausted',
  'attempt.failed',
] as const;

export type OperationalEventKind = (typeof operationalEventKinds)[number];

/**
 * Events that are sent to some endpoints alone. None is a change of a record: a reader of the log for changes selects their kinds.
 *
 * - `backfill` sends an existing record, as if it were created now
 * - `enter` sends a record that has come to match the conditions of an endpoint, as if it were created, and `leave` one that matches them no
 *   more, as if it were deleted
 */
export const addressedKinds = ['backfill', 'enter', 'leave'] as const;

type AddressedKind = (typeof addressedKinds)[number];

export type EventKind = RecordEventKind | OperationalEventKind | TestEventKind | AddressedKind;

export function isAddressed(kind: string): kind is AddressedKind {
  return addressedKinds.some((one) => one === kind);
}

export type TransitionKind = Exclude<AddressedKind, 'backfill'>;

export function isTransition(kind: string): kind is TransitionKind {
  return kind !== 'backfill' && isAddressed(kind);
}

/** Returns the kind of an event as its receivers see it. */
export function kindForReceivers(kind: string): string {
  if (kind === 'leave') return 'record.delete';
  return isAddressed(kind) ? 'record.create' : kind;
}

/**
 * The kinds of events that tests of endpoints send, each to one endpoint alone. `ping` has no collection and no record. `test` sends a
 * record as a change of it would: its body has the kind. It is a kind of its own, so that other readers do not treat it as a change.
 */
const testEventKinds = ['ping', 'test'] as const;

type TestEventKind = (typeof testEventKinds)[number];

export function isTest(kind: string): kind is TestEventKind {
  return testEventKinds.some((one) => one === kind);
}

/** All kinds that the log has. */
export const eventKinds: readonly EventKind[] = [
  ...recordEventKinds,
  ...addressedKinds,
  ...operationalEventKinds,
  ...testEventKinds,
];

export function isOperational(kind: string): kind is OperationalEventKind {
  return operationalEventKinds.some((one) => one === kind);
}

/** An event before the log assigns a position and an id. */
export interface NewEvent {
  readonly kind: EventKind;
  /** Of `test`: the kind that its body has. */
  readonly bodyKind?: RecordEventKind;
  /** Id of the collection; a rename does not change it. Empty for events about endpoints, and for tests: they are no part of the story of a record. */
  readonly collection: string;
  /** Name of the collection at the time of the event. */
  readonly collectionName: string;
  /** Id of the record, or of the endpoint that the event is about; empty for `ping`. */
  readonly record: string;
  /** The record's revision after the change: 1, 2, 3 … without holes. */
  readonly revision: number;
  readonly created: Timestamp;
  /** JSON text of the payload's `data`. */
  readonly dataJson: string;
  /** JSON text of the record's hidden fields, which no receiver gets, but rules may name; absent where it has none. */
  readonly hiddenJson?: string;
  /** Absent for an event that is about no record. */
  readonly context?: EventContext;
  /**
   * The numbers of the endpoints whose condition it meets. Endpoints without one receive every event that they subscribe to; transitions
   * go to these endpoints alone.
   */
  readonly recipients?: readonly number[];
}

/** A change as it happens in its transaction, to decide who receives it. */
export interface RecordChange {
  readonly collection: Collection;
  /** The values of every field before it; absent for a new record. */
  readonly before?: readonly StoredValue[];
  /** The values after it; the last ones for a deletion. */
  readonly after: readonly StoredValue[];
  /** Returns the JSON text of the record before it, as events have it; absent for a new record. */
  readonly beforeJson?: () => string;
}

/** An event as it stands in the log. `body` in UTF-8 is exactly what every receiver gets. */
export interface Event extends Omit<NewEvent, 'dataJson'> {
  /** Unique, time-ordered, without a dot; receivers see it as `webhook-id`. */
  readonly id: string;
  readonly body: string;
  /** The trace of the request that has caused it; absent where there was none. */
  readonly trace?: string;
  /** The length of `body` in UTF-8. */
  readonly bodyBytes: number;
}

/** Builds the payload: five members, in the order that receivers rely on. The instance's id and the kind need no escaping. */
export function payloadOf(
  event: Pick<NewEvent, 'created' | 'collectionName' | 'dataJson' | 'bodyKind'> & { readonly kind: string },
  instanceId: string,
): string {
  const head = `{"event":"${event.bodyKind ?? kindForReceivers(event.kind)}","timestamp":"${toIsoTimestamp(event.created)}","instance_id":"${instanceId}"`;
  return `${head},"collection":${JSON.stringify(event.collectionName)},"data":${event.dataJson}}`;
}

/** Returns the kind in a payload. */
export function kindOfBody(body: Uint8Array): string {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, 100)).toString('latin1');
  return /^\{"event":"([a-z.]+)"/.exec(head)?.[1] ?? '';
}
