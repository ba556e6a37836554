import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Pause from 'lucide-react/icons/pause';
import Play from 'lucide-react/icons/play';
import SearchX from 'lucide-react/icons/search-x';
import { useState } from 'react';
import { endpointActions } from '../../api/endpoints.ts';
import type { ListedEndpoint } from '../../api/last-day.ts';
import { mayChangeWebhooks } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Empty } from '../../parts/empty.tsx';
import { EndpointBadge } from '../../parts/endpoint-badge.tsx';
import { endpointName, type EndpointTone, explainListed } from '../../parts/endpoint-words.ts';
import { ageOf, percent, waitingCount } from '../../parts/percent.ts';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import type { WebhooksSearch } from './webhook-search.ts';

interface EndpointTableProps {
  /** Undefined as long as they are not there. */
  readonly endpoints: readonly ListedEndpoint[] | undefined;
  readonly error: unknown;
  readonly onRetry: () => void;
  readonly find: string;
  readonly sort: string;
  readonly onSearch: (search: WebhooksSearch) => void;
}

/** All endpoints at a glance. What is selected can be paused and resumed. */
export function EndpointTable({ endpoints, error, onRetry, find, sort, onSearch }: EndpointTableProps) {
  return (
    <DataTable
      name="endpoints"
      label="Endpoints"
      countOf={(count) => plural(count, 'endpoint')}
      columns={columns}
      rows={endpoints?.filter((endpoint) => matches(endpoint, find))}
      error={error}
      onRetry={onRetry}
      sort={sort}
      onSort={(next) => onSearch({ sort: next })}
      filters={
        <search aria-label="Filter endpoints">
          <input
            className="input data-find"
            data-filter
            aria-label="Find an endpoint"
            placeholder="Find by name or URL"
            value={find}
            onChange={(event) => onSearch({ find: event.target.value })}
          />
        </search>
      }
      empty={
        <Empty
          icon={SearchX}
          title={`No results for “${find}”`}
          actions={<Button onClick={() => onSearch({ find: '' })}>Show all</Button>}
        >
          Names, URLs and descriptions are searched.
        </Empty>
      }
      scope={find}
      {...(mayChangeWebhooks() && {
        renderBulk: (chosen: readonly ListedEndpoint[], clear: () => void) => (
          <BulkActions endpoints={chosen} onDone={clear} />
        ),
      })}
    />
  );
}

function matches({ url, name, description, id }: ListedEndpoint, find: string): boolean {
  const text = find.trim().toLowerCase();
  return `${url}\n${name}\n${description}\n${id}`.toLowerCase().includes(text);
}

const toneOrder: readonly EndpointTone[] = ['failed', 'retrying', 'paused', 'ok'];

const columns: readonly DataColumn<ListedEndpoint>[] = [
  {
    id: 'status',
    label: 'Status',
    size: 140,
    sort: (endpoint) => toneOrder.indexOf(explainListed(endpoint).tone),
    cell: (endpoint) => {
      const { tone, word, reason } = explainListed(endpoint);
      return (
        <span title={reason}>
          <EndpointBadge tone={tone} word={word} />
        </span>
      );
    },
  },
  {
    id: 'endpoint',
    label: 'Endpoint',
    size: 280,
    kind: 'main',
    sort: endpointName,
    cell: (endpoint) => {
      const { id, name, description, url } = endpoint;
      const title = endpointName(endpoint);
      const about = [name === '' ? '' : description, title === url ? '' : url].filter((text) => text !== '');
      return (
        <>
          <Link
            className={title === url ? 'table-link mono cut' : 'table-link cut'}
            to="/webhooks/$id"
            params={{ id }}
          >
            {title}
          </Link>
          {about.length > 0 && <span className="faint small cut">{about.join(' · ')}</span>}
        </>
      );
    },
  },
  {
    id: 'filter',
    label: 'Filter',
    size: 200,
    cell: ({ filter }) => (filter === '' ? null : <span className="mono small">{filter}</span>),
  },
  {
    id: 'success',
    label: 'Success, 24 h',
    size: 120,
    kind: 'number',
    sort: ({ stats }) => stats?.successRate ?? 2,
    cell: ({ stats }) => percent(stats?.successRate ?? null),
  },
  {
    id: 'waiting',
    label: 'Waiting',
    size: 90,
    kind: 'number',
    sort: ({ stats }) => stats?.waiting ?? 0,
    cell: ({ stats }) => (stats === undefined ? '–' : waitingCount(stats)),
  },
  {
    id: 'oldest',
    label: 'Oldest',
    size: 90,
    kind: 'number',
    // The oldest is the one that has waited longest.
    sort: ({ stats }) => (stats?.oldestWaiting ? -Date.parse(stats.oldestWaiting) : Number.NEGATIVE_INFINITY),
    cell: ({ stats }) => ageOf(stats?.oldestWaiting ?? ''),
  },
];

interface BulkActionsProps {
  readonly endpoints: readonly ListedEndpoint[];
  readonly onDone: () => void;
}

function BulkActions({ endpoints, onDone }: BulkActionsProps) {
  const queries = useQueryClient();
  const [action, setAction] = useState<'pause' | 'resume'>();
  const active = endpoints.filter(({ status }) => status === 'active');
  const stopped = endpoints.filter(({ status }) => status !== 'active');
  const target = action === 'pause' ? active : stopped;
  const verb = action === 'pause' ? 'Pause' : 'Resume';
  const count = plural(target.length, 'endpoint');
  return (
    <>
      <Button icon={Pause} disabled={active.length === 0} onClick={() => setAction('pause')}>
        Pause …
      </Button>
      <Button icon={Play} disabled={stopped.length === 0} onClick={() => setAction('resume')}>
        Resume …
      </Button>
      {action !== undefined && (
        <Confirm
          title={`${verb} ${count}?`}
          action={`${verb} ${count}`}
          tone="primary"
          onClose={() => setAction(undefined)}
          onConfirm={async () => {
            const ids = target.map(({ id }) => id);
            await endpointActions(queries)[action === 'pause' ? 'pauseAll' : 'resumeAll'](ids);
            showToast(`${count} ${action === 'pause' ? 'paused' : 'resumed'}.`);
            onDone();
          }}
        >
          {action === 'pause'
            ? 'Deliveries queue until you resume the endpoints.'
            : 'Queued deliveries go out first, the oldest first, then new ones.'}
        </Confirm>
      )}
    </>
  );
}
