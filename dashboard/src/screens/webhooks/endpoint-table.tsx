import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Pause from 'lucide-react/icons/pause';
import Play from 'lucide-react/icons/play';
import { call } from '../../api/client.ts';
import { refreshEndpoints } from '../../api/endpoints.ts';
import type { ListedEndpoint } from '../../api/last-day.ts';
import { mayChangeWebhooks } from '../../api/session.ts';
import { FindTable } from '../../parts/data-table/find-table.tsx';
import { RowAction } from '../../parts/data-table/row-action.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { EndpointBadge } from '../../parts/endpoint-badge.tsx';
import { endpointName, type EndpointTone, explainListed } from '../../parts/endpoint-words.ts';
import { ageOf, percent, waitingCount } from '../../parts/percent.ts';
import { plural } from '../../parts/time.tsx';
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
    <FindTable
      name="endpoints"
      label="Endpoints"
      countOf={(count) => plural(count, 'endpoint')}
      columns={columns}
      rows={endpoints}
      error={error}
      onRetry={onRetry}
      sort={sort}
      onSort={(next) => onSearch({ sort: next })}
      find={{
        text: find,
        label: 'Find an endpoint',
        placeholder: 'Find by name or URL',
        textsOf: ({ url, name, description, id }) => [url, name, description, id],
        onFind: (text) => onSearch({ find: text }),
      }}
      {...(mayChangeWebhooks() && {
        renderBulk: (chosen: readonly ListedEndpoint[], clear: () => void) => (
          <BulkActions endpoints={chosen} onDone={clear} />
        ),
      })}
    />
  );
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
  const refresh = async (): Promise<void> => refreshEndpoints(queries);
  const active = endpoints.filter(({ status }) => status === 'active');
  const stopped = endpoints.filter(({ status }) => status !== 'active');
  return (
    <>
      <RowAction
        verb="Pause"
        done="paused"
        icon={Pause}
        rows={active}
        what={plural(active.length, 'endpoint')}
        work={async ({ id }) => call('POST /api/webhooks/endpoints/{id}/pause', { path: { id } })}
        {...{ refresh, onDone }}
      >
        Deliveries queue until you resume the endpoints.
      </RowAction>
      <RowAction
        verb="Resume"
        done="resumed"
        icon={Play}
        rows={stopped}
        what={plural(stopped.length, 'endpoint')}
        work={async ({ id }) =>
          call('POST /api/webhooks/endpoints/{id}/resume', { path: { id }, body: { backlog: 'drain' } })
        }
        {...{ refresh, onDone }}
      >
        Queued deliveries go out first, the oldest first, then new ones.
      </RowAction>
    </>
  );
}
