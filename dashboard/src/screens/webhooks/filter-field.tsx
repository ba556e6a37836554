import { useQuery } from '@tanstack/react-query';
import { filterTestQuery } from '../../api/endpoints.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import type { EndpointValues } from './endpoint-values.ts';

interface FilterFieldProps {
  readonly values: EndpointValues;
  readonly onChange: (change: Partial<EndpointValues>) => void;
  readonly error: string | undefined;
  /** Whether the service has said that nothing is wrong with what the form has now, or what. */
  readonly isChecked: boolean;
}

/** A condition on what the endpoint is told. With one collection it is tried on what has happened there last, while one types. */
export function FilterField({ values, onChange, error, isChecked }: FilterFieldProps) {
  const { filter, collections } = values;
  const [only, ...others] = collections;
  const isTried = only !== undefined && others.length === 0 && filter.trim() !== '';
  return (
    <LabelledField
      id="endpoint-filter"
      label="Filter"
      error={error}
      help="Sends only changes after which the record matches; empty for all. @old.state is the value before, state:changed = true means it is a new one."
    >
      <textarea
        id="endpoint-filter"
        className="input mono"
        rows={1}
        placeholder="state = 'paid' && state:changed = true"
        value={filter}
        spellCheck={false}
        onChange={(event) => onChange({ filter: event.target.value })}
        {...errorAttributes('endpoint-filter', error)}
      />
      {isTried && isChecked && error === undefined && (
        <FilterTrial filter={filter.trim()} collection={only} />
      )}
    </LabelledField>
  );
}

function FilterTrial({ filter, collection }: { readonly filter: string; readonly collection: string }) {
  const { data } = useQuery(filterTestQuery(filter, collection));
  if (data === undefined) return null;
  const { items, met } = data;
  const unknown = items.filter(({ isMet }) => isMet === null).length;
  return (
    <p className="field-help" role="status">
      {items.length === 0
        ? 'Nothing has happened there yet, to try it on.'
        : `Of the last ${items.length} changes, ${met} would have been sent.`}
      {unknown > 0 && ` Of ${unknown} it is not known what was before.`}
    </p>
  );
}
