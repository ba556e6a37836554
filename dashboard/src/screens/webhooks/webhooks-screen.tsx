import { useQuery } from '@tanstack/react-query';
import { getRouteApi, lazyRouteComponent } from '@tanstack/react-router';
import FileJson from 'lucide-react/icons/file-json';
import Plus from 'lucide-react/icons/plus';
import Webhook from 'lucide-react/icons/webhook';
import { Suspense } from 'react';
import { apiUrl } from '../../api/client.ts';
import { endpointsQuery } from '../../api/last-day.ts';
import { isBoundToEndpoints, mayChangeWebhooks } from '../../api/session.ts';
import { useKeys } from '../../browser/keys.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { CreateDrawer } from './create-drawer.tsx';
import { EndpointTable } from './endpoint-table.tsx';
import type { WebhooksSearch } from './webhook-search.ts';

// Few need it, and seldom.
const CodeDrawer = lazyRouteComponent(async () => import('./code-drawer.tsx'), 'CodeDrawer');

const route = getRouteApi('/shell/webhooks');

/** Where webhooks go, and how each of these places is. */
export function WebhooksScreen() {
  const { find = '', sort = '', create } = route.useSearch();
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
          <Button icon={FileJson} onClick={() => set({ create: 'code' })}>
            As code
          </Button>
        )}
        {mayCreate && (
          <Button icon={Plus} tone="primary" onClick={open}>
            New endpoint
          </Button>
        )}
      </Bar>
      <div className="records" data-drawer={create === undefined || !mayCreate ? undefined : ''}>
        <div className="webhooks">
          {endpoints.data?.length === 0 && mayCreate && (
            <NoEndpoint onCreate={open} onCatch={() => set({ create: 'catcher' })} />
          )}
          {endpoints.data?.length === 0 && !mayCreate && <NoOwnEndpoint />}
          {endpoints.data?.length !== 0 && (
            <EndpointTable
              endpoints={endpoints.data}
              error={endpoints.error}
              onRetry={() => void endpoints.refetch()}
              find={find}
              sort={sort}
              onSearch={(change) => set(change, true)}
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

/** For whoever may make none. */
function NoOwnEndpoint() {
  return (
    <Empty icon={Webhook} title="No endpoints">
      {isBoundToEndpoints()
        ? 'This API key’s endpoints were deleted. Ask whoever gave you the key to create others.'
        : 'No endpoints yet, and this API key can’t create any.'}
    </Empty>
  );
}

function NoEndpoint({ onCreate, onCatch }: { readonly onCreate: () => void; readonly onCatch: () => void }) {
  const body = '{"url": "https://example.com/webhooks"}';
  return (
    <Empty
      icon={Webhook}
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
      We'll POST every change to this URL, signed, and retry until it's accepted.
    </Empty>
  );
}
