import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import KeyRound from 'lucide-react/icons/key-round';
import { keyScopes } from '../../api/keys.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { isPortal, type KeyBounds, useSession } from '../../api/session.ts';
import { endpointsQuery, type ListedEndpoint } from '../../api/last-day.ts';
import { Bar } from '../../parts/bar.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Empty } from '../../parts/empty.tsx';
import { endpointName } from '../../parts/endpoint-words.ts';
import { Facts } from '../../parts/facts.tsx';
import { Notice } from '../../parts/notice.tsx';
import { plural, Time } from '../../parts/time.tsx';

/** What the API key that signed in may do. Nothing else of the dashboard is offered. */
export function KeyScreen() {
  const session = useSession();
  return (
    <>
      <Bar title={isPortal() ? 'Portal' : 'API key'} />
      {session?.key === undefined ? (
        <Empty icon={KeyRound} title="You are signed in as a superuser">
          This screen shows what an API key may do.
        </Empty>
      ) : (
        <div className="settings-scroll-area">
          <div className="settings-page">
            <KeyDetails name={session.label} bounds={session.key} />
          </div>
        </div>
      )}
    </>
  );
}

interface KeyDetailsProps {
  readonly name: string;
  readonly bounds: KeyBounds;
}

function KeyDetails({ name, bounds: { scopes, collections: ids, endpoints, expires } }: KeyDetailsProps) {
  const collections = useLoadedCollections();
  const names = ids?.map((id) => collections?.find((one) => one.id === id)?.name ?? id);
  const mayDo = keyScopes.filter(({ scope }) => scopes.includes(scope));
  const isBlind =
    scopes.some((scope) => scope.startsWith('records:')) &&
    !scopes.includes('collections:read') &&
    !scopes.includes('admin');
  return (
    <section className="settings-group" aria-labelledby="key-name">
      <div>
        <h2 id="key-name">{name}</h2>
        <p className="soft">
          {expires === '' ? (
            'Never expires'
          ) : (
            <>
              Expires <Time value={expires} />
            </>
          )}
          {names !== undefined && `, only for ${names.join(', ')}`}
          {endpoints !== null && `, only for ${plural(endpoints.length, 'endpoint')}`}
        </p>
      </div>
      <Facts
        label="What it may do"
        items={Object.fromEntries(mayDo.map(({ scope, text }) => [scope, text]))}
      />
      {endpoints !== null && <EndpointLinks count={endpoints.length} />}
      {isBlind && (
        <Notice tone="retrying">
          This key may read records through the API, but a table here also needs their definitions: a key with{' '}
          <span className="mono">collections:read</span> besides.
        </Notice>
      )}
    </section>
  );
}

const columns: readonly DataColumn<ListedEndpoint>[] = [
  {
    id: 'endpoint',
    label: 'Endpoint',
    size: 200,
    kind: 'main',
    cell: (endpoint) => (
      <Link className="table-link cut" to="/webhooks/$id" params={{ id: endpoint.id }}>
        {endpointName(endpoint)}
      </Link>
    ),
  },
  { id: 'url', label: 'URL', size: 300, cell: ({ url }) => <span className="mono small">{url}</span> },
];

/** The endpoints that a key is for. The service leaves out those that were deleted. */
function EndpointLinks({ count }: { readonly count: number }) {
  const { data: endpoints } = useQuery(endpointsQuery);
  if (endpoints === undefined) return null;
  const deleted = count - endpoints.length;
  return (
    <>
      <DataTable
        name="key-endpoints"
        label="Its endpoints"
        countOf={(count) => plural(count, 'endpoint')}
        columns={columns}
        rows={endpoints}
        empty={null}
      />
      {deleted > 0 && (
        <Notice tone="retrying">
          {plural(deleted, 'endpoint')} of this key {deleted === 1 ? 'was' : 'were'} deleted.
        </Notice>
      )}
    </>
  );
}
