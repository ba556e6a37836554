import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call, client, type Collection, type RecordModel } from '../../api/client.ts';
import { presentableFields } from '../../api/collections.ts';
import { recordsByIdQuery } from '../../api/records.ts';
import { Combobox } from '../../parts/combobox.tsx';
import { FailureNotice } from '../../parts/notice.tsx';

interface RecordPickerProps {
  readonly id: string;
  readonly label: string;
  readonly collection: Collection;
  readonly value: string;
  readonly onChange: (id: string) => void;
}

const shownCount = 20;

/** One record of a collection, found by its id or by what stands for it. */
export function RecordPicker({ id, label, collection, value, onChange }: RecordPickerProps) {
  const [text, setText] = useState('');
  const { data: found = [], error } = useQuery({
    queryKey: ['records', collection.name, 'pick', text],
    queryFn: async ({ signal }) => {
      const filter = searchFilter(collection, text);
      const query = {
        perPage: shownCount,
        skipTotal: true,
        sort: '-@rowid',
        ...(filter !== '' && { filter }),
      };
      const path = { collection: collection.name };
      return (await call('GET /api/collections/{collection}/records', { path, query, signal })).items;
    },
    placeholderData: (before) => before,
  });
  const { data: [chosen] = [] } = useQuery({
    ...recordsByIdQuery(collection.name, [value]),
    enabled: value !== '',
  });
  const isFound = found.some((record) => record.id === value);
  const records = chosen === undefined || isFound || text !== '' ? found : [chosen, ...found];
  return (
    <>
      <Combobox
        id={id}
        label={label}
        value={value}
        choices={records.map((record) => ({
          value: record.id,
          label: labelOf(collection, record),
          note: record.id,
        }))}
        onText={setText}
        onChange={onChange}
      />
      {error !== null && <FailureNotice error={error} />}
    </>
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
