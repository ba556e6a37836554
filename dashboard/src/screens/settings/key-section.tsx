import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import KeyRound from 'lucide-react/icons/key-round';
import Plus from 'lucide-react/icons/plus';
import Trash2 from 'lucide-react/icons/trash-2';
import { useMemo } from 'react';
import { apiUrl, call, type Collection } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { type ApiKey, keysQuery } from '../../api/keys.ts';
import { Button } from '../../parts/button.tsx';
import { RowAction } from '../../parts/data-table/row-action.tsx';
import { FindTable } from '../../parts/data-table/find-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Empty } from '../../parts/empty.tsx';
import { parseTime, plural, Time, timeWidth } from '../../parts/time.tsx';
import { useSectionSearch } from './settings-form.tsx';
import { KeyForm } from './key-form.tsx';

const route = getRouteApi('/shell/settings/$section');

/** The keys of programs: what each may do, and when it last did. */
export function KeySection() {
  const [{ create, find = '', sort = '-created' }, set] = useSectionSearch();
  const navigate = route.useNavigate();
  const { data: keys, error, refetch } = useQuery(keysQuery);
  const collections = useLoadedCollections();
  const columns = useMemo(() => columnsOf(collections ?? []), [collections]);
  const setCreate = (isOpen: boolean): void =>
    void navigate({ search: isOpen ? { create: 'yes' } : {}, replace: !isOpen });
  const isEmpty = keys?.length === 0;
  const newKey = (
    <Button icon={Plus} tone="primary" onClick={() => setCreate(true)}>
      New API key
    </Button>
  );
  return (
    <>
      {create === 'yes' && <KeyForm onClose={() => setCreate(false)} />}
      {create !== 'yes' && !isEmpty && <div>{newKey}</div>}
      {create !== 'yes' && isEmpty && (
        <Empty
          icon={KeyRound}
          title="No API key yet"
          actions={newKey}
          code={`curl ${apiUrl}/api/keys \\\n  -H "Authorization: $TOKEN" -H "Content-Type: application/json" \\\n  -d '{"name":"nightly import","scopes":["records:read"]}'`}
        >
          Programs use a key instead of signing in. Its scopes limit what they can do.
        </Empty>
      )}
      {!isEmpty && (
        <FindTable
          name="keys"
          label="API keys"
          countOf={(count) => plural(count, 'API key')}
          columns={columns}
          rows={keys}
          error={error}
          onRetry={() => void refetch()}
          sort={sort}
          onSort={(next) => set({ sort: next })}
          find={{
            text: find,
            label: 'Find an API key',
            placeholder: 'Find by name or scope',
            textsOf: ({ id, name, scopes }) => [id, name, ...scopes],
            onFind: (next) => set({ find: next }),
          }}
          renderBulk={(rows, clear) => <Revoke keys={rows} onDone={clear} />}
        />
      )}
    </>
  );
}

interface RevokeProps {
  readonly keys: readonly ApiKey[];
  readonly isSmall?: boolean;
  readonly onDone?: () => void;
}

function Revoke({ keys, isSmall = false, onDone }: RevokeProps) {
  const queries = useQueryClient();
  const [key] = keys;
  return (
    <RowAction
      verb="Revoke"
      done="revoked"
      icon={Trash2}
      rows={keys}
      what={keys.length === 1 && key !== undefined ? key.name : plural(keys.length, 'API key')}
      isFinal
      isSmall={isSmall}
      work={async ({ id }) => call('DELETE /api/keys/{id}', { path: { id } })}
      refresh={async () => queries.invalidateQueries({ queryKey: keysQuery.queryKey })}
      onDone={onDone}
    >
      Programs that use {keys.length === 1 ? 'it' : 'them'} are rejected from now on. A revoked key cannot be
      restored.
    </RowAction>
  );
}

function columnsOf(collections: readonly Collection[]): readonly DataColumn<ApiKey>[] {
  const nameOf = (id: string): string => collections.find((one) => one.id === id)?.name ?? id;
  return [
    {
      id: 'name',
      label: 'Name',
      size: 108,
      kind: 'main',
      sort: ({ name }) => name,
      cell: ({ name }) => name,
    },
    {
      id: 'scopes',
      label: 'Scopes',
      size: 136,
      kind: 'wide',
      cell: (key) => <Scopes apiKey={key} nameOf={nameOf} />,
    },
    {
      id: 'lastUsed',
      label: 'Last used',
      size: timeWidth,
      kind: 'number',
      sort: ({ lastUsed }) => lastUsed,
      cell: ({ lastUsed }) =>
        lastUsed === '' ? <span className="faint">never</span> : <Time value={lastUsed} />,
    },
    {
      id: 'expires',
      label: 'Expires',
      size: timeWidth,
      kind: 'number',
      // Those that never do are the last to.
      sort: ({ expires }) => expires || '~',
      cell: ({ expires }) =>
        expires === '' ? (
          <span className="faint">never</span>
        ) : (
          <span className={hasExpired(expires) ? 'settings-over' : undefined}>
            {hasExpired(expires) && 'expired '}
            <Time value={expires} />
          </span>
        ),
    },
    {
      id: 'actions',
      label: 'Actions',
      size: 104,
      kind: 'number',
      cell: (key) => (
        <span className="data-actions">
          <Link
            to="/logs"
            search={{ filter: `data.key = "${key.id}"`, dashboard: 'yes' }}
            className="link"
            aria-label={`Requests of ${key.name}`}
          >
            Requests
          </Link>
          <Revoke keys={[key]} isSmall />
        </span>
      ),
    },
  ];
}

interface ScopesProps {
  readonly apiKey: ApiKey;
  readonly nameOf: (collection: string) => string;
}

/** What the key may do, and for what only. */
function Scopes({ apiKey: { scopes, collections, endpoints }, nameOf }: ScopesProps) {
  return (
    <span className="settings-chips">
      {scopes.map((scope) => (
        <span key={scope} className="chip">
          {scope}
        </span>
      ))}
      {collections !== null && <span className="soft">only {collections.map(nameOf).join(', ')}</span>}
      {endpoints !== null && <span className="soft">only {plural(endpoints.length, 'endpoint')}</span>}
    </span>
  );
}

function hasExpired(expires: string): boolean {
  return expires !== '' && (parseTime(expires)?.getTime() ?? 0) <= Date.now();
}
