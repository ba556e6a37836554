import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { call, client, type Collection, type RecordModel } from '../../api/client.ts';
import { presentableFields } from '../../api/collections.ts';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';

interface RecordPickerProps {
  readonly label: string;
  readonly collection: Collection;
  readonly value: string;
  readonly onChange: (id: string) => void;
}

const shownCount = 6;

/** One record of a collection, found by its id or by what stands for it. */
export function RecordPicker({ label, collection, value, onChange }: RecordPickerProps) {
  const id = useId();
  const [text, setText] = useState('');
  const { data, error } = useQuery({
    queryKey: ['records', collection.name, 'pick', text],
    queryFn: async ({ signal }) => {
      const filter = searchFilter(collection, text);
      const query = {
        perPage: shownCount,
        skipTotal: true,
        sort: '-@rowid',
        ...(filter !== '' && { filter }),
      };
      const answer = await call('GET /api/collections/{collection}/records', {
        path: { collection: collection.name },
        query,
        signal,
      });
      return answer.items;
    },
    placeholderData: (before) => before,
  });
  const items = data ?? [];
  return (
    <LabelledField id={id} label={label}>
      <input
        id={id}
        className="input"
        placeholder={`Search in ${collection.name}`}
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
      />
      {error !== null && <FailureNotice error={error} />}
      <div className="picker" role="radiogroup" aria-label={label}>
        {items.map((record) => (
          <button
            key={record.id}
            type="button"
            role="radio"
            aria-checked={record.id === value}
            className="picker-item"
            onClick={() => onChange(record.id)}
          >
            <span className="cut">{labelOf(collection, record)}</span>
            <span className="mono faint">{record.id}</span>
          </button>
        ))}
        {data !== undefined && items.length === 0 && (
          <p className="soft picker-none">
            {text === '' ? `${collection.name} has no records yet.` : 'No results.'}
          </p>
        )}
        {value !== '' && !items.some((record) => record.id === value) && (
          <p className="soft picker-none">
            Chosen: <span className="mono">{value}</span>
          </p>
        )}
      </div>
    </LabelledField>
  );
}

function searchFilter(collection: Collection, text: string): string {
  if (text.trim() === '') return '';
  const names = presentableFields(collection)
    .filter(({ type }) => type === 'text' || type === 'email')
    .map(({ name }) => name);
  const terms = ['id', ...names].map((name) => `${name} ~ {:text}`);
  return client.filter(terms.join(' || '), { text: text.trim() });
}

function labelOf(collection: Collection, record: RecordModel): string {
  const texts = presentableFields(collection).map(({ name }) => {
    const value: unknown = record[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  });
  return texts.filter((text) => text !== '').join(' · ') || record.id;
}
