import { useState } from 'react';
import { useLoadedCollections } from '../../api/collections.ts';
import type { Endpoint } from '../../api/events.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { plural } from '../../parts/time.tsx';
import { JobForm, type Narrowing, NarrowingFields, narrowingOf } from './job-form.tsx';

interface BackfillFormProps {
  readonly endpoint: Endpoint;
  readonly onStarted: (id: string) => void;
}

interface Choice extends Narrowing {
  /** Its name; empty for the first there is. */
  readonly collection: string;
}

/** Which records of which collection, and how many these are, before any is sent. */
export function BackfillForm({ endpoint, onStarted }: BackfillFormProps) {
  const [choice, setChoice] = useState<Choice>({ collection: '', filter: '', rate: '' });
  const names = useNames(endpoint);
  const collection = choice.collection || (names[0] ?? '');
  const change = (part: Partial<Choice>): void => setChoice({ ...choice, ...part });
  return (
    <JobForm
      endpoint={endpoint}
      choice={choice}
      toJob={() =>
        collection === '' ? undefined : { kind: 'backfill', body: { collection, ...narrowingOf(choice) } }
      }
      note="Each is sent as if it were just created."
      amount={(total) => plural(total, 'record')}
      onStarted={onStarted}
    >
      {(fields) => (
        <>
          <p className="field-help">
            Sends the records that are there already, then what changes: none is missing, and none comes
            twice.
          </p>
          <LabelledField id="backfill-collection" label="Collection" error={fields.get('collection')}>
            <select
              id="backfill-collection"
              className="input"
              value={collection}
              onChange={(event) => change({ collection: event.target.value })}
              {...errorAttributes('backfill-collection', fields.get('collection'))}
            >
              {names.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </LabelledField>
          <NarrowingFields
            values={choice}
            filterHelp="Tried on each record as it is now; empty for all."
            mayFilter
            fields={fields}
            onChange={change}
          />
        </>
      )}
    </JobForm>
  );
}

/** The names of the collections of whose records the endpoint is told. */
function useNames({ collections }: Endpoint): readonly string[] {
  const all = useLoadedCollections() ?? [];
  return all
    .filter(({ id, name }) => !name.startsWith('_') && (collections.length === 0 || collections.includes(id)))
    .map(({ name }) => name)
    .toSorted();
}
