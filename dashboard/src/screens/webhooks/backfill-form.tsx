import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import type { Endpoint } from '../../api/events.ts';
import { backfillCountQuery, type BackfillRequest, startBackfill } from '../../api/replays.ts';
import { Button } from '../../parts/button.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Estimate } from './estimate.tsx';

interface BackfillFormProps {
  readonly endpoint: Endpoint;
  readonly onStarted: (id: string) => void;
}

interface Choice {
  readonly collection: string;
  readonly filter: string;
  readonly rate: string;
}

/** Which records of which collection, and how many these are, before any is sent. */
export function BackfillForm({ endpoint, onStarted }: BackfillFormProps) {
  const [choice, setChoice] = useState<Choice>({ collection: '', filter: '', rate: '' });
  const [body, setBody] = useState<BackfillRequest>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const names = useNames(endpoint);
  const collection = choice.collection === '' ? (names[0] ?? '') : choice.collection;
  const count = useQuery({
    ...backfillCountQuery(endpoint.id, body ?? { collection }),
    enabled: body !== undefined,
  });
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
      onStarted(await startBackfill(endpoint.id, body));
    } catch (failure) {
      setError(failure);
      setIsBusy(false);
    }
  };
  const failure = error ?? count.error ?? undefined;
  const fields = failure instanceof Failure ? failure.fields : new Map<string, string>();
  const total = body === undefined || count.isFetching ? undefined : count.data;
  return (
    <form
      className="drawer-body endpoint-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (total === undefined) setBody(toRequest({ ...choice, collection }));
        else void start();
      }}
    >
      <div className="drawer-form">
        <p className="mono wrap">{endpoint.url}</p>
        <ChoiceFields choice={{ ...choice, collection }} names={names} onChange={change} fields={fields} />
        {failure !== undefined && fields.size === 0 && <FailureNotice error={failure} />}
        {body !== undefined && count.isFetching && <p role="status">Counting …</p>}
        {total !== undefined && <Estimate endpoint={endpoint} total={total} rate={body?.rate ?? 0} />}
      </div>
      <div className="drawer-foot">
        <span className="drawer-foot-note">Each is sent like a new one.</span>
        {total === undefined ? (
          <Button type="submit" tone="primary" disabled={count.isFetching || collection === ''}>
            Count
          </Button>
        ) : (
          <Button type="submit" tone="primary" disabled={isBusy || total === 0}>
            {total === 0 ? 'Nothing to send' : `Send ${total.toLocaleString('en')} ${records(total)}`}
          </Button>
        )}
      </div>
    </form>
  );
}

function records(count: number): string {
  return count === 1 ? 'record' : 'records';
}

/** The names of the collections of whose records the endpoint is told. */
function useNames({ collections }: Endpoint): readonly string[] {
  const all = useLoadedCollections() ?? [];
  return all
    .filter(({ id, name }) => !name.startsWith('_') && (collections.length === 0 || collections.includes(id)))
    .map(({ name }) => name)
    .toSorted();
}

function toRequest({ collection, filter, rate }: Choice): BackfillRequest {
  return {
    collection,
    ...(filter.trim() !== '' && { filter: filter.trim() }),
    ...(/^\d+$/.test(rate.trim()) && { rate: Number(rate.trim()) }),
  };
}

interface ChoiceFieldsProps {
  readonly choice: Choice;
  readonly names: readonly string[];
  readonly onChange: (part: Partial<Choice>) => void;
  readonly fields: ReadonlyMap<string, string>;
}

function ChoiceFields({ choice, names, onChange, fields }: ChoiceFieldsProps) {
  return (
    <>
      <p className="field-help">
        Sends the records that are there already, then what changes: none is missing, and none comes twice.
      </p>
      <LabelledField id="backfill-collection" label="Collection" error={fields.get('collection')}>
        <select
          id="backfill-collection"
          className="input"
          value={choice.collection}
          onChange={(event) => onChange({ collection: event.target.value })}
          {...errorAttributes('backfill-collection', fields.get('collection'))}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </LabelledField>
      <LabelledField
        id="backfill-filter"
        label="Filter"
        help="Tried on each record as it is now; empty for all."
        error={fields.get('filter')}
      >
        <input
          id="backfill-filter"
          className="input mono"
          placeholder="state = 'paid'"
          value={choice.filter}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange({ filter: event.target.value })}
          {...errorAttributes('backfill-filter', fields.get('filter'))}
        />
      </LabelledField>
      <LabelledField
        id="backfill-rate"
        label="Deliveries a second, at most"
        help="Empty for no limit but that of the endpoint."
        error={fields.get('rate')}
      >
        <input
          id="backfill-rate"
          className="input"
          inputMode="numeric"
          value={choice.rate}
          autoComplete="off"
          onChange={(event) => onChange({ rate: event.target.value })}
          {...errorAttributes('backfill-rate', fields.get('rate'))}
        />
      </LabelledField>
    </>
  );
}
