import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Plus from 'lucide-react/icons/plus';
import X from 'lucide-react/icons/x';
import { useState, type KeyboardEvent } from 'react';
import { call, type Collection, client, type RecordModel } from '../../../api/client.ts';
import type { FieldOf } from '../../../api/collections.ts';
import { Button, IconButton } from '../../../parts/button.tsx';
import { Popover } from '../../../parts/popover.tsx';
import { recordLabel } from '../cell-value.tsx';
import { toFilter } from '../record-filter.ts';

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
  const ids = (Array.isArray(value) ? value : [value])
    .filter((one) => typeof one === 'string' && one !== '')
    .map(String);
  const records = useRecords(target, ids);
  const isSingle = field.maxSelect <= 1;
  if (target === undefined) return <p className="soft">The related collection was deleted.</p>;
  const set = (next: readonly string[]): void => onChange(isSingle ? (next.at(-1) ?? '') : next);
  return (
    <div className="relation">
      {ids.length > 0 && (
        <div className="relation-list">
          {ids.map((one) => {
            const record = records.find((candidate) => candidate.id === one);
            const label = record === undefined ? '' : recordLabel(target, record);
            return (
              <span key={one} className="chip">
                <Link
                  to="/c/$collection"
                  params={{ collection: target.name }}
                  search={{ record: one }}
                  className="cut"
                >
                  {label === '' ? <span className="mono">{one}</span> : label}
                </Link>
                <IconButton
                  small
                  label={`Remove ${label || one}`}
                  onClick={() => set(ids.filter((other) => other !== one))}
                >
                  <X size={12} aria-hidden />
                </IconButton>
              </span>
            );
          })}
        </div>
      )}
      {(isSingle || ids.length < field.maxSelect) && (
        <RecordSearch
          id={id}
          target={target}
          chosen={ids}
          isSingle={isSingle}
          onChoose={(one) => set([...ids, one])}
        />
      )}
    </div>
  );
}

function useRecords(target: Collection | undefined, ids: readonly string[]): readonly RecordModel[] {
  const { data } = useQuery({
    queryKey: ['records', target?.name, 'by-ids', ids.toSorted()],
    queryFn: async ({ signal }) => {
      const filter = ids.map((one) => client.filter('id = {:one}', { one })).join(' || ');
      return listSome(target?.name ?? '', filter, signal);
    },
    enabled: target !== undefined && ids.length > 0,
    placeholderData: keepPreviousData,
  });
  return data ?? [];
}

const shownMax = 20;

async function listSome(
  collection: string,
  filter: string,
  signal: AbortSignal,
): Promise<readonly RecordModel[]> {
  const query = { perPage: 200, skipTotal: true, ...(filter !== '' && { filter }) };
  return (await call('GET /api/collections/{collection}/records', { path: { collection }, query, signal }))
    .items;
}

interface RecordSearchProps {
  readonly id: string;
  readonly target: Collection;
  readonly chosen: readonly string[];
  readonly isSingle: boolean;
  readonly onChoose: (id: string) => void;
}

function RecordSearch(props: RecordSearchProps) {
  const { id, target, chosen, isSingle } = props;
  return (
    <Popover
      label={`Choose from ${target.name}`}
      align="start"
      trigger={
        <Button id={id}>
          <Plus size={14} aria-hidden />
          {isSingle && chosen.length > 0 ? 'Choose another' : `Choose from ${target.name}`}
        </Button>
      }
    >
      {(close) => <RecordFinder {...props} onClose={close} />}
    </Popover>
  );
}

function RecordFinder({
  id,
  target,
  chosen,
  isSingle,
  onChoose,
  onClose,
}: RecordSearchProps & { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [position, setPosition] = useState(0);
  const filter = toFilter(target, text);
  const { data = [] } = useQuery({
    queryKey: ['records', target.name, 'search', filter],
    queryFn: async ({ signal }) => listSome(target.name, filter, signal),
    placeholderData: keepPreviousData,
  });
  const choices = data.filter((record) => !chosen.includes(record.id)).slice(0, shownMax);
  const choose = (record: RecordModel | undefined): void => {
    if (record === undefined) return;
    onChoose(record.id);
    setText('');
    if (isSingle) onClose();
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') choose(choices[position]);
    else if (step !== undefined && choices.length > 0)
      setPosition((position + step + choices.length) % choices.length);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        className="input"
        role="combobox"
        aria-label={`Search in ${target.name}`}
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={choices[position] === undefined ? undefined : `${id}-choice-${position}`}
        placeholder="Search"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setPosition(0);
        }}
        onKeyDown={press}
      />
      <Choices
        id={id}
        target={target}
        records={choices}
        position={position}
        onHover={setPosition}
        onChoose={choose}
      />
    </>
  );
}

interface ChoicesProps {
  readonly id: string;
  readonly target: Collection;
  readonly records: readonly RecordModel[];
  readonly position: number;
  readonly onHover: (position: number) => void;
  readonly onChoose: (record: RecordModel) => void;
}

function Choices({ id, target, records, position, onHover, onChoose }: ChoicesProps) {
  if (records.length === 0) return <p className="menu-label">No records</p>;
  return (
    <div id={`${id}-list`} role="listbox" aria-label={target.name}>
      {records.map((record, index) => (
        <div
          key={record.id}
          id={`${id}-choice-${index}`}
          className="menu-item"
          role="option"
          aria-selected={index === position}
          onPointerMove={() => onHover(index)}
          onClick={() => onChoose(record)}
        >
          <span className="cut">{recordLabel(target, record) || record.id}</span>
          <span className="menu-end mono">{record.id}</span>
        </div>
      ))}
    </div>
  );
}
