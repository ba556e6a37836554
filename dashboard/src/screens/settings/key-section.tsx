import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import KeyRound from 'lucide-react/icons/key-round';
import Plus from 'lucide-react/icons/plus';
import { useState } from 'react';
import { apiUrl, call, type Collection } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { type ApiKey, keysQuery } from '../../api/keys.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { parseTime, plural, Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { KeyForm } from './key-form.tsx';

const route = getRouteApi('/shell/settings/$section');

/** The keys of programs: what each may do, and when it last did. */
export function KeySection() {
  const { create } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: keys, error, refetch } = useQuery(keysQuery);
  const setCreate = (isOpen: boolean): void =>
    void navigate({ search: isOpen ? { create: 'yes' } : {}, replace: !isOpen });
  return (
    <>
      {create === 'yes' && <KeyForm onClose={() => setCreate(false)} />}
      {create !== 'yes' && keys !== undefined && keys.length > 0 && (
        <div>
          <Button tone="primary" onClick={() => setCreate(true)}>
            <Plus size={15} aria-hidden />
            New API key
          </Button>
        </div>
      )}
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {keys === undefined && error === null && <PlaceholderKeys />}
      {keys?.length === 0 && create !== 'yes' && <NoKeys onCreate={() => setCreate(true)} />}
      {keys !== undefined && keys.length > 0 && <KeyList keys={keys} />}
    </>
  );
}

function NoKeys({ onCreate }: { readonly onCreate: () => void }) {
  return (
    <Empty
      icon={<KeyRound size={24} strokeWidth={1.5} aria-hidden />}
      title="No API key yet"
      actions={
        <Button tone="primary" onClick={onCreate}>
          <Plus size={15} aria-hidden />
          New API key
        </Button>
      }
      code={`curl ${apiUrl}/api/keys \\\n  -H "Authorization: $TOKEN" -H "Content-Type: application/json" \\\n  -d '{"name":"nightly import","scopes":["records:read"]}'`}
    >
      A program uses a key instead of signing in, and may do no more than the key’s scopes say.
    </Empty>
  );
}

function KeyList({ keys }: { readonly keys: readonly ApiKey[] }) {
  const collections = useLoadedCollections() ?? [];
  const [revoking, setRevoking] = useState<ApiKey>();
  const queries = useQueryClient();
  return (
    <>
      <ul className="panel settings-list">
        {keys.map((key) => (
          <li key={key.id} className="settings-row">
            <span className="settings-row-main">
              <span className="settings-row-title cut">{key.name}</span>
              <span className="settings-chips">
                {key.scopes.map((scope) => (
                  <span key={scope} className="chip">
                    {scope}
                  </span>
                ))}
              </span>
              <span className="soft settings-row-note">
                <KeyFacts apiKey={key} collections={collections} />
              </span>
            </span>
            <Button onClick={() => setRevoking(key)}>Revoke</Button>
          </li>
        ))}
      </ul>
      {revoking !== undefined && (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          action="Revoke the key"
          typed={revoking.name}
          onClose={() => setRevoking(undefined)}
          onConfirm={async () => {
            await call('DELETE /api/keys/{id}', { path: { id: revoking.id } });
            showToast(`${revoking.name} is revoked.`);
            await queries.invalidateQueries({ queryKey: keysQuery.queryKey });
          }}
        >
          Every program that uses it is refused from now on. A key cannot be brought back.
        </Confirm>
      )}
    </>
  );
}

function KeyFacts({
  apiKey: { id, collections: ids, endpoints, lastUsed, expires },
  collections,
}: {
  readonly apiKey: ApiKey;
  readonly collections: readonly Collection[];
}) {
  const names = ids?.map((one) => collections.find((collection) => collection.id === one)?.name ?? one);
  const isOver = hasExpired(expires);
  return (
    <>
      {names !== undefined && <span>only {names.join(', ')}</span>}
      {endpoints !== null && <span>only {plural(endpoints.length, 'endpoint')}</span>}
      <span>
        {lastUsed === '' ? (
          'never used'
        ) : (
          <>
            last used <Time value={lastUsed} />
          </>
        )}
      </span>
      <span className={isOver ? 'settings-over' : undefined}>
        {expires === '' ? (
          'never expires'
        ) : (
          <>
            {isOver ? 'expired' : 'expires'} <Time value={expires} />
          </>
        )}
      </span>
      <Link to="/logs" search={{ filter: `data.key = "${id}"`, dashboard: 'yes' }} className="link">
        Its requests
      </Link>
    </>
  );
}

function hasExpired(expires: string): boolean {
  return expires !== '' && (parseTime(expires)?.getTime() ?? 0) <= Date.now();
}

function PlaceholderKeys() {
  return (
    <div className="panel settings-list" aria-hidden>
      {[180, 140, 210].map((inlineSize) => (
        <div key={inlineSize} className="settings-row">
          <span className="placeholder" style={{ inlineSize }} />
        </div>
      ))}
    </div>
  );
}
