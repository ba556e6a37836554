import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import ArrowUp from 'lucide-react/icons/arrow-up';
import Plus from 'lucide-react/icons/plus';
import SearchX from 'lucide-react/icons/search-x';
import { lazy, Suspense, useMemo } from 'react';
import { apiUrl, type Collection, Failure } from '../../api/client.ts';
import { recordCountQuery, recordsQuery } from '../../api/records.ts';
import { Button } from '../../parts/button.tsx';
import { CollectionIcon } from '../../parts/collection-icon.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import type { Columns } from './column-layout.ts';
import { FilterBar } from './filter-bar.tsx';
import { useLiveRows } from './live-rows.ts';
import { PlaceholderRows } from './placeholder-rows.tsx';
import { toFilter } from './record-filter.ts';
import { RecordGrid } from './record-grid.tsx';
import { ViewMenu } from './view-menu.tsx';
import { useSelection } from '../../parts/data-table/use-selection.ts';

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
  const { expression, list, count, rows, live, selection, refusal, isNothing } = useRecords(props);
  return (
    <section className="records-list" aria-label={collection.name}>
      <FilterBar
        collection={collection}
        collections={collections}
        filter={filter}
        onFilter={onFilter}
        count={list.isError ? undefined : count.data}
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
      {list.isError && refusal === undefined && (
        <FailureNotice error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isPending && <PlaceholderRows columns={columns} />}
      {isNothing && (
        <NoRecords collection={collection} isFiltered={filter !== ''} onFilter={onFilter} onOpen={onOpen} />
      )}
      {rows.length > 0 && (!list.isError || refusal === undefined) && (
        <RecordGrid
          collection={collection}
          collections={collections}
          columns={columns}
          rows={rows}
          count={count.data}
          selection={selection}
          sort={sort}
          filter={filter}
          page={props.page}
          onPage={props.onPage}
          onFilter={onFilter}
          onClose={props.onClose}
          openId={props.openId}
          gone={live.gone}
          hasMore={list.hasNextPage && !list.isFetchingNextPage}
          isEnd={!list.hasNextPage}
          onMore={() => void list.fetchNextPage()}
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
            total={count.data}
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
  const expand = relationNames(collection);
  const list = useInfiniteQuery({
    ...recordsQuery({ collection: name, filter: expression, sort, expand }),
    // The rows before stay until the next ones are there: nothing flickers while one types.
    placeholderData: keepPreviousData,
  });
  const count = useQuery({
    ...recordCountQuery({ collection: name, filter: expression }),
    enabled: list.isSuccess,
  });
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data]);
  const live = useLiveRows({ collection: name, filter: list.isError ? '' : expression, rows }, openId);
  const selection = useSelection(rows, `${name} ${expression}`);
  const refusal =
    list.error instanceof Failure && list.error.status === 400 && filter !== '' ? list.error : undefined;
  const isNothing = list.isSuccess && rows.length === 0;
  return { expression, list, count, rows, live, selection, refusal, isNothing };
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
        icon={<SearchX size={24} strokeWidth={1.5} aria-hidden />}
        title="No record matches"
        actions={<Button onClick={() => onFilter('')}>Clear the filter</Button>}
      >
        The filter selects nothing in {collection.name}.
      </Empty>
    );
  const url = `${apiUrl}/api/collections/${collection.name}/records`;
  return (
    <Empty
      icon={<CollectionIcon collection={collection} size={24} />}
      title={`${collection.name} is empty`}
      actions={
        <Button tone="primary" onClick={() => onOpen('new')}>
          <Plus size={15} aria-hidden />
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
