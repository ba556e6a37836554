import { useState } from 'react';
import { explainedChoicesOf } from '../../api/members-of.ts';
import type { Endpoint } from '../../api/events.ts';
import type { ReplayRequest } from '../../api/replays.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { deliveries } from '../../parts/delivery-words.ts';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { RadioList } from '../../parts/radio-list.tsx';
import { JobForm, type Narrowing, NarrowingFields, narrowingOf } from './job-form.tsx';

type Scope = NonNullable<ReplayRequest['scope']>;

const scopes = explainedChoicesOf<Scope>({
  failed: { label: 'Failed', help: 'Given up, expired or cancelled.' },
  missing: {
    label: 'Missing',
    help: 'Events it subscribes to and never got, also from before it was made.',
  },
  all: { label: 'Everything', help: 'Also what was delivered already.' },
});

const sinces = [
  { hours: '1', label: 'Last hour' },
  { hours: '24', label: 'Last 24 hours' },
  { hours: '168', label: 'Last 7 days' },
  { hours: '', label: 'The whole log' },
] as const;

const hourMs = 3_600_000;

interface Choice extends Narrowing {
  readonly scope: Scope;
  readonly since: string;
}

interface ReplayFormProps {
  readonly endpoint: Endpoint;
  readonly onStarted: (id: string) => void;
}

/** Which of the past deliveries, and how many these are, before any is sent. */
export function ReplayForm({ endpoint, onStarted }: ReplayFormProps) {
  const [choice, setChoice] = useState<Choice>({ scope: 'failed', since: '', filter: '', rate: '' });
  const change = (part: Partial<Choice>): void => setChoice({ ...choice, ...part });
  return (
    <JobForm
      endpoint={endpoint}
      choice={choice}
      toJob={(chosen) => ({ kind: 'replay', body: toRequest(chosen) })}
      note="Repeats keep their webhook-id."
      amount={deliveries}
      onStarted={onStarted}
    >
      {(fields) => (
        <>
          <RadioList
            label="Which deliveries"
            choices={scopes}
            value={choice.scope}
            onChange={(scope) => change({ scope })}
          />
          <LabelledField id="replay-since" label="Since" error={fields.get('since')}>
            <select
              id="replay-since"
              className="input"
              value={choice.since}
              onChange={(event) => change({ since: event.target.value })}
            >
              {sinces.map(({ hours, label }) => (
                <option key={hours} value={hours}>
                  {label}
                </option>
              ))}
            </select>
          </LabelledField>
          <NarrowingFields
            values={choice}
            filterHelp="Tried on the record as its event has it; empty for all."
            mayFilter={!isBoundToEndpoints() || isSentWhole(endpoint)}
            fields={fields}
            onChange={change}
          />
        </>
      )}
    </JobForm>
  );
}

function isSentWhole({ payload, fields, owner }: Endpoint): boolean {
  return payload !== 'thin' && fields.length === 0 && owner === '';
}

function toRequest({ scope, since, ...narrowing }: Choice): ReplayRequest {
  const from = new Date(Date.now() - Number(since) * hourMs).toISOString().replace('T', ' ');
  return { scope, ...(since !== '' && { since: from }), ...narrowingOf(narrowing) };
}
