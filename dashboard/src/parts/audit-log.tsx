import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import CircleCheck from 'lucide-react/icons/circle-check';
import CircleSlash from 'lucide-react/icons/circle-slash';
import { useMemo, type ReactNode } from 'react';
import { type AuditEntry, type auditQuery, auditSort } from '../api/audit.ts';
import { client, Failure } from '../api/client.ts';
import { Badge } from './badge.tsx';
import { TextToCopy } from './copy-button.tsx';
import { CopyRows } from './data-table/copy-rows.tsx';
import { DataTable } from './data-table/data-table.tsx';
import { pagesOf } from './data-table/pages-of.ts';
import type { DataColumn } from './data-table/table-layout.ts';
import { Drawer } from './drawer.tsx';
import { ExpressionInput } from './expression-input.tsx';
import { JsonSection } from './json-view.tsx';
import { timeColumn } from './data-table/time-column.tsx';

/** What the address holds of it. */
interface AuditSearch {
  readonly filter?: string | undefined;
  readonly sort?: string | undefined;
  /** The id of the entry that is open. */
  readonly entry?: string | undefined;
}

interface AuditLogProps {
  /** Under which the layout of the table is kept. */
  readonly name: string;
  readonly queryOf: typeof auditQuery;
  readonly search: AuditSearch;
  /** Changes a part of it. */
  readonly onSearch: (change: AuditSearch) => void;
  /** Whether the requests of its entries are in the log of the instance. */
  readonly hasRequests: boolean;
  /** What shows where nothing is. */
  readonly children: (isFiltered: boolean) => ReactNode;
}

/** Who did what, and from where. Nothing in it can be changed. */
export function AuditLog({ name, queryOf, search, onSearch, hasRequests, children }: AuditLogProps) {
  const { filter = '', sort = auditSort, entry } = search;
  const list = useInfiniteQuery({ ...queryOf({ filter, sort }), placeholderData: keepPreviousData });
  const refusal = list.error instanceof Failure && list.error.status === 400 ? list.error : undefined;
  const rows = list.data?.pages.flat();
  const listed = rows?.find(({ id }) => id === entry);
  // A link leads to entries that are no longer among the first.
  const linked = useInfiniteQuery({
    ...queryOf({ filter: client.filter('id = {:entry}', { entry: entry ?? '' }), sort }),
    enabled: entry !== undefined && listed === undefined && !list.isPending,
  });
  const shown = listed ?? (entry === undefined ? undefined : linked.data?.pages.flat()[0]);
  const columns = useMemo(() => columnsOf(entry !== undefined), [entry]);
  return (
    <div className="records" data-drawer={shown === undefined ? undefined : ''}>
      <DataTable
        name={name}
        label="Audit log"
        countOf={(count) => `${count.toLocaleString()} ${count === 1 ? 'entry' : 'entries'}`}
        columns={columns}
        {...pagesOf(list)}
        // An error of the filter stands at the filter.
        rows={refusal === undefined ? rows : []}
        error={refusal === undefined ? list.error : null}
        sort={sort}
        onSort={(next) => onSearch({ sort: next })}
        filters={
          <search className="log-filter">
            <ExpressionInput
              label="Filter"
              placeholder="A word, or an expression: action = 'sign-in' && outcome = 'refused'"
              filter={filter}
              onFilter={(next) => onSearch({ filter: next })}
              error={refusal?.message}
            />
          </search>
        }
        note={linked.isSuccess && shown === undefined ? 'The entry of this link was deleted.' : undefined}
        empty={refusal === undefined && children(filter !== '')}
        open={{ id: entry, onOpen: (id) => onSearch({ entry: id }) }}
        scope={filter}
        renderBulk={(selected) => <CopyRows rows={selected} />}
      />
      {shown !== undefined && (
        <AuditDrawer entry={shown} hasRequests={hasRequests} onClose={() => onSearch({ entry: undefined })} />
      )}
    </div>
  );
}

function columnsOf(isOpen: boolean): readonly DataColumn<AuditEntry>[] {
  return [
    {
      id: 'outcome',
      label: 'Outcome',
      size: 92,
      sort: 'service',
      cell: ({ outcome }) => {
        const isRefused = outcome === 'refused';
        return (
          <Badge tone={isRefused ? 'retrying' : 'ok'} icon={isRefused ? CircleSlash : CircleCheck}>
            {outcome}
          </Badge>
        );
      },
    },
    {
      id: 'action',
      label: 'Action',
      size: 160,
      kind: 'main',
      sort: 'service',
      cell: ({ id, action, count }) => (
        <Link
          to="."
          // Going through entries with the drawer open is one step back.
          replace={isOpen}
          search={(before: object) => ({ ...before, entry: id })}
          className="table-link cut"
        >
          {action}
          {count > 1 && <span className="faint"> {count} times</span>}
        </Link>
      ),
    },
    {
      id: 'actor',
      label: 'Actor',
      size: 150,
      sort: 'service',
      cell: ({ actor, actorId }) => (
        <>
          {actor} <span className="mono soft">{actorId}</span>
        </>
      ),
    },
    {
      id: 'target',
      label: 'Target',
      size: 130,
      sort: 'service',
      cell: ({ collection, target }) => [collection, target].filter((text) => text !== '').join(' / '),
    },
    { id: 'address', label: 'Address', size: 108, sort: 'service', cell: ({ address }) => address },
    timeColumn,
  ];
}

interface AuditDrawerProps {
  readonly entry: AuditEntry;
  readonly hasRequests: boolean;
  readonly onClose: () => void;
}

function AuditDrawer({ entry, hasRequests, onClose }: AuditDrawerProps) {
  const { id, action, requestId } = entry;
  return (
    <Drawer title={action} onClose={onClose}>
      <div className="drawer-meta">
        <TextToCopy text={id} label="Copy the id" />
        {hasRequests && requestId !== '' && (
          <Link
            to="/logs"
            search={{ filter: `data.requestId = "${requestId}"`, dashboard: 'yes' }}
            className="link"
          >
            Its request
          </Link>
        )}
      </div>
      <div className="drawer-body log-details">
        <JsonSection value={entry} />
      </div>
    </Drawer>
  );
}
