import { membersOf } from '../api/members-of.ts';
import type { Attempt, Delivery, Endpoint, Event, Lane, Surroundings } from '../api/events.ts';
import { duration, parseTime } from './time.tsx';

export type DeliveryTone = 'ok' | 'failed' | 'retrying' | 'waiting';

/** Why a delivery is as it is, and what there is to do, for somebody who sees it for the first time. */
export interface Explanation {
  readonly tone: DeliveryTone;
  /** In a few words: `Delivered`, `Gave up`. */
  readonly title: string;
  /** The cause alone, where there is room for a line; empty where the title says it all. */
  readonly brief: string;
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
        brief: '',
        reason: made > 1 ? `Accepted at attempt ${made}.` : '',
        next: '',
      };
    case 'exhausted':
      return {
        tone: 'failed',
        title: 'Gave up',
        brief: cause,
        reason: `${lastFailure(delivery)} No more retries: resend it once the cause is fixed.`,
        next: '',
      };
    case 'expired':
      return { tone: 'failed', title: 'Expired', brief: cause, reason: cause, next: '' };
    case 'cancelled':
      return { tone: 'waiting', title: 'Cancelled', brief: cause, reason: cause, next: '' };
    default:
      return explainPending(delivery, surroundings);
  }
}

function explainPending(delivery: Delivery, surroundings: Surroundings | undefined): Explanation {
  const { attempts, cause, nextAttempt } = delivery;
  const endpoint = surroundings?.endpoints.get(delivery.endpoint);
  const lane = surroundings?.lanes.get(delivery.endpoint);
  const failed = attempts.length === 0 ? '' : ` ${lastFailure(delivery)}`;
  if (endpoint !== undefined && endpoint.status !== 'active')
    return {
      tone: endpoint.status === 'disabled' ? 'failed' : 'waiting',
      title: `Waiting: endpoint ${endpoint.status}`,
      brief: endpoint.statusReason,
      reason: `${stoppedReason(endpoint)} Queued deliveries go out once it is resumed.${failed}`,
      next: '',
    };
  if (lane !== undefined && lane.state !== 'closed')
    return { ...explainLane(lane, failed), brief: lane.cause };
  if (lane !== undefined && lane.heldUntil !== '')
    return {
      tone: 'waiting',
      title: 'Waiting (Retry-After)',
      brief: cause,
      reason: `The endpoint answered with Retry-After.${failed}`,
      next: lane.heldUntil,
    };
  if (attempts.length > 0)
    return { tone: 'retrying', title: 'Retrying', brief: cause, reason: failed.trim(), next: nextAttempt };
  return { tone: 'waiting', title: 'Waiting', brief: '', reason: waitingReason(endpoint), next: '' };
}

function lastFailure({ cause }: Delivery): string {
  return `The last attempt failed: ${cause}`;
}

function stoppedReason({ status, statusReason }: Endpoint): string {
  if (statusReason === '') return `The endpoint is ${status}.`;
  return `The endpoint is ${status}: ${statusReason}${/[.!?]$/.test(statusReason) ? '' : '.'}`;
}

function explainLane({ state, cause, since, probeAt }: Lane, failed: string): Omit<Explanation, 'brief'> {
  if (state === 'blocked')
    return {
      tone: 'failed',
      title: 'Blocked by a failed delivery',
      reason: `The endpoint has strict order, and an earlier delivery was exhausted. ${cause}`,
      next: '',
    };
  if (state === 'slow')
    return {
      tone: 'retrying',
      title: 'Waiting: endpoint recovering',
      reason: `The endpoint is recovering. Deliveries go out one at a time.${failed}`,
      next: '',
    };
  const began = parseTime(since);
  const seconds = began === undefined ? undefined : (Date.now() - began.getTime()) / 1_000;
  const lasting = seconds === undefined ? '' : ` for ${duration(Math.max(1, seconds))}`;
  return {
    tone: 'retrying',
    title: 'Waiting: endpoint down',
    reason: `The endpoint has been failing${lasting}: ${cause} We'll keep retrying. Queued deliveries go out once it recovers.${failed}`,
    next: probeAt,
  };
}

function waitingReason(endpoint: Endpoint | undefined): string {
  if (endpoint === undefined || endpoint.order === 'none') return 'About to be sent.';
  return endpoint.order === 'record'
    ? 'Sent after earlier changes of this record.'
    : 'Sent after earlier deliveries to this endpoint.';
}

/** What somebody reads instead of `record.update`. */
export const kindNames: Readonly<Record<Event['kind'], string>> = {
  'record.create': 'Created',
  'record.update': 'Updated',
  'record.delete': 'Deleted',
  backfill: 'Backfilled',
  enter: 'Entered',
  leave: 'Left',
  'endpoint.failing': 'Endpoint failing',
  'endpoint.disabled': 'Endpoint disabled',
  'endpoint.recovered': 'Endpoint recovered',
  'endpoint.certificate_expiring': 'Certificate expiring',
  'delivery.exhausted': 'Delivery exhausted',
  'attempt.failed': 'Attempt failed',
  ping: 'Test',
  test: 'Record test',
};

/** The kinds of events that the log has, in the order in which they are offered. */
export const eventKinds = membersOf(kindNames);

/** What a filter by status offers. */
export const statusNames: Readonly<Record<Delivery['status'], string>> = {
  pending: 'Waiting or retrying',
  delivered: 'Delivered',
  exhausted: 'Gave up',
  expired: 'Expired',
  cancelled: 'Cancelled',
};

export const deliveryStatuses = membersOf(statusNames);

/** What an event is, in a few words. Tests, and events about endpoints, have no collection. */
export function eventTitle({ kind, collection }: Pick<Event, 'kind' | 'collection'>): string {
  return collection === '' ? kindNames[kind] : `${kindNames[kind]} in ${collection}`;
}

/** `1 delivery`, `3 deliveries`. */
export function deliveries(count: number): string {
  return `${count.toLocaleString()} ${count === 1 ? 'delivery' : 'deliveries'}`;
}

/** `500, 500, 200`: what came of the attempts, with long runs in one. */
export function attemptDigest({ attempts }: Pick<Delivery, 'attempts'>): string {
  const runs: { readonly text: string; count: number }[] = [];
  for (const { status, kind } of attempts) {
    const text = status === null ? attemptWords[kind] : String(status);
    const last = runs.at(-1);
    if (last?.text === text) last.count += 1;
    else runs.push({ text, count: 1 });
  }
  return runs
    .flatMap(({ text, count }) =>
      count > longRun ? [`${text} × ${count}`] : Array<string>(count).fill(text),
    )
    .join(', ');
}

const longRun = 3;

/** What an attempt came to that got no status. */
export const attemptWords: Readonly<Record<Attempt['kind'], string>> = {
  success: 'Taken',
  status: 'Refused',
  timeout: 'Time-out',
  dns: 'Unknown host',
  connect: 'No connection',
  tls: 'TLS failed',
  refused: 'Not allowed',
  protocol: 'Not HTTP',
  proxy: 'Proxy failed',
};
