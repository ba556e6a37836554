import { useLoadedCollections } from '../../api/collections.ts';
import type { Endpoint } from '../../api/events.ts';
import type { BackfillRequest } from '../../api/replays.ts';
import type { Part } from '../../parts/form/field.ts';
import { plural } from '../../parts/time.tsx';
import { chosenOf } from './endpoint-parts.ts';
import { filledIn, JobForm, narrowingFields } from './job-form.tsx';

interface BackfillFormProps {
  readonly endpoint: Endpoint;
  readonly onStarted: (id: string) => void;
}

/** Which records of which collection, and how many these are, before any is sent. */
export function BackfillForm({ endpoint, onStarted }: BackfillFormProps) {
  const collections = useLoadedCollections() ?? [];
  const names = chosenOf(endpoint.collections, collections)
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('_'))
    .toSorted();
  const parts: readonly Part[] = [
    {
      path: 'collection',
      kind: 'choice',
      label: 'Collection',
      choices: names.map((name) => ({ value: name, label: name })),
    },
    ...narrowingFields({
      help: 'Matched against current records. Leave empty to send all.',
      chosenOf: (form) => collections.filter(({ name }) => name === form.value('collection')),
      collections,
    }),
  ];
  return (
    <JobForm
      endpoint={endpoint}
      kind="backfill"
      parts={parts}
      values={{ collection: names[0] ?? '', filter: '', rate: null }}
      // The fields above.
      toJob={(values) => ({ kind: 'backfill', body: filledIn(values) as unknown as BackfillRequest })}
      note="Each is sent as if it were just created."
      amount={(total) => plural(total, 'record')}
      onStarted={onStarted}
    >
      <p className="field-help">Sends existing records, then changes, with no gaps and no duplicates.</p>
    </JobForm>
  );
}
