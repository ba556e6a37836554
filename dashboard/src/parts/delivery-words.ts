import { type Delivery, type Endpoint, type Event, type Lane, type Surroundings } from '../api/events.ts';
import { duration, parseTime } from './time.tsx';

export type DeliveryTone = 'ok' | 'failed' | 'retrying' | 'waiting';

/** Why a delivery is as it is, and what there is to do, for somebody who sees it for the first time. */
export interface Explanation {
  readonly tone: DeliveryTone;
  /** In a few words: `Delivered`, `Gave up`. */
  readonly title: string;
  /** In a sentence or two; empty where the title says it all. */
  readonly reason: string;
  /** When it goes on by itself; empty when it does not. */
  readonly next: string;
}

export function explainDelivery(delivery: Delivery, surroundings: Surroundings | undefined): Explanation {
  const { status, cause, attempts } = delivery;
  const made = attempts.length;
  switch (status) {
    case 'delivered':
      return {
        tone: 'ok',
        title: 'Delivered',
        reason: made > 1 ? `Taken at attempt ${made}.` : '',
        next: '',
      };
    case 'exhausted':
      return {
        tone: 'failed',
        title: 'Gave up',
        reason: `${lastFailure(delivery)} Nothing more is sent until somebody sends it again.`,
        next: '',
      };
    case 'expired':
      return { tone: 'failed', title: 'Expired', reason: cause, next: '' };
    case 'cancelled':
      return { tone: 'waiting', title: 'Cancelled', reason: cause, next: '' };
    default:
      return explainPending(delivery, surroundings);
  }
}

function explainPending(delivery: Delivery, surroundings: Surroundings | undefined): Explanation {
  const endpoint = surroundings?.endpoints.get(delivery.endpoint);
  const lane = surroundings?.lanes.get(delivery.endpoint);
  const failed = delivery.attempts.length === 0 ? '' : ` ${lastFailure(delivery)}`;
  if (endpoint !== undefined && endpoint.status !== 'active')
    return {
      tone: endpoint.status === 'disabled' ? 'failed' : 'waiting',
      title: `Waits: endpoint ${endpoint.status}`,
      reason: `${stoppedReason(endpoint)} It is sent once the endpoint is resumed.${failed}`,
      next: '',
    };
  if (lane !== undefined && lane.state !== 'closed') return explainLane(lane, failed);
  if (lane !== undefined && lane.heldUntil !== '')
    return {
      tone: 'waiting',
      title: 'Waits as the receiver wished',
      reason: `The receiver has answered with Retry-After.${failed}`,
      next: lane.heldUntil,
    };
  if (delivery.attempts.length > 0)
    return { tone: 'retrying', title: 'Retrying', reason: failed.trim(), next: delivery.nextAttempt };
  return { tone: 'waiting', title: 'Waiting', reason: waitingReason(endpoint), next: '' };
}

function lastFailure({ cause }: Delivery): string {
  return `The last attempt failed: ${cause}`;
}

function stoppedReason({ status, statusReason }: Endpoint): string {
  const reason = statusReason === '' ? 'somebody has paused it.' : statusReason;
  return `The endpoint is ${status}: ${reason}${/[.!?]$/.test(reason) ? '' : '.'}`;
}

function explainLane({ state, cause, since, probeAt }: Lane, failed: string): Explanation {
  if (state === 'blocked')
    return {
      tone: 'failed',
      title: 'Waits behind another',
      reason: `The endpoint has a strict order, and a delivery before this one failed for good. ${cause}`,
      next: '',
    };
  if (state === 'slow')
    return {
      tone: 'retrying',
      title: 'Waits its turn',
      reason: `The receiver was down and is back: it is sent one delivery at a time.${failed}`,
      next: '',
    };
  const began = parseTime(since);
  const seconds = began === undefined ? undefined : (Date.now() - began.getTime()) / 1_000;
  const lasting = seconds === undefined ? '' : ` for ${duration(Math.max(1, seconds))}`;
  return {
    tone: 'retrying',
    title: 'Waits: receiver down',
    reason: `The receiver has failed${lasting}: ${cause} It is tried again now and then, and gets everything that waits once it answers.${failed}`,
    next: probeAt,
  };
}

function waitingReason(endpoint: Endpoint | undefined): string {
  if (endpoint === undefined || endpoint.order === 'none') return 'It is about to be sent.';
  return endpoint.order === 'record'
    ? 'It is sent when the changes of this record before it are delivered or given up.'
    : 'It is sent when what the endpoint got before it is delivered or given up.';
}

/** An endpoint that was not told of an event, and why. */
export interface NotTold {
  readonly endpoint: Endpoint;
  readonly reason: string;
}

/** What endpoints say of an event as they are now; they may have been others when it happened. `collection`: the id of its collection. */
export function notTold(event: Event, collection: string, endpoints: Iterable<Endpoint>): readonly NotTold[] {
  const told = new Set(event.deliveries.map(({ endpoint }) => endpoint));
  return [...endpoints].flatMap((endpoint) => {
    // What one endpoint is told of alone.
    if (told.has(endpoint.id) || event.collection === '' || event.kind === 'backfill') return [];
    return [{ endpoint, reason: reasonOf(endpoint, event, collection) }];
  });
}

function reasonOf({ created, events, collections }: Endpoint, event: Event, collection: string): string {
  if (created > event.created) return 'was made after this event';
  const wantsKind = events.some((kind) => kind === event.kind);
  const wantsCollection = collections.length === 0 || collections.includes(collection);
  if (!wantsKind) return `does not subscribe to ${event.kind}`;
  if (!wantsCollection) return `does not subscribe to ${event.collection}`;
  return 'did not subscribe to this when it happened';
}

/** What somebody reads instead of `record.update`. */
export const kindNames = {
  'record.create': 'Created',
  'record.update': 'Updated',
  'record.delete': 'Deleted',
  backfill: 'Backfilled',
  'endpoint.disabled': 'Endpoint disabled',
  'endpoint.recovered': 'Endpoint is back',
  'delivery.exhausted': 'Delivery given up',
  ping: 'Test',
  test: 'Record test',
} as const;

/** What a filter by status offers. */
export const statusNames = {
  pending: 'Waiting or retrying',
  delivered: 'Delivered',
  exhausted: 'Gave up',
  expired: 'Expired',
  cancelled: 'Cancelled',
} as const;

/** What an event is, in a few words. Tests, and events about endpoints, have no collection. */
export function eventTitle({ kind, collection }: Pick<Event, 'kind' | 'collection'>): string {
  return collection === '' ? kindNames[kind] : `${kindNames[kind]} in ${collection}`;
}

/** `1 delivery`, `3 deliveries`. */
export function deliveries(count: number): string {
  return `${count.toLocaleString('en')} ${count === 1 ? 'delivery' : 'deliveries'}`;
}
