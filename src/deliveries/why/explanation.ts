import type { ComparedSide } from '../../query/compared-values.ts';
import { isAddressed, isOperational, isTest, type EventKind } from '../../events/event.ts';
import type { DeliveryStatus } from '../delivery.ts';
import { ownerDeletedReason } from '../endpoints/pause-orphans.ts';
import { type Endpoint, wants } from '../../endpoints/endpoint.ts';

/**
 * Why each endpoint was sent an event, or was not. The map of this folder:
 *
 *   explain-event       the endpoints of a page, in the order in which they were made, and one explanation for each
 *   explanation         the reasons, and those that follow from an endpoint's settings alone
 *   explain-conditions  evaluates filters and owners again, with the event's own values; false-comparisons: the false parts of a filter
 *   change-query        one statement about the rows before and after a change, within the time of the answer
 *   sent-transitions    what endpoints with transitions were sent instead of a change
 *   endpoint-changes    members of endpoints that were changed since, by the audit log
 */
export const reasons = [
  // It has a delivery, which waits for one of the next three; or one of a transition.
  'sent',
  'paused',
  'disabled',
  'unverified',
  'quota',
  'transition',
  // It has none.
  'made-later',
  'deleted',
  'other-endpoint',
  'other-events',
  'other-collections',
  'about-itself',
  'undecided',
  'filter',
  'filter-unfit',
  'owner',
  'owner-deleted',
  'not-held',
  'changed',
  'related-changed',
  'expunged',
  'collection-deleted',
  'state-trimmed',
  'unknown',
] as const;

export type Reason = (typeof reasons)[number];

export interface Explanation {
  /** The id of the endpoint. */
  readonly endpoint: string;
  readonly name: string;
  readonly status: Endpoint['status'] | 'deleted';
  readonly isSent: boolean;
  readonly reason: Reason;
  /** The reason in words. */
  readonly message: string;
  /** The id of its delivery; empty where it has none. */
  readonly delivery: string;
  readonly deliveryStatus: DeliveryStatus | '';
  /**
   * Members of the endpoint that were changed after the event and may be the reason: the other members follow from its current settings. Null where it
   * was changed, and the audit log does not have the members.
   */
  readonly changed: readonly ChangedMember[] | null;
  /** Whether it depends on other records, as they are now. */
  readonly isOfNow: boolean;
  /** False where the event lacks fields of the record: they were added or renamed since. */
  readonly isWhole: boolean;
  /** The false parts of its filter. */
  readonly comparisons: readonly FalseComparison[];
  /** The rule by which its owner may not view the record; null for any other reason. */
  readonly rule: DenyingRule | null;
}

/** A rule that was false for the owner of an endpoint, as it is now. */
export interface DenyingRule {
  /** The name of its collection. */
  readonly collection: string;
  readonly name: 'viewRule';
  /** Null where the rule is locked: only superusers may view records. Empty for who may not read it. */
  readonly text: string | null;
  readonly isHidden: boolean;
}

/** A comparison that was false, or several that are true for themselves, but not of one related record. */
export interface FalseComparison {
  /** As it is written in the filter; empty for what the caller may not name. */
  readonly text: string;
  readonly position: number;
  readonly isHidden: boolean;
  /** Whether a value is that of another record, as it is now. */
  readonly isOfNow: boolean;
  /** The sides in the order in which they are written, two of each comparison. */
  readonly sides: readonly ComparedSide[];
}

export const changedMembers = ['events', 'collections', 'filter', 'owner'] as const;

export type ChangedMember = (typeof changedMembers)[number];

/** The parts of an event that decide who receives it. */
export interface ExplainedEvent {
  readonly position: number;
  readonly id: string;
  readonly kind: EventKind;
  /** The id of its collection. */
  readonly collection: string;
  readonly record: string;
  readonly created: string;
  readonly isExpunged: boolean;
}

/** Returns why an endpoint without a delivery has none, as far as that follows from its settings; undefined where its conditions decide. */
export function reasonOfSettings(
  endpoint: Pick<Endpoint, 'id' | 'created' | 'events' | 'collections' | 'owner' | 'transitions'>,
  event: ExplainedEvent,
  { undecidedAfter }: { readonly undecidedAfter: number | undefined },
): Reason | undefined {
  const { kind } = event;
  if (isTest(kind) || isAddressed(kind)) return 'other-endpoint';
  if (endpoint.created > event.created) return 'made-later';
  if (!endpoint.events.includes(kind)) return 'other-events';
  if (!wants(endpoint, event)) return isOperational(kind) ? 'about-itself' : 'other-collections';
  const isUndecided =
    endpoint.owner !== '' && undecidedAfter !== undefined && event.position > undecidedAfter;
  if (isUndecided) return 'undecided';
  return endpoint.transitions && kind === 'record.delete' ? 'not-held' : undefined;
}

const messages: Readonly<Record<Reason, string>> = {
  sent: 'It has a delivery of this event; see its status.',
  paused: 'It is paused: the delivery waits until it is resumed.',
  disabled: 'It was disabled after five days without a success: the delivery waits until it is resumed.',
  unverified: 'Its receiver has not been verified: the delivery waits until it is.',
  quota:
    'The instance has reached its quota deliveriesPerDay: the delivery waits until the next day begins, in UTC.',
  transition:
    'It has transitions, and was sent this change as an event of its own: the record came to match its conditions, or matches them no more.',
  'made-later': 'It was created after the event.',
  deleted: 'It was deleted.',
  'other-endpoint': 'The event is a test, or part of a backfill or a transition for another endpoint.',
  'other-events': 'It does not subscribe to events of this kind.',
  'other-collections': 'It does not subscribe to this collection.',
  'about-itself': 'Endpoints receive no events about themselves, and those of accounts none about endpoints.',
  undecided: 'It belongs to an account, and this event has not been matched yet.',
  filter: 'Its filter is false for this change.',
  'filter-unfit': 'Its filter does not fit this collection.',
  owner:
    'Its owner may not view the record by the view rule of the collection as it is now, or was deleted a moment ago.',
  'owner-deleted': ownerDeletedReason,
  'not-held': 'It has transitions, and was not sent the record before, so it is not told of its deletion.',
  changed: 'It was changed since, and would be sent this event now.',
  'related-changed':
    'It would be sent this event now: its filter, or what its owner may view, depends on other records or a rule, which have changed since.',
  expunged: 'The body of the event was expunged, so its filter can no longer be evaluated.',
  'collection-deleted': 'The collection was deleted, so its filter can no longer be evaluated.',
  'state-trimmed': 'Its filter compares the state before the change, which was trimmed from the log.',
  unknown: 'The reason could not be determined, or not in time.',
};

export function messageOf(reason: Reason): string {
  return messages[reason];
}
