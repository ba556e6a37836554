import X from 'lucide-react/icons/x';
import { useState } from 'react';
import { useLoadedCollections } from '../api/collections.ts';
import { choicesOf } from '../api/members-of.ts';
import type { Surroundings } from '../api/events.ts';
import { isBoundToEndpoints } from '../api/session.ts';
import { Button } from './button.tsx';
import { Combobox } from './combobox.tsx';
import { eventKinds, statusNames } from './delivery-words.ts';
import { endpointName } from './endpoint-words.ts';
import { FindInput } from './find-input.tsx';
import { useFilterText } from './use-filter-text.ts';
import { decodeDeliveriesSearch, type DeliveriesSearch, isSpan } from './event-search.ts';

interface LogFiltersProps {
  readonly label: string;
  readonly search: DeliveriesSearch;
  readonly onChange: (search: DeliveriesSearch) => void;
  /** Whether deliveries are filtered, by their status as well. */
  readonly ofDeliveries?: boolean;
  /** The endpoints to choose from, where it is not the list of one. */
  readonly surroundings?: Surroundings | undefined;
}

/** What of the log is shown, as plain choices: no expression has to be learned for it. */
export function LogFilters(props: LogFiltersProps) {
  const { label, search, onChange, ofDeliveries = false, surroundings } = props;
  const set = (change: { readonly [name in keyof DeliveriesSearch]?: string }): void =>
    onChange(decodeDeliveriesSearch({ ...search, ...change }));
  const { sort: _sort, ...filters } = search;
  const isBound = isBoundToEndpoints();
  return (
    <search aria-label={label}>
      <TextFilter
        label="Search"
        placeholder={isBound ? 'Record id' : 'Record id, order number, address …'}
        value={search.find ?? ''}
        onChange={(find) => set({ find })}
      />
      {ofDeliveries && (
        <Combobox
          label="Status"
          none="All statuses"
          value={search.status ?? ''}
          choices={choicesOf(statusNames)}
          onChange={(status) => set({ status })}
        />
      )}
      {surroundings !== undefined && (
        <Combobox
          label="Endpoint"
          none="All endpoints"
          value={search.endpoint ?? ''}
          choices={[...surroundings.endpoints.values()].map((endpoint) => ({
            value: endpoint.id,
            label: endpointName(endpoint),
          }))}
          onChange={(endpoint) => set({ endpoint })}
        />
      )}
      <CollectionChoice value={search.collection ?? ''} onChange={(collection) => set({ collection })} />
      <Combobox
        label="Type"
        none="All types"
        value={search.kind ?? ''}
        choices={eventKinds.map((value) => ({ value, label: value }))}
        onChange={(kind) => set({ kind })}
      />
      {/* Made anew when the filters are cleared, as it knows whether dates were wanted. */}
      <TimeChoice key={String(Object.keys(filters).length === 0)} search={search} onChange={set} />
      <Chip name="Record" value={search.record} onClear={() => set({ record: '' })} />
      <Chip name="Cause" value={search.cause} onClear={() => set({ cause: '' })} />
      {Object.keys(filters).length > 0 && (
        <Button icon={X} tone="quiet" onClick={() => onChange({})}>
          Clear
        </Button>
      )}
    </search>
  );
}

interface ChipProps {
  readonly name: string;
  readonly value: string | undefined;
  readonly onClear: () => void;
}

/** A condition that a link has brought. */
function Chip({ name, value, onClear }: ChipProps) {
  if (value === undefined) return null;
  return (
    <button type="button" className="chip cause-chip" onClick={onClear}>
      <span className="cut">
        {name}: {value}
      </span>
      <X size={12} aria-hidden />
      <span className="unseen">Any {name.toLowerCase()}</span>
    </button>
  );
}

interface ChoiceProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function CollectionChoice({ value, onChange }: ChoiceProps) {
  const collections = useLoadedCollections() ?? [];
  const own = collections.filter(({ system }) => !system).map(({ name }) => name);
  // The log may have events of one that was renamed or deleted since.
  const names = value === '' || own.includes(value) ? own : [value, ...own];
  // An API key may not know which there are.
  if (names.length === 0) return null;
  const choices = names.map((name) => ({ value: name, label: name }));
  return <Combobox label="Collection" none="All collections" {...{ value, choices, onChange }} />;
}

interface TimeChoiceProps {
  readonly search: DeliveriesSearch;
  readonly onChange: (change: { readonly from?: string; readonly until?: string }) => void;
}

const times = choicesOf({
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  exact: 'Between …',
});

function TimeChoice({ search: { from = '', until = '' }, onChange }: TimeChoiceProps) {
  const [isExact, setIsExact] = useState((from !== '' && !isSpan(from)) || until !== '');
  return (
    <>
      <Combobox
        label="Time"
        none="Any time"
        value={isExact ? 'exact' : from}
        choices={times}
        onChange={(value) => {
          setIsExact(value === 'exact');
          if (value !== 'exact') onChange({ from: value, until: '' });
        }}
      />
      {isExact && (
        <>
          <TimeInput
            label="From"
            value={isSpan(from) ? '' : from}
            onChange={(value) => onChange({ from: value })}
          />
          <TimeInput label="Until" value={until} onChange={(value) => onChange({ until: value })} />
        </>
      )}
    </>
  );
}

interface TextFilterProps extends ChoiceProps {
  readonly label: string;
  readonly placeholder: string;
}

/** A text that is searched for once one pauses. */
function TextFilter({ label, placeholder, value, onChange }: TextFilterProps) {
  const [text, setText] = useFilterText({ filter: value, isExpression: () => false, onFilter: onChange });
  return <FindInput label={label} placeholder={placeholder} text={text} onText={setText} />;
}

interface TimeInputProps extends ChoiceProps {
  readonly label: string;
}

/** A moment in the time zone of the reader, kept as the browser writes it. */
function TimeInput({ label, value, onChange }: TimeInputProps) {
  return (
    <input
      className="input"
      type="datetime-local"
      step="1"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
