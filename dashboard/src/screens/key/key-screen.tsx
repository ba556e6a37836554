import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import KeyRound from 'lucide-react/icons/key-round';
import { keyScopes } from '../../api/keys.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { isPortal, type KeyBounds, useSession } from '../../api/session.ts';
import { endpointsQuery } from '../../api/last-day.ts';
import { Bar } from '../../parts/bar.tsx';
import { Empty } from '../../parts/empty.tsx';
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
      <ul className="panel settings-list" aria-label="What it may do">
        {keyScopes
          .filter(({ scope }) => scopes.includes(scope))
          .map(({ scope, text }) => (
            <li key={scope} className="settings-row">
              <span className="settings-row-main">
                <span className="mono">{scope}</span>
                <span className="soft">{text}</span>
              </span>
            </li>
          ))}
      </ul>
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

/** The endpoints that a key is for. The service leaves out those that were deleted. */
function EndpointLinks({ count }: { readonly count: number }) {
  const { data: endpoints } = useQuery(endpointsQuery);
  if (endpoints === undefined) return null;
  const deleted = count - endpoints.length;
  return (
    <>
      <ul className="panel settings-list" aria-label="Its endpoints">
        {endpoints.map(({ id, url, description }) => (
          <li key={id} className="settings-row">
            <span className="settings-row-main">
              <Link className="link cut" to="/webhooks/$id" params={{ id }}>
                {description === '' ? url : description}
              </Link>
              {description !== '' && <span className="soft cut">{url}</span>}
            </span>
          </li>
        ))}
      </ul>
      {deleted > 0 && (
        <Notice tone="retrying">
          {plural(deleted, 'endpoint')} of this key {deleted === 1 ? 'was' : 'were'} deleted.
        </Notice>
      )}
    </>
  );
}
