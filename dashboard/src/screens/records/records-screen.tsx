import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import Plus from 'lucide-react/icons/plus';
import { apiUrl, type Collection } from '../../api/client.ts';
import { collectionsQuery, findCollection } from '../../api/collections.ts';
import { isTyping, useKeys } from '../../browser/keys.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { CollectionTitle } from '../../parts/collection-title.tsx';
import { CollectionTabs } from '../../parts/collection-tabs.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { NotFound } from '../../parts/empty.tsx';
import { LockButton } from '../../parts/lock.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { ColumnMenu } from './column-menu.tsx';
import { useColumns } from './column-layout.ts';
import { RecordDrawer } from './record-drawer.tsx';
import { RecordList } from './record-list.tsx';
import { type RecordView, toggleSort } from './record-search.ts';
import { TransferMenu } from './transfer-menu.tsx';

const route = getRouteApi('/shell/c/$collection');

/** The records of a collection as a table, and the open one in a drawer beside it. */
export function RecordsScreen() {
  const { collection: key } = route.useParams();
  const { data: collections, error, refetch } = useQuery(collectionsQuery);
  if (collections === undefined)
    return (
      <>
        <Bar title={key} />
        {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      </>
    );
  const collection = findCollection(collections, key);
  if (collection === undefined)
    return (
      <>
        <Bar title={key} />
        <NotFound title={`Collection ${key} not found`} link={{ to: '/overview' }} action="Go to overview">
          It may have been renamed or deleted.
        </NotFound>
      </>
    );
  return <CollectionRecords key={collection.id} collection={collection} collections={collections} />;
}

interface CollectionRecordsProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
}

function CollectionRecords({ collection, collections }: CollectionRecordsProps) {
  const address = useAddress();
  const { search, open, filterBy, sortBy, view } = address;
  const { filter = '', sort = '', record } = search;
  const isView = collection.type === 'view';
  const columns = useColumns(collection, { columns: search.columns, onColumns: address.layOut });
  useTableKeys(collection, record, open);
  return (
    <>
      <Bar
        title={<CollectionTitle collection={collection} />}
        aside={
          <CopyButton
            text={`${apiUrl}/api/collections/${collection.name}/records`}
            label="Copy the URL of these records"
          />
        }
      >
        <CollectionTabs name={collection.name} />
        <ColumnMenu columns={columns} />
        <LockButton collection={collection} />
        <TransferMenu collection={collection} filter={filter} sort={sort} columns={columns} />
        {!isView && (
          <Button icon={Plus} tone="primary" onClick={() => open('new')}>
            New record
          </Button>
        )}
      </Bar>
      <div className="records" data-drawer={record === undefined ? undefined : ''}>
        <RecordList
          collection={collection}
          collections={collections}
          columns={columns}
          filter={filter}
          sort={sort}
          openId={record}
          page={Number(search.page ?? '1')}
          onPage={address.turnTo}
          onClose={() => open(undefined, true)}
          onFilter={filterBy}
          onSort={sortBy}
          // Going through rows with the drawer open is one step back, not one for each row.
          onOpen={(id) => open(id, record !== undefined)}
        />
        {record !== undefined && (
          <RecordDrawer
            key={record}
            collection={collection}
            collections={collections}
            id={record === 'new' ? undefined : record}
            shown={search.view ?? 'fields'}
            onView={view}
            onOpen={address.openNext}
            onClose={() => open(undefined)}
          />
        )}
      </div>
    </>
  );
}

function useTableKeys(
  collection: Collection,
  record: string | undefined,
  open: (id: string | undefined) => void,
): void {
  const queries = useQueryClient();
  useKeys({
    c: (event) => {
      event.preventDefault();
      if (collection.type !== 'view') open('new');
    },
    Escape: () => record !== undefined && open(undefined),
    'Mod+z': (event) => {
      // A field has an undo of its own.
      if (event.shiftKey || isTyping(event.target)) return;
      event.preventDefault();
      void import('./undo.ts').then(async ({ undoLast }) => undoLast(queries, collection));
    },
  });
}

/** What the address holds, and what changes it. A record or another order is a step that Back takes back; a filter is refined in place. */
function useAddress() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return {
    search,
    open: (id: string | undefined, replace = false): void =>
      void navigate({
        search: ({ record: _record, view: _view, ...rest }) => ({
          ...rest,
          ...(id !== undefined && { record: id }),
        }),
        replace,
      }),
    /** Shows another record in the drawer, such as one that was just created; a drawer that was closed meanwhile stays closed. */
    openNext: (id: string): void =>
      void navigate({
        search: ({ view: _view, ...old }) => (old.record === undefined ? old : { ...old, record: id }),
        replace: true,
      }),
    filterBy: (filter: string): void =>
      void navigate({ search: ({ page: _page, ...rest }) => ({ ...rest, filter }), replace: true }),
    sortBy: (field: string, adds: boolean): void =>
      void navigate({
        search: ({ page: _page, ...rest }) => ({ ...rest, sort: toggleSort(rest.sort ?? '', field, adds) }),
      }),
    /** The columns before stand in the address too, so that Back shows them. */
    layOut: (columns: string | undefined, before: string): void => {
      const first =
        search.columns === undefined
          ? navigate({ search: (old) => ({ ...old, columns: before }), replace: true })
          : Promise.resolve();
      void first.then(async () =>
        navigate({
          search: ({ columns: _columns, ...rest }) => ({
            ...rest,
            ...(columns !== undefined && { columns }),
          }),
        }),
      );
    },
    turnTo: (page: number): void =>
      void navigate({
        search: ({ page: _page, ...rest }) => ({ ...rest, ...(page > 1 && { page: String(page) }) }),
        replace: true,
      }),
    view: (next: RecordView): void =>
      void navigate({
        search: ({ view: _view, ...rest }) => ({ ...rest, ...(next !== 'fields' && { view: next }) }),
        replace: true,
      }),
  };
}
