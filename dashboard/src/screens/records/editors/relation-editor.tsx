import { keepPreviousData, useQuery } from '@tanstack/react-query';
import Plus from 'lucide-react/icons/plus';
import { useState } from 'react';
import { call, type Collection } from '../../../api/client.ts';
import type { FieldOf } from '../../../api/collections.ts';
import { Button } from '../../../parts/button.tsx';
import { Finder } from '../../../parts/combobox.tsx';
import { Popover } from '../../../parts/popover.tsx';
import { recordLabel } from '../cell-value.tsx';
import { toFilter } from '../record-filter.ts';
import { RelatedRecords } from '../related-records.tsx';

interface RelationEditorProps {
  readonly id: string;
  readonly field: FieldOf<'relation'>;
  readonly value: unknown;
  readonly collections: readonly Collection[];
  readonly onChange: (value: string | readonly string[]) => void;
}

/** The related records as chips, and a search for others. */
export function RelationEditor({ id, field, value, collections, onChange }: RelationEditorProps) {
  const target = collections.find((collection) => collection.id === field.collectionId);
  const ids = [value ?? []]
    .flat()
    .map(String)
    .filter((one) => one !== '');
  const isSingle = field.maxSelect <= 1;
  if (target === undefined) return <p className="soft">The related collection was deleted.</p>;
  const set = (next: readonly string[]): void => onChange(isSingle ? (next.at(-1) ?? '') : next);
  return (
    <div className="relation">
      <RelatedRecords
        target={target}
        ids={ids}
        onRemove={(one) => set(ids.filter((other) => other !== one))}
      />
      {(isSingle || ids.length < field.maxSelect) && (
        <Popover
          label={`Choose from ${target.name}`}
          className="combobox-list"
          align="start"
          trigger={
            <Button icon={Plus} id={id}>
              {isSingle && ids.length > 0 ? 'Choose another' : `Choose from ${target.name}`}
            </Button>
          }
        >
          {(close) => (
            <RecordFinder
              target={target}
              chosen={ids}
              onChoose={(one) => {
                set([...ids, one]);
                if (isSingle) close();
              }}
            />
          )}
        </Popover>
      )}
    </div>
  );
}

interface RecordFinderProps {
  readonly target: Collection;
  readonly chosen: readonly string[];
  readonly onChoose: (id: string) => void;
}

const shownMax = 20;

function RecordFinder({ target, chosen, onChoose }: RecordFinderProps) {
  const [text, setText] = useState('');
  const filter = toFilter(target, text);
  const { data = [] } = useQuery({
    queryKey: ['records', target.name, 'search', filter],
    queryFn: async ({ signal }) => {
      // Some of them are chosen already.
      const query = { perPage: 200, skipTotal: true, ...(filter !== '' && { filter }) };
      const path = { collection: target.name };
      return (await call('GET /api/collections/{collection}/records', { path, query, signal })).items;
    },
    placeholderData: keepPreviousData,
  });
  const choices = data
    .filter((record) => !chosen.includes(record.id))
    .slice(0, shownMax)
    .map((record) => ({
      value: record.id,
      label: recordLabel(target, record) || record.id,
      note: record.id,
    }));
  return <Finder label={target.name} value="" choices={choices} onText={setText} onChoose={onChoose} />;
}
