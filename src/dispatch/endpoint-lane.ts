import type { Endpoint } from '../endpoints/endpoint.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';
import { closedLane, Lane, type LaneMemory } from '../deliveries/lane.ts';
import { LaneSource } from './lane-source.ts';
import { type LaneAlerts, noAlerts } from '../deliveries/lane-store.ts';
import { type LaneCandidate, type Slots, SlotTime } from './slots.ts';
import { TokenBucket } from './token-bucket.ts';

/** The lane of one endpoint. It is cached while its instance is not on loan, and may be evicted at any time: the rows are the truth. */
export interface EndpointLane {
  endpoint: Endpoint;
  /** Scheme, host and port of its URL. */
  origin: string;
  /** False while the endpoint is paused or gone but has attempts in flight. */
  isActive: boolean;
  readonly lane: Lane;
  readonly source: LaneSource;
  readonly time: SlotTime;
  readonly bucket: TokenBucket;
  /** When the endpoint was last changed, and the stored state of the lane; undefined before it was read. */
  updated: string | undefined;
  stored: LaneMemory;
  storedCursor: number;
  alerts: LaneAlerts;
  /** When the cursor was stored last, in milliseconds since 1970. */
  cursorStoredAt: number;
}

export function newEndpointLane(
  endpoint: Endpoint,
  { database }: Pick<WebhookInstance, 'database'>,
): EndpointLane {
  return {
    endpoint,
    origin: originOf(endpoint.url),
    isActive: true,
    lane: new Lane(endpoint.maxInFlight),
    source: new LaneSource(0, database.names),
    time: new SlotTime(),
    bucket: new TokenBucket(),
    updated: undefined,
    stored: closedLane,
    storedCursor: 0,
    alerts: noAlerts,
    cursorStoredAt: 0,
  };
}

/** Follows a change of the endpoint. */
export function followEndpoint(state: EndpointLane, endpoint: Endpoint): void {
  if (state.endpoint.url !== endpoint.url) state.origin = originOf(endpoint.url);
  state.endpoint = endpoint;
  state.isActive = true;
}

/** Why a lane sends nothing more at some time, and what wakes it. */
export type LaneWait =
  /** Nothing more is due: a commit wakes it. */
  | { readonly kind: 'commit' }
  /** Its limit is in flight: the next settlement wakes it. */
  | { readonly kind: 'settlement' }
  /** Its slots are used up: the next slot that is released wakes it. */
  | { readonly kind: 'slot' }
  /** It waits for nothing: another look must follow. */
  | { readonly kind: 'look' }
  /** It waits for a time, in milliseconds since 1970. */
  | { readonly kind: 'time'; readonly at: number }
  /** It is paused or blocked: resuming wakes it. */
  | { readonly kind: 'resume' };

/**
 * Returns what a lane waits for. Every lane waits for one of these: one that has room and something due must be looked at again, or it
 * stalls. All conditions use the same `now`: a delivery that becomes due between two readings of a clock would be in neither.
 */
export function waitOf(state: EndpointLane, now: number): LaneWait {
  const { endpoint, lane, source, bucket, isActive } = state;
  if (!isActive || lane.state === 'blocked') return { kind: 'resume' };
  // The due deliveries are unknown.
  if (source.isDropped && source.claimedCount === 0) return { kind: 'look' };
  const { nextDue } = source;
  const { rateLimit } = endpoint;
  const opensAt = lane.opensAt(now) ?? (rateLimit === 0 ? now : bucket.nextAt(now, rateLimit));
  if (opensAt > now) {
    if (!source.isEmpty || source.mayHaveMore) return { kind: 'time', at: opensAt };
    if (nextDue !== undefined) return { kind: 'time', at: Math.max(opensAt, nextDue) };
  } else if (roomAt(state, now) > 0) {
    if (!source.isEmpty) return { kind: 'slot' };
    if (source.mayHaveMore) return { kind: 'look' };
    if (nextDue !== undefined) return { kind: 'time', at: nextDue };
  } else if (source.claimedCount === 0) return { kind: 'look' };
  return source.claimedCount > 0 ? { kind: 'settlement' } : { kind: 'commit' };
}

/** Whether these slots have room for the lane. */
export function hasSlot(
  { endpoint, origin, lane }: EndpointLane,
  { slots, instanceId, now }: { readonly slots: Slots; readonly instanceId: string; readonly now: number },
): boolean {
  const { inFlight, hasFailed } = lane;
  const slot = { instanceId, origin, isProven: lane.isProven(now), inFlight, hasFailed };
  return endpoint.status === 'active' && slots.hasRoomForRetry && slots.roomFor(slot) > 0;
}

export function roomAt({ isActive, lane, bucket, source, endpoint }: EndpointLane, now: number): number {
  if (!isActive) return 0;
  const { order, maxInFlight, rateLimit } = endpoint;
  // A delivery of a strict order that is settled without an attempt is not open in its lane, but claimed until that is stored.
  if (order === 'strict' && source.claimedCount > 0) return 0;
  const room = lane.roomAt(now, order === 'strict' ? 1 : maxInFlight);
  return rateLimit === 0 ? room : Math.min(room, bucket.available(now, rateLimit));
}

/** True when a read could find deliveries that the lane can send. */
export function isReadable(state: EndpointLane, now: number): boolean {
  return state.source.mayHaveMore && state.source.isEmpty && roomAt(state, now) > 0;
}

export function hasSendable(state: EndpointLane, now: number): boolean {
  return !state.source.isEmpty && roomAt(state, now) > 0;
}

export function toCandidate(state: EndpointLane, now: number): LaneCandidate {
  const { endpoint, origin, lane, source, time } = state;
  return {
    endpointId: endpoint.id,
    origin,
    usedMs: time.usedAt(now),
    room: roomAt(state, now),
    isProven: lane.isProven(now),
    hasFailed: lane.hasFailed,
    inFlight: lane.inFlight,
    take: (mayRetry) => source.take(mayRetry),
  };
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? url;
}
