import { useQuery } from '@tanstack/react-query';
import ChevronRight from 'lucide-react/icons/chevron-right';
import { useEffect, useState, type ReactNode } from 'react';
import { fieldMessages } from '../../api/client.ts';
import { type EndpointCheck, endpointCheckQuery } from '../../api/endpoints.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import {
  draftOf,
  encodeValues,
  eventKinds,
  type EndpointValues,
  kindLabels,
  operationalKinds,
} from './endpoint-values.ts';
import { EndpointLimits } from './endpoint-limits.tsx';
import { FilterField } from './filter-field.tsx';
import { Forecast } from './forecast.tsx';

export interface EndpointFormProps {
  readonly values: EndpointValues;
  readonly onChange: (change: Partial<EndpointValues>) => void;
  /** Of the endpoint that is changed; undefined for a new one. */
  readonly id: string | undefined;
  /** What the service has refused when it was to be saved. */
  readonly refused: ReadonlyMap<string, string>;
  /** Beside the URL. */
  readonly urlAside?: ReactNode;
}

/** Where webhooks go, which ones, and how. Whatever is typed is checked by the service while one types; nothing is sent there. */
export function EndpointForm({ values, onChange, id, refused, urlAside }: EndpointFormProps) {
  const { check, isCurrent, error, problems } = useCheck(values, id, refused);
  const isUrlFine = values.url.trim() !== '' && check?.url.isAllowed === true && !problems.has('url');
  return (
    <>
      <LabelledField
        id="endpoint-url"
        label="URL"
        isRequired
        aside={urlAside}
        error={problems.get('url')}
        help={isUrlFine ? 'The service may send there.' : 'Where each webhook is sent, by POST.'}
      >
        <input
          id="endpoint-url"
          className="input mono"
          type="url"
          placeholder="https://example.com/webhooks"
          value={values.url}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange({ url: event.target.value })}
          {...errorAttributes('endpoint-url', problems.get('url'))}
        />
      </LabelledField>
      {check?.url.remedy !== undefined && !check.url.isAllowed && values.url !== '' && (
        <p className="field-help">
          As the operator you can allow it: start the service with{' '}
          <span className="mono">{check.url.remedy}</span>
        </p>
      )}
      <LabelledField id="endpoint-description" label="Description" error={problems.get('description')}>
        <input
          id="endpoint-description"
          className="input"
          value={values.description}
          maxLength={1000}
          placeholder="What it is for, and whose"
          onChange={(event) => onChange({ description: event.target.value })}
          {...errorAttributes('endpoint-description', problems.get('description'))}
        />
      </LabelledField>
      <ToldFields
        values={values}
        onChange={onChange}
        problems={problems}
        isChecked={isCurrent}
        warnings={(isCurrent && check?.warnings) || []}
      />
      <ScheduleFields values={values} onChange={onChange} error={problems.get('schedule')} />
      <Forecast check={check} />
      {error !== null && <FailureNotice error={error} />}
      <details
        className="endpoint-more"
        open={[...problems.keys()].some((path) => limitNames.has(path.split('.')[0] ?? '')) || undefined}
      >
        <summary>
          <ChevronRight size={13} aria-hidden />
          {isBoundToEndpoints()
            ? 'Headers, order and limits'
            : 'Name, owner, headers, payload, order and limits'}
        </summary>
        <EndpointLimits values={values} onChange={onChange} problems={problems} />
      </details>
    </>
  );
}

const limitNames: ReadonlySet<string> = new Set([
  'name',
  'owner',
  'payload',
  'fields',
  'headers',
  'contact',
  'oauth2',
  'order',
  'onExhausted',
  'timeoutMs',
  'maxInFlight',
  'rateLimit',
  'maxAgeSeconds',
]);

const pauseMs = 300;

function useCheck(
  values: EndpointValues,
  id: string | undefined,
  refused: ReadonlyMap<string, string>,
): {
  readonly check: EndpointCheck | undefined;
  /** Whether it is of what the form has now. */
  readonly isCurrent: boolean;
  readonly error: unknown;
  readonly problems: ReadonlyMap<string, string>;
} {
  const encoded = encodeValues(values);
  const text = JSON.stringify(draftOf(encoded, id));
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  // It is what was made of a draft above.
  const draft = JSON.parse(settled) as ReturnType<typeof draftOf>;
  const { data: check, error, isPlaceholderData } = useQuery(endpointCheckQuery(draft));
  const told = new Map(fieldMessages(check?.problems, ''));
  if (values.url.trim() === '') told.delete('url');
  const isCurrent = settled === text && check !== undefined && !isPlaceholderData;
  return { check, isCurrent, error, problems: new Map([...told, ...refused, ...encoded.problems]) };
}

interface ToldFieldsProps {
  readonly values: EndpointValues;
  readonly onChange: EndpointFormProps['onChange'];
  readonly problems: ReadonlyMap<string, string>;
  readonly isChecked: boolean;
  readonly warnings: readonly string[];
}

/** What the endpoint is told of. */
function ToldFields({ values, onChange, problems, isChecked, warnings }: ToldFieldsProps) {
  if (isBoundToEndpoints()) return <ToldFacts values={values} />;
  const shared = { values, onChange };
  return (
    <>
      <EventChoice {...shared} error={problems.get('events')} />
      <CollectionChoice {...shared} error={problems.get('collections')} />
      <FilterField {...shared} error={problems.get('filter')} isChecked={isChecked} warnings={warnings} />
    </>
  );
}

interface PartProps {
  readonly values: EndpointValues;
  readonly onChange: EndpointFormProps['onChange'];
  readonly error: string | undefined;
}

function EventChoice({ error, ...part }: PartProps) {
  return (
    <>
      <LabelledField id="endpoint-events" label="Events" isGroup error={error}>
        <KindChoices {...part} kinds={eventKinds} />
      </LabelledField>
      <LabelledField
        id="endpoint-operational"
        label="Events of other endpoints"
        isGroup
        help="For alerts, whatever the collections. An endpoint gets none about itself."
      >
        <KindChoices {...part} kinds={operationalKinds} />
      </LabelledField>
    </>
  );
}

interface KindChoicesProps extends Omit<PartProps, 'error'> {
  readonly kinds: EndpointValues['events'];
}

function KindChoices({ values: { events }, onChange, kinds }: KindChoicesProps) {
  return (
    <div className="choices">
      {kinds.map((kind) => (
        <button
          key={kind}
          type="button"
          className="choice"
          title={kind}
          aria-pressed={events.includes(kind)}
          onClick={() => {
            const without = events.filter((one) => one !== kind);
            onChange({ events: without.length < events.length ? without : [...events, kind] });
          }}
        >
          {kindLabels[kind]}
        </button>
      ))}
    </div>
  );
}

function CollectionChoice({ values: { collections: chosen }, onChange, error }: PartProps) {
  const collections = useLoadedCollections()?.filter(({ system }) => !system) ?? [];
  return (
    <LabelledField
      id="endpoint-collections"
      label="Collections"
      isGroup
      error={error}
      help={chosen.length === 0 ? 'Includes collections made later.' : undefined}
    >
      <div className="choices">
        <button
          type="button"
          className="choice"
          aria-pressed={chosen.length === 0}
          onClick={() => onChange({ collections: [] })}
        >
          All
        </button>
        {collections.map(({ id, name }) => (
          <button
            key={id}
            type="button"
            className="choice"
            aria-pressed={chosen.includes(id)}
            onClick={() => {
              const without = chosen.filter((one) => one !== id);
              onChange({ collections: without.length < chosen.length ? without : [...chosen, id] });
            }}
          >
            {name}
          </button>
        ))}
      </div>
    </LabelledField>
  );
}

/** What the endpoint is told, for an API key that may not change that. */
function ToldFacts({ values: { events, collections, payload, fields, filter } }: Pick<PartProps, 'values'>) {
  const names = events.map((kind) => kindLabels[kind].toLowerCase()).join(', ');
  const part = payload === 'thin' ? 'Its id alone' : fields === '' ? 'All of its fields' : fields;
  return (
    <section className="section" aria-labelledby="endpoint-told">
      <h2 id="endpoint-told">What it is told</h2>
      <dl className="facts">
        <dt>When a record is</dt>
        <dd>{names}</dd>
        <dt>Collections</dt>
        <dd>{collections.length === 0 ? 'All' : collections.length.toLocaleString('en')}</dd>
        {filter !== '' && (
          <>
            <dt>If</dt>
            <dd className="mono">{filter}</dd>
          </>
        )}
        <dt>Of a record</dt>
        <dd>{part}</dd>
      </dl>
      <p className="soft small">Only whoever made the endpoint can change this.</p>
    </section>
  );
}

function ScheduleFields({ values, onChange, error }: PartProps) {
  const { schedule, isOnce } = values;
  return (
    <LabelledField
      id="endpoint-schedule"
      label="Retries after"
      error={error}
      aside={
        <label className="check">
          <input
            type="checkbox"
            checked={isOnce}
            onChange={(event) => onChange({ isOnce: event.target.checked })}
          />
          A single attempt
        </label>
      }
    >
      <input
        id="endpoint-schedule"
        className="input"
        placeholder="The standard: 15 attempts in about 76 hours"
        value={schedule}
        disabled={isOnce}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange({ schedule: event.target.value })}
        {...errorAttributes('endpoint-schedule', error)}
      />
    </LabelledField>
  );
}
