import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import FileJson from 'lucide-react/icons/file-json';
import Plus from 'lucide-react/icons/plus';
import SearchX from 'lucide-react/icons/search-x';
import Webhook from 'lucide-react/icons/webhook';
import { lazy, Suspense, useState } from 'react';
import { apiUrl } from '../../api/client.ts';
import type { Endpoint } from '../../api/events.ts';
import { lanesQuery } from '../../api/events.ts';
import { endpointsQuery } from '../../api/last-day.ts';
import { isBoundToEndpoints, mayChangeWebhooks } from '../../api/session.ts';
import { useKeys } from '../../browser/keys.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { CreateDrawer } from './create-drawer.tsx';
import { EndpointRow } from './endpoint-row.tsx';
import type { WebhooksSearch } from './webhook-search.ts';

// Few need it, and seldom.
const CodeDrawer = lazy(async () => {
  const { CodeDrawer: Drawer } = await import('./code-drawer.tsx');
  return { default: Drawer };
});

const route = getRouteApi('/shell/webhooks');

/** Where webhooks go, and how each of these places is. */
export function WebhooksScreen() {
  const { find = '', create } = route.useSearch();
  const navigate = route.useNavigate();
  const endpoints = useQuery(endpointsQuery);
  const set = (change: WebhooksSearch, replace = false): void =>
    void navigate({
      search: ({ create: _create, ...rest }) => ({ ...rest, ...change }),
      replace,
    });
  const open = (): void => set({ create: 'yes' });
  const mayCreate = mayChangeWebhooks() && !isBoundToEndpoints();
  useKeys({
    c: (event) => {
      if (!mayCreate) return;
      event.preventDefault();
      open();
    },
  });
  return (
    <>
      <Bar title="Webhooks">
        {mayCreate && (
          <Button onClick={() => set({ create: 'code' })}>
            <FileJson size={15} aria-hidden />
            As code
          </Button>
        )}
        {mayCreate && (
          <Button tone="primary" onClick={open}>
            <Plus size={15} aria-hidden />
            New endpoint
          </Button>
        )}
      </Bar>
      <div className="records" data-drawer={create === undefined || !mayCreate ? undefined : ''}>
        <div className="webhooks">
          {endpoints.isError && (
            <div className="empty">
              <FailureNotice error={endpoints.error} onRetry={() => void endpoints.refetch()} />
            </div>
          )}
          {endpoints.data?.length === 0 && mayCreate && (
            <NoEndpoint onCreate={open} onCatch={() => set({ create: 'catcher' })} />
          )}
          {endpoints.data?.length === 0 && !mayCreate && <NoOwnEndpoint />}
          {endpoints.data?.length !== 0 && !endpoints.isError && (
            <EndpointFinder
              endpoints={endpoints.data}
              find={find}
              onFind={(text) => set({ find: text }, true)}
            />
          )}
        </div>
        {create === 'code' && mayCreate && (
          <Suspense fallback={<aside className="drawer" aria-busy />}>
            <CodeDrawer endpoints={endpoints.data ?? []} onClose={() => set({})} />
          </Suspense>
        )}
        {create !== undefined && create !== 'code' && mayCreate && (
          <CreateDrawer hasCatcher={create === 'catcher'} onClose={() => set({})} />
        )}
      </div>
    </>
  );
}

interface EndpointFinderProps {
  /** Undefined as long as they are not there. */
  readonly endpoints: readonly Endpoint[] | undefined;
  readonly find: string;
  readonly onFind: (text: string) => void;
}

function EndpointFinder({ endpoints, find, onFind }: EndpointFinderProps) {
  const rows = endpoints?.filter((endpoint) => matches(endpoint, find)) ?? [];
  return (
    <>
      <search className="event-filters" aria-label="Filter endpoints">
        <input
          className="input"
          data-filter
          aria-label="Find an endpoint"
          placeholder="Find by name or URL"
          value={find}
          onChange={(event) => onFind(event.target.value)}
        />
      </search>
      {endpoints !== undefined && rows.length === 0 && (
        <Empty
          icon={<SearchX size={24} strokeWidth={1.5} aria-hidden />}
          title="No endpoint matches"
          actions={<Button onClick={() => onFind('')}>Show all</Button>}
        >
          Neither a URL nor a description has “{find}”.
        </Empty>
      )}
      {rows.length > 0 && <EndpointTable endpoints={rows} />}
      {endpoints === undefined && <PlaceholderTable />}
    </>
  );
}

function matches({ url, name, description, id }: Endpoint, find: string): boolean {
  const text = find.trim().toLowerCase();
  return `${url}\n${name}\n${description}\n${id}`.toLowerCase().includes(text);
}

const pageSize = 40;

function EndpointTable({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const { data: lanes } = useQuery(lanesQuery);
  const [count, setCount] = useState(pageSize);
  return (
    <div className="webhooks-scroll" tabIndex={-1}>
      <table className="table endpoints">
        <caption className="unseen">Endpoints</caption>
        <TableHead />
        <tbody>
          {endpoints.slice(0, count).map((endpoint) => (
            <EndpointRow
              key={endpoint.id}
              endpoint={endpoint}
              lane={lanes?.find(({ id }) => id === endpoint.id)}
            />
          ))}
        </tbody>
      </table>
      <MoreRows
        label="Show more endpoints"
        isShown={endpoints.length > count}
        isBusy={false}
        onMore={() => setCount(count + pageSize)}
      />
    </div>
  );
}

function TableHead() {
  return (
    <thead>
      <tr>
        <th scope="col">Status</th>
        <th scope="col">Endpoint</th>
        <th scope="col" className="number">
          Success, 24 h
        </th>
        <th scope="col" className="number">
          Waiting
        </th>
        <th scope="col" className="number">
          Oldest
        </th>
      </tr>
    </thead>
  );
}

const placeholderWidths = [260, 200, 240, 180];

function PlaceholderTable() {
  return (
    <table className="table endpoints" aria-busy>
      <TableHead />
      <tbody>
        {placeholderWidths.map((inlineSize) => (
          <tr key={inlineSize}>
            <td colSpan={5} aria-label="Loading">
              <span className="placeholder" style={{ inlineSize }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** For whoever may make none. */
function NoOwnEndpoint() {
  return (
    <Empty icon={<Webhook size={24} strokeWidth={1.5} aria-hidden />} title="No endpoints">
      {isBoundToEndpoints()
        ? 'The endpoints of this API key were deleted. Whoever gave it to you can make others.'
        : 'There are none yet, and this API key may make none.'}
    </Empty>
  );
}

interface NoEndpointProps {
  readonly onCreate: () => void;
  readonly onCatch: () => void;
}

function NoEndpoint({ onCreate, onCatch }: NoEndpointProps) {
  const body = '{"url": "https://example.com/webhooks"}';
  return (
    <Empty
      icon={<Webhook size={24} strokeWidth={1.5} aria-hidden />}
      title="No endpoints yet"
      actions={
        <>
          <Button tone="primary" onClick={onCreate}>
            New endpoint
          </Button>
          <Button onClick={onCatch}>Try it with the built-in catcher</Button>
        </>
      }
      code={`curl ${apiUrl}/api/webhooks/endpoints \\\n  -H "Authorization: $TOKEN" \\\n  -H "Content-Type: application/json" \\\n  -d '${body}'`}
    >
      An endpoint is a URL that is sent each change of a record, signed, and again until it has taken it.
    </Empty>
  );
}
