import { useQuery, useQueryClient } from '@tanstack/react-query';
import Copy from 'lucide-react/icons/copy';
import Ellipsis from 'lucide-react/icons/ellipsis';
import SquareTerminal from 'lucide-react/icons/square-terminal';
import Braces from 'lucide-react/icons/braces';
import Trash2 from 'lucide-react/icons/trash-2';
import X from 'lucide-react/icons/x';
import { lazy, Suspense, useState } from 'react';
import { apiUrl, type Collection, type RecordModel } from '../../api/client.ts';
import { deleteRecord, recordQuery } from '../../api/records.ts';
import { IconButton } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { copyText, CopyButton } from '../../parts/copy-button.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { Menu, MenuItem, MenuLine } from '../../parts/menu.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { TabList } from '../../parts/tab-list.tsx';
import { showToast } from '../../parts/toast.tsx';
import { recordLabel } from './cell-value.tsx';
import { refreshRecords } from './live-rows.ts';
import { PlaceholderTab } from './placeholder-tab.tsx';
import type { RecordView } from './record-search.ts';

const RecordForm = lazy(async () => ({ default: (await import('./record-form.tsx')).RecordForm }));
const StoryTab = lazy(async () => ({ default: (await import('./story-tab.tsx')).StoryTab }));
const RelationsTab = lazy(async () => ({ default: (await import('./relations-tab.tsx')).RelationsTab }));
const AccountActions = lazy(async () => ({
  default: (await import('./account-actions.tsx')).AccountActions,
}));

interface RecordDrawerProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  /** Undefined for a record that is still to be made. */
  readonly id: string | undefined;
  readonly shown: RecordView;
  readonly onView: (view: RecordView) => void;
  readonly onOpen: (id: string) => void;
  readonly onClose: () => void;
}

/** One record beside the table, which keeps its place. Not modal: the table can be gone through while it is open. */
export function RecordDrawer(props: RecordDrawerProps) {
  const { collection, id, onView, onClose } = props;
  const isView = collection.type === 'view';
  const shown = isView ? 'json' : props.shown;
  const { data, error, refetch } = useQuery({
    ...recordQuery(collection.name, id ?? ''),
    enabled: id !== undefined,
  });
  const record = data?.record;
  const label = record === undefined ? '' : recordLabel(collection, record);
  const isReady = id === undefined || data !== undefined;
  return (
    <aside className="drawer" aria-label={id === undefined ? 'New record' : 'Record'}>
      <header className="drawer-head">
        <div className="drawer-title">
          <h2 className="cut">
            {id === undefined ? `New record in ${collection.name}` : label === '' ? id : label}
          </h2>
        </div>
        {record !== undefined && <RecordMenu {...props} record={record} />}
        <IconButton label="Close" keys="esc" icon={X} onClick={onClose} />
      </header>
      {id !== undefined && (
        <>
          <div className="drawer-meta">
            <span className="mono cut">{id}</span>
            <CopyButton text={id} label="Copy the id" />
          </div>
          {record !== undefined && collection.type === 'auth' && (
            <Suspense fallback={null}>
              <AccountActions collection={collection} record={record} />
            </Suspense>
          )}
          <TabList label="View" tabs={isView ? [jsonTab] : tabs} selected={shown} onSelect={onView} />
        </>
      )}
      {error !== null && shown !== 'story' && (
        <div className="drawer-form">
          <FailureNotice error={error} onRetry={() => void refetch()} />
        </div>
      )}
      {!isReady && error === null && shown !== 'story' && <PlaceholderTab />}
      <Suspense fallback={<PlaceholderTab />}>
        {id !== undefined && shown === 'story' && <StoryTab collection={collection} id={id} />}
        {record !== undefined && shown === 'relations' && <RelationsTab {...props} record={record} />}
        {record !== undefined && shown === 'json' && (
          <div className="drawer-body">
            <JsonView value={record} />
          </div>
        )}
        {isReady && shown === 'fields' && <RecordForm {...props} record={record} />}
      </Suspense>
    </aside>
  );
}

const jsonTab = { name: 'json', label: 'JSON' } as const;

const tabs: readonly { readonly name: RecordView; readonly label: string }[] = [
  { name: 'fields', label: 'Fields' },
  jsonTab,
  { name: 'story', label: 'Story' },
  { name: 'relations', label: 'Relations' },
];

function RecordMenu({ collection, record, onClose }: RecordDrawerProps & { readonly record: RecordModel }) {
  const queries = useQueryClient();
  const [isDeleting, setIsDeleting] = useState(false);
  const url = `${apiUrl}/api/collections/${collection.name}/records/${record.id}`;
  const copy = async (text: string, name: string): Promise<void> => {
    if (await copyText(text)) showToast(`${name} copied.`);
  };
  return (
    <>
      <Menu trigger={<IconButton label="More" icon={Ellipsis} />}>
        <MenuItem icon={Copy} onSelect={() => void copy(url, 'URL')}>
          Copy the URL of the API
        </MenuItem>
        <MenuItem icon={Braces} onSelect={() => void copy(JSON.stringify(record, null, 2), 'JSON')}>
          Copy the JSON
        </MenuItem>
        <MenuItem
          icon={SquareTerminal}
          onSelect={() => void copy(`curl ${url} -H "Authorization: $TOKEN"`, 'curl')}
        >
          Copy a curl command
        </MenuItem>
        {collection.type !== 'view' && (
          <>
            <MenuLine />
            <MenuItem icon={Trash2} tone="danger" onSelect={() => setIsDeleting(true)}>
              Delete …
            </MenuItem>
          </>
        )}
      </Menu>
      {isDeleting && (
        <Confirm
          title="Delete this record?"
          action="Delete the record"
          onClose={() => setIsDeleting(false)}
          onConfirm={async () => {
            await deleteRecord(collection.name, record.id);
            onClose();
            const { offerUndo } = await import('./undo.ts');
            const change = { kind: 'deletes', ids: [record.id] } as const;
            offerUndo(queries, { collection, change }, `${record.id} deleted.`);
            await refreshRecords(queries, collection.name);
          }}
        >
          <span className="mono">{record.id}</span> of {collection.name} is deleted with its files and what
          depends on it. Undo brings back the record alone. Endpoints subscribed to {collection.name} get the
          event.
        </Confirm>
      )}
    </>
  );
}
