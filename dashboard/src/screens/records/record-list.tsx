import ArrowUp from 'lucide-react/icons/arrow-up';
import Plus from 'lucide-react/icons/plus';
import SearchX from 'lucide-react/icons/search-x';
import { lazy, Suspense, useState } from 'react';
import { apiUrl, type Collection, Failure } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { collectionIcons } from '../../parts/collection-icon.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { showToast } from '../../parts/toast.tsx';
import type { Columns } from './column-layout.ts';
import { FilterBar } from './filter-bar.tsx';
import { useLiveRows } from './live-rows.ts';
import { PlaceholderRows } from './placeholder-rows.tsx';
import { toFilter } from './record-filter.ts';
import { RecordGrid } from './record-grid.tsx';
import { parseSort } from './record-search.ts';
import { type RecordRows, useRecordPages } from './use-record-pages.ts';
import { ViewMenu } from './view-menu.tsx';
import { type Selection, useSelection } from '../../parts/data-table/use-selection.ts';

const BulkBar = lazy(async () => ({ default: (await import('./bulk-bar.tsx')).BulkBar }));

interface RecordListProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly columns: Columns;
  readonly filter: string;
  readonly sort: string;
  readonly openId: string | undefined;
  readonly page: number;
  readonly onPage: (page: number) => void;
  readonly onClose: () => void;
  readonly onFilter: (filter: string) => void;
  readonly onSort: (field: string, adds: boolean) => void;
  readonly onOpen: (id: string) => void;
}

/** The filter, what it selects, and why it selects nothing. */
export function RecordList(props: RecordListProps) {
  const { collection, collections, columns, filter, sort, onFilter, onOpen } = props;
  const { expression, list, rows, live, selection, refusal, isNothing } = useRecords(props);
  return (
    <section className="records-list" aria-label={collection.name}>
      <FilterBar
        collection={collection}
        collections={collections}
        filter={filter}
        onFilter={onFilter}
        count={list.error === undefined ? list.count : undefined}
        error={refusal?.message}
      >
        <ViewMenu collection={collection} columns={columns} filter={filter} sort={sort} />
      </FilterBar>
      {live.newCount > 0 && (
        <button type="button" className="new-rows" onClick={() => void live.showNew()}>
          <ArrowUp size={13} aria-hidden />
          {live.newCount} new
        </button>
      )}
      {list.error !== undefined && refusal === undefined && (
        <FailureNotice error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isPending && <PlaceholderRows columns={columns} />}
      {isNothing && (
        <NoRecords collection={collection} isFiltered={filter !== ''} onFilter={onFilter} onOpen={onOpen} />
      )}
      {rows.total > 0 && !list.isPending && refusal === undefined && (
        <RecordGrid
          collection={collection}
          collections={collections}
          columns={columns}
          rows={rows}
          count={list.count}
          selection={selection}
          sort={sort}
          filter={filter}
          page={props.page}
          onPage={props.onPage}
          onFilter={onFilter}
          onClose={props.onClose}
          openId={props.openId}
          gone={live.gone}
          onLook={list.look}
          onSort={props.onSort}
          onOpen={onOpen}
        />
      )}
      {selection.count > 0 && collection.type !== 'view' && (
        <Suspense fallback={null}>
          <BulkBar
            collection={collection}
            collections={collections}
            selection={selection}
            columns={columns}
            total={list.count}
            filter={expression}
            sort={sort}
          />
        </Suspense>
      )}
    </section>
  );
}

/** The records that the filter selects, as far as they have been scrolled to, with what is known about them. */
function useRecords(props: RecordListProps) {
  const { collection, filter, sort, openId } = props;
  const { name } = collection;
  const expression = toFilter(collection, filter);
  const list = useRecordPages(
    {
      collection: name,
      filter: expression,
      sort,
      expand: relationNames(collection),
      hasCursors: hasCursors(collection, sort),
    },
    props.page,
  );
  const { rows, error, isSuccess } = list;
  const filtered = { collection: name, filter: error === undefined ? expression : '', rows: rows.loaded };
  const live = useLiveRows(filtered, openId);
  const selection = useRangeSelection(useSelection(rows.loaded, `${name} ${expression}`), list);
  const refusal = error instanceof Failure && error.status === 400 && filter !== '' ? error : undefined;
  return { expression, list, rows, live, selection, refusal, isNothing: isSuccess && rows.total === 0 };
}

/** Of a range. For more records there is a filter, and all that match it. */
const rangeMax = 1_000;

/** A selection whose ranges have also the rows that are not there. */
function useRangeSelection(
  selection: Selection,
  {
    rows,
    idsBetween,
  }: {
    readonly rows: RecordRows;
    readonly idsBetween: ReturnType<typeof useRecordPages>['idsBetween'];
  },
): Selection {
  const [start, setStart] = useState(-1);
  return {
    ...selection,
    toggle: (id, isRange) => {
      const index = rows.indexOf(id);
      const from = rows.indexOf(selection.anchor) < 0 ? start : rows.indexOf(selection.anchor);
      const range = { from: Math.min(from, index), to: Math.max(from, index) };
      const hasRange = isRange && selection.anchor !== undefined && !selection.isAll && from >= 0;
      const isLong = hasRange && range.to - range.from >= rangeMax;
      selection.toggle(id, isRange && !isLong);
      setStart(index);
      if (isLong)
        showToast(`A range has at most ${rangeMax.toLocaleString()} records. Only this one was selected.`);
      else if (hasRange)
        void idsBetween(range).then(selection.add, () => showToast('The range could not be read.', 'failed'));
    },
  };
}

/** Whether a cursor can follow an order: not one by values of JSON, whose pages are numbered. */
function hasCursors({ fields }: Collection, sort: string): boolean {
  return parseSort(sort).every(({ field }) => {
    const [member] = field.split('.');
    const type = fields.find(({ name }) => name === member)?.type;
    return field !== '@random' && type !== 'json' && type !== 'geoPoint';
  });
}

function relationNames({ fields }: Collection): string {
  return fields
    .filter(({ type }) => type === 'relation')
    .map(({ name }) => name)
    .join(',');
}

interface NoRecordsProps {
  readonly collection: Collection;
  readonly isFiltered: boolean;
  readonly onFilter: (filter: string) => void;
  readonly onOpen: (id: string) => void;
}

function NoRecords({ collection, isFiltered, onFilter, onOpen }: NoRecordsProps) {
  if (isFiltered)
    return (
      <Empty
        icon={SearchX}
        title="No record matches"
        actions={<Button onClick={() => onFilter('')}>Clear the filter</Button>}
      >
        The filter selects nothing in {collection.name}.
      </Empty>
    );
  const url = `${apiUrl}/api/collections/${collection.name}/records`;
  return (
    <Empty
      icon={collectionIcons[collection.type]}
      title={`${collection.name} is empty`}
      actions={
        <Button icon={Plus} tone="primary" onClick={() => onOpen('new')}>
          New record
        </Button>
      }
      code={`curl ${url} \\\n  -H "Authorization: $TOKEN" -H "Content-Type: application/json" \\\n  -d '${exampleOf(collection)}'`}
    >
      New records appear here live.
    </Empty>
  );
}

/** A body with the first field that people fill in. */
function exampleOf({ fields }: Collection): string {
  const field = fields.find(({ type, name, system }) => type === 'text' && name !== 'id' && !system);
  return JSON.stringify(field === undefined ? {} : { [field.name]: 'hello' });
}
