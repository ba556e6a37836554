import { useOwnCollections } from '../../api/collections.ts';
import { explainedChoicesOf } from '../../api/members-of.ts';
import type { Endpoint } from '../../api/events.ts';
import type { ReplayRequest } from '../../api/replays.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { deliveries } from '../../parts/delivery-words.ts';
import type { Field, Values } from '../../parts/form/field.ts';
import { chosenOf } from './endpoint-parts.ts';
import { filledIn, JobForm, narrowingFields } from './job-form.tsx';

const chosen: readonly Field[] = [
  {
    path: 'scope',
    kind: 'choice',
    label: 'Which deliveries',
    choices: explainedChoicesOf<NonNullable<ReplayRequest['scope']>>({
      failed: { label: 'Failed', help: 'Exhausted, expired or cancelled.' },
      missing: {
        label: 'Missing',
        help: 'Subscribed events it never received, including those from before it was created.',
      },
      all: { label: 'Everything', help: 'Including delivered ones.' },
    }),
  },
  {
    path: 'since',
    kind: 'choice',
    label: 'Since',
    choices: [
      { value: 1, label: 'Last hour' },
      { value: 24, label: 'Last 24 hours' },
      { value: 168, label: 'Last 7 days' },
      { value: 0, label: 'The whole log' },
    ],
  },
];

const hourMs = 3_600_000;

interface ReplayFormProps {
  readonly endpoint: Endpoint;
  readonly onStarted: (id: string) => void;
}

/** Which of the past deliveries, and how many these are, before any is sent. */
export function ReplayForm({ endpoint, onStarted }: ReplayFormProps) {
  const collections = useOwnCollections();
  const mayFilter = !isBoundToEndpoints() || isSentWhole(endpoint);
  return (
    <JobForm
      endpoint={endpoint}
      kind="replay"
      parts={[
        ...chosen,
        ...narrowingFields({
          help: 'Matched against the record in the event. Leave empty to send all.',
          mayFilter,
          chosenOf: () => chosenOf(endpoint.collections, collections),
          collections,
        }),
      ]}
      values={{ scope: 'failed', since: 0, filter: '', rate: null }}
      toJob={(values) => ({ kind: 'replay', body: toRequest(values) })}
      note="Repeats keep their webhook-id."
      amount={deliveries}
      onStarted={onStarted}
    />
  );
}

function isSentWhole({ payload, fields, owner }: Endpoint): boolean {
  return payload !== 'thin' && fields.length === 0 && owner === '';
}

function toRequest({ since, ...rest }: Values): ReplayRequest {
  const from = new Date(Date.now() - Number(since) * hourMs).toISOString().replace('T', ' ');
  return { ...filledIn(rest), ...(since !== 0 && { since: from }) };
}
