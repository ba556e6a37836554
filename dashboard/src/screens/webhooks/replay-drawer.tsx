import { useQuery } from '@tanstack/react-query';
import X from 'lucide-react/icons/x';
import { useState } from 'react';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { Failure } from '../../api/client.ts';
import { type ReplayRequest, replayCountQuery, replayQuery, startReplay } from '../../api/replays.ts';
import { useKeys } from '../../browser/keys.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { deliveries } from '../../parts/delivery-words.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { RadioList } from '../../parts/radio-list.tsx';
import { BackfillForm } from './backfill-form.tsx';
import { Estimate } from './estimate.tsx';
import { ReplayProgress } from './replay-progress.tsx';

interface ReplayDrawerProps {
  readonly endpoint: Endpoint;
  /** `new` for a replay that is still to begin, `backfill` for such a backfill. */
  readonly id: string;
  readonly onStarted: (id: string) => void;
  readonly onClose: () => void;
}

/**
 * Sends past events again, or existing records: first what that comes to, then how far it is. The address has its id, so a reload loses
 * nothing.
 */
export function ReplayDrawer({ endpoint, id, onStarted, onClose }: ReplayDrawerProps) {
  useKeys({ Escape: onClose });
  const { data } = useQuery({ ...replayQuery(id), enabled: id !== 'new' && id !== 'backfill' });
  const title = id === 'backfill' || data?.scope === 'backfill' ? 'Backfill' : 'Replay';
  return (
    <aside className="drawer" aria-label={title}>
      <header className="drawer-head">
        <div className="drawer-title">
          <h2>{title}</h2>
        </div>
        <IconButton label="Close" keys="esc" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      {id === 'new' && <ReplayForm endpoint={endpoint} onStarted={onStarted} />}
      {id === 'backfill' && <BackfillForm endpoint={endpoint} onStarted={onStarted} />}
      {id !== 'new' && id !== 'backfill' && <ReplayProgress endpoint={endpoint} id={id} />}
    </aside>
  );
}

type Scope = NonNullable<ReplayRequest['scope']>;

const scopes: readonly { readonly value: Scope; readonly label: string; readonly help: string }[] = [
  { value: 'failed', label: 'Failed', help: 'Given up, expired or cancelled.' },
  {
    value: 'missing',
    label: 'Missing',
    help: 'Events it subscribes to and never got, also from before it was made.',
  },
  { value: 'all', label: 'Everything', help: 'Also what was delivered already.' },
];

const sinces = [
  { hours: '1', label: 'Last hour' },
  { hours: '24', label: 'Last 24 hours' },
  { hours: '168', label: 'Last 7 days' },
  { hours: '', label: 'All that is kept' },
] as const;

const hourMs = 3_600_000;

interface Choice {
  readonly scope: Scope;
  readonly since: string;
  readonly filter: string;
  readonly rate: string;
}

interface ReplayFormProps {
  readonly endpoint: Endpoint;
  readonly onStarted: (id: string) => void;
}

function isSentWhole({ payload, fields, owner }: Endpoint): boolean {
  return payload !== 'thin' && fields.length === 0 && owner === '';
}

function ReplayForm({ endpoint, onStarted }: ReplayFormProps) {
  const [choice, setChoice] = useState<Choice>({ scope: 'failed', since: '', filter: '', rate: '' });
  const [body, setBody] = useState<ReplayRequest>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const count = useQuery({ ...replayCountQuery(endpoint.id, body ?? {}), enabled: body !== undefined });
  const change = (part: Partial<Choice>): void => {
    setChoice({ ...choice, ...part });
    // What is counted is what is sent: another choice has to be counted again.
    setBody(undefined);
    setError(undefined);
  };
  const start = async (): Promise<void> => {
    if (body === undefined) return;
    setIsBusy(true);
    try {
      onStarted(await startReplay(endpoint.id, body));
    } catch (failure) {
      setError(failure);
      setIsBusy(false);
    }
  };
  const failure = error ?? count.error ?? undefined;
  const fields = failure instanceof Failure ? failure.fields : new Map<string, string>();
  return (
    <form
      className="drawer-body endpoint-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (body === undefined) setBody(toRequest(choice));
        else void start();
      }}
    >
      <div className="drawer-form">
        <p className="mono wrap">{endpoint.url}</p>
        <ChoiceFields
          choice={choice}
          onChange={change}
          fields={fields}
          mayFilter={!isBoundToEndpoints() || isSentWhole(endpoint)}
        />
        {failure !== undefined && fields.size === 0 && <FailureNotice error={failure} />}
        {body !== undefined && count.isFetching && <p role="status">Counting …</p>}
        {body !== undefined && count.data !== undefined && !count.isFetching && (
          <Estimate endpoint={endpoint} total={count.data} rate={body.rate ?? 0} />
        )}
      </div>
      <div className="drawer-foot">
        <span className="drawer-foot-note">Repeats keep their webhook-id.</span>
        {body === undefined || count.data === undefined ? (
          <Button type="submit" tone="primary" disabled={count.isFetching}>
            Count
          </Button>
        ) : (
          <Button type="submit" tone="primary" disabled={isBusy || count.data === 0}>
            {count.data === 0 ? 'Nothing to send' : `Send ${deliveries(count.data)}`}
          </Button>
        )}
      </div>
    </form>
  );
}

function toRequest({ scope, since, filter, rate }: Choice): ReplayRequest {
  const from = new Date(Date.now() - Number(since) * hourMs).toISOString().replace('T', ' ');
  return {
    scope,
    ...(since !== '' && { since: from }),
    ...(filter.trim() !== '' && { filter: filter.trim() }),
    ...(/^\d+$/.test(rate.trim()) && { rate: Number(rate.trim()) }),
  };
}

interface ChoiceFieldsProps {
  readonly choice: Choice;
  readonly onChange: (part: Partial<Choice>) => void;
  readonly fields: ReadonlyMap<string, string>;
  /** A key for some endpoints may not, where these are sent parts of records only. */
  readonly mayFilter: boolean;
}

function ChoiceFields({ choice, onChange, fields, mayFilter }: ChoiceFieldsProps) {
  return (
    <>
      <RadioList
        label="Which deliveries"
        choices={scopes}
        value={choice.scope}
        onChange={(scope) => onChange({ scope })}
      />
      <LabelledField id="replay-since" label="Since" error={fields.get('since')}>
        <select
          id="replay-since"
          className="input"
          value={choice.since}
          onChange={(event) => onChange({ since: event.target.value })}
        >
          {sinces.map(({ hours, label }) => (
            <option key={hours} value={hours}>
              {label}
            </option>
          ))}
        </select>
      </LabelledField>
      {mayFilter && (
        <LabelledField
          id="replay-filter"
          label="Filter"
          help="Tried on the record as its event has it; empty for all."
          error={fields.get('filter')}
        >
          <input
            id="replay-filter"
            className="input mono"
            placeholder="state = 'paid'"
            value={choice.filter}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => onChange({ filter: event.target.value })}
            {...errorAttributes('replay-filter', fields.get('filter'))}
          />
        </LabelledField>
      )}
      <LabelledField
        id="replay-rate"
        label="Deliveries a second, at most"
        help="Empty for no limit but that of the endpoint."
        error={fields.get('rate')}
      >
        <input
          id="replay-rate"
          className="input"
          inputMode="numeric"
          value={choice.rate}
          autoComplete="off"
          onChange={(event) => onChange({ rate: event.target.value })}
          {...errorAttributes('replay-rate', fields.get('rate'))}
        />
      </LabelledField>
    </>
  );
}
