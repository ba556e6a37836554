import type { EndpointExplanation, FalseComparison } from '../api/explanations.ts';
import type { Event } from '../api/events.ts';

type Reason = EndpointExplanation['reason'];

/** Why an endpoint was not sent an event, in about five words. */
export function unsentTitle({ reason }: EndpointExplanation, { kind, collection }: Event): string {
  switch (reason) {
    case 'other-events':
      return `Not subscribed to ${kind}`;
    case 'other-collections':
      return `Not subscribed to ${collection}`;
    default:
      return titles[reason];
  }
}

const titles: Readonly<Record<Exclude<Reason, 'other-events' | 'other-collections'>, string>> = {
  sent: 'Sent',
  paused: 'Endpoint paused',
  disabled: 'Endpoint disabled',
  unverified: 'Endpoint not verified',
  quota: 'Daily quota used up',
  transition: 'Sent as a transition',
  'made-later': 'Created after this event',
  deleted: 'Endpoint deleted',
  'other-endpoint': 'For another endpoint',
  'about-itself': 'No events about itself',
  undecided: 'Not decided yet',
  filter: 'Filter is false',
  'filter-unfit': 'Filter does not fit collection',
  owner: 'Owner may not view record',
  'owner-deleted': 'Owner was deleted',
  'not-held': 'Never had the record',
  changed: 'Matches only since its change',
  'related-changed': 'Matches only since related changes',
  expunged: 'Event body was removed',
  'collection-deleted': 'Collection was deleted',
  'state-trimmed': 'Previous state not kept',
  unknown: 'Reason could not be determined',
};

/** The first are those that somebody may not expect. */
const ranks: readonly (readonly Reason[])[] = [
  ['filter', 'filter-unfit', 'owner', 'owner-deleted', 'changed', 'related-changed'],
  ['undecided', 'expunged', 'collection-deleted', 'state-trimmed', 'unknown'],
  ['other-events', 'other-collections'],
  [
    'made-later',
    'not-held',
    'about-itself',
    'other-endpoint',
    'sent',
    'transition',
    'paused',
    'disabled',
    'unverified',
    'quota',
    'deleted',
  ],
];

/** Smaller for what comes first. */
export function unsentRank({ reason }: EndpointExplanation): number {
  return ranks.findIndex((reasons) => reasons.includes(reason));
}

/** Whether somebody may have expected the endpoint to be sent the event. */
export function isUnexpected(explanation: EndpointExplanation): boolean {
  return !explanation.isSent && unsentRank(explanation) === 0;
}

/** What the title does not say, in the words of the service; empty where it says it all. */
export function unsentDetail(explanation: EndpointExplanation): string {
  const { reason, message, comparisons } = explanation;
  const isSaid = unsentRank(explanation) > 1 || reason.startsWith('owner');
  return isSaid || (reason === 'filter' && comparisons.length > 0) ? '' : message;
}

/** What makes the reason less sure: settings and records that are not those of the time of the event. */
export function unsentCaveats({ changed, isOfNow, isWhole }: EndpointExplanation): readonly string[] {
  return [
    ...(changed === null
      ? ['The endpoint changed after this event. Checked against its current settings.']
      : []),
    ...(changed !== null && changed.length > 0
      ? [`Changed after this event: ${changed.join(', ')}. Checked against current settings.`]
      : []),
    ...(isOfNow ? ['Related records are checked in their current state.'] : []),
    ...(isWhole ? [] : ['Fields added or renamed since then count as empty.']),
  ];
}

/** A false comparison with the values in the place of its operands: `"open" = "paid"`; undefined where it has more than one operator. */
export function comparedValues({ text, sides }: FalseComparison): string | undefined {
  const [left, right, ...others] = sides;
  if (left === undefined || right === undefined || others.length > 0) return undefined;
  if (!text.startsWith(left.text) || !text.endsWith(right.text)) return undefined;
  const operator = text.slice(left.text.length, text.length - right.text.length).trim();
  return `${valueText(left.values)} ${operator} ${valueText(right.values)}`;
}

/** The values of one side, as JSON. A relation without records has none. */
export function valueText(values: readonly unknown[]): string {
  if (values.length === 0) return 'no value';
  return values.map((value) => JSON.stringify(value)).join(', ');
}
