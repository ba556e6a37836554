import type { Endpoint, Lane, Surroundings } from '../api/events.ts';
import type { ListedEndpoint } from '../api/last-day.ts';
import { duration, parseTime, plural } from './time.tsx';

export type EndpointTone = 'ok' | 'failed' | 'retrying' | 'paused';

export type EndpointWord =
  'Active' | 'Failing' | 'Blocked' | 'Coming back' | 'Held' | 'Paused' | 'Disabled' | 'Unverified';

/** How an endpoint stands, for somebody who sees it for the first time. */
export interface EndpointStanding {
  readonly tone: EndpointTone;
  /** In a word or two. */
  readonly word: EndpointWord;
  /** Why, in a sentence or two; empty where the word says it all. */
  readonly reason: string;
  /** When it is tried next; empty when it does not wait for a time. */
  readonly next: string;
}

/** What its owner calls an endpoint: its name, or else its description, or else where it is. */
export function endpointName({
  name,
  description,
  url,
}: Pick<Endpoint, 'name' | 'description' | 'url'>): string {
  return name || description || url;
}

/** The same for an endpoint that may be deleted, or not loaded yet. */
export function endpointLabel(id: string, surroundings: Surroundings | undefined): string {
  const endpoint = surroundings?.endpoints.get(id);
  if (endpoint !== undefined) return endpointName(endpoint);
  return surroundings === undefined ? id : `${id} (deleted)`;
}

/** `lastDay` is what became of its attempts: one that takes nothing does not look well, before the service has seen enough to hold it back. */
export function explainEndpoint(
  { status, statusReason }: Pick<Endpoint, 'status' | 'statusReason'>,
  lane: Lane | undefined,
  lastDay?: { readonly attempts: number; readonly delivered: number },
): EndpointStanding {
  if (status !== 'active') return stoppedStandings[status](statusReason);
  if (lane !== undefined && (lane.state !== 'closed' || lane.heldUntil !== ''))
    return laneStandings[lane.state](lane);
  if (lastDay !== undefined && lastDay.attempts > 0 && lastDay.delivered === 0)
    return {
      tone: 'failed',
      word: 'Failing',
      reason: `Nothing was delivered in the last 24 hours: ${plural(lastDay.attempts, 'attempt')} failed.`,
      next: '',
    };
  return { tone: 'ok', word: 'Active', reason: '', next: '' };
}

/** As `explainEndpoint`, of an endpoint of a list. */
export function explainListed(endpoint: ListedEndpoint): EndpointStanding {
  return explainEndpoint(endpoint, endpoint.stats?.lane, endpoint.stats);
}

/** How an endpoint stands that is sent nothing, by its status. */
const stoppedStandings: Readonly<
  Record<Exclude<Endpoint['status'], 'active'>, (statusReason: string) => EndpointStanding>
> = {
  disabled: (statusReason) => ({
    tone: 'failed',
    word: 'Disabled',
    reason: `${sentence(statusReason)}Deliveries queue up until it is resumed.`,
    next: '',
  }),
  unverified: (statusReason) => ({
    tone: 'retrying',
    word: 'Unverified',
    reason: `${sentence(statusReason)}Deliveries queue until the receiver answers a challenge.`,
    next: '',
  }),
  paused: (statusReason) => ({
    tone: statusReason === '' ? 'paused' : 'failed',
    word: 'Paused',
    reason: `${statusReason === '' ? 'Paused by a user. ' : sentence(statusReason)}Deliveries queue up until it is resumed.`,
    next: '',
  }),
};

/** How an active endpoint stands whose lane is held back. */
const laneStandings: Readonly<Record<Lane['state'], (lane: Lane) => EndpointStanding>> = {
  blocked: ({ cause }) => ({
    tone: 'failed',
    word: 'Blocked',
    reason: `Strict order, and a delivery was exhausted. ${sentence(cause)}Everything behind it waits.`,
    next: '',
  }),
  slow: () => ({
    tone: 'retrying',
    word: 'Coming back',
    reason: 'The receiver is back. Deliveries ramp up a few at a time.',
    next: '',
  }),
  open: ({ since, cause, probeAt }) => ({
    tone: 'failed',
    word: 'Failing',
    reason: `The receiver has failed${lasting(since)}: ${sentence(cause)}We'll keep retrying. Queued deliveries go out once it recovers.`,
    next: probeAt,
  }),
  closed: ({ heldUntil }) => ({
    tone: 'retrying',
    word: 'Held',
    reason: 'The receiver answered with Retry-After. Nothing is sent until then.',
    next: heldUntil,
  }),
};

function lasting(since: string): string {
  const began = parseTime(since);
  if (began === undefined) return '';
  return ` for ${duration(Math.max(1, (Date.now() - began.getTime()) / 1_000))}`;
}

/** A reason with a full stop and a blank behind it, or nothing. */
function sentence(reason: string): string {
  if (reason === '') return '';
  const text = reason.slice(0, 1).toUpperCase() + reason.slice(1);
  return /[.!?]$/.test(text) ? `${text} ` : `${text}. `;
}
