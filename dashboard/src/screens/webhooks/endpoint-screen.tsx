import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import DatabaseBackup from 'lucide-react/icons/database-backup';
import RotateCcw from 'lucide-react/icons/rotate-ccw';
import { useMemo } from 'react';
import { catcherIdOf } from '../../api/catchers.ts';
import { endpointQuery } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints, mayChangeWebhooks, mayUse } from '../../api/session.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { decodeDeliveriesSearch } from '../../parts/event-search.ts';
import { DeliveryTable } from '../../parts/delivery-table.tsx';
import { NotFound } from '../../parts/empty.tsx';
import { isAbsent, Loaded } from '../../parts/loaded.tsx';
import { TabList } from '../../parts/tab-list.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { PauseResume } from './pause-resume.tsx';
import { ReplayDrawer } from './replay-drawer.tsx';
import { SettingsTab } from './settings-tab.tsx';
import { TestTab } from './test-tab.tsx';
import { decodeEndpointSearch, type EndpointSearch, type EndpointTab } from './webhook-search.ts';

const route = getRouteApi('/shell/webhooks/$id');

/** One endpoint: how it does, what it was sent, a test, and its settings. */
export function EndpointScreen() {
  const { id } = route.useParams();
  const query = useQuery(endpointQuery(id));
  // The page has a head of its own.
  if (query.data !== undefined && !isAbsent(query.error)) return <EndpointPage endpoint={query.data} />;
  return (
    <>
      <Bar title="Endpoint" aside={<CopyButton text={id} label="Copy the id of the endpoint" />} />
      <div className="detail">
        <Loaded query={query} absent={<NoEndpoint id={id} />}>
          {() => null}
        </Loaded>
      </div>
    </>
  );
}

const tabs: readonly { readonly name: EndpointTab; readonly label: string }[] = [
  { name: 'overview', label: 'Overview' },
  { name: 'deliveries', label: 'Deliveries' },
  { name: 'test', label: 'Test' },
  { name: 'settings', label: 'Settings' },
];

/** Whether who is signed in may send existing records: a key for some endpoints may not choose what these are told of. */
function mayBackfill(): boolean {
  return mayChangeWebhooks() && mayUse('collections:read') && !isBoundToEndpoints();
}

function mayShow(replay: string): boolean {
  if (replay === 'backfill') return mayBackfill();
  return replay !== 'new' || mayChangeWebhooks();
}

function EndpointPage({ endpoint }: { readonly endpoint: Endpoint }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { tab = 'overview', span = '24h', replay } = search;
  const set = (next: EndpointSearch, replace = true): void => void navigate({ search: next, replace });
  const openReplay = (name: string | undefined): void => {
    const { replay: _replay, ...rest } = search;
    set({ ...rest, ...(name !== undefined && { replay: name }) }, name !== 'new' && name !== 'backfill');
  };
  return (
    <>
      <Bar
        title={<span className="cut">{titleOf(endpoint)}</span>}
        aside={<CopyButton text={endpoint.url} label="Copy the URL" />}
      >
        {mayChangeWebhooks() && (
          <>
            <PauseResume endpoint={endpoint} />
            <Button icon={RotateCcw} onClick={() => openReplay('new')}>
              <span className="endpoint-action">Replay …</span>
            </Button>
            {mayBackfill() && (
              <Button icon={DatabaseBackup} onClick={() => openReplay('backfill')}>
                <span className="endpoint-action">Backfill …</span>
              </Button>
            )}
          </>
        )}
      </Bar>
      <div className="records" data-drawer={replay === undefined ? undefined : ''}>
        <div className="detail">
          <div className="endpoint-tabs">
            <TabList
              label="View"
              tabs={mayChangeWebhooks() ? tabs : tabs.filter(({ name }) => name !== 'test')}
              selected={tab}
              onSelect={(name) =>
                set({ ...(replay !== undefined && { replay }), ...(name !== 'overview' && { tab: name }) })
              }
            />
          </div>
          <div className="detail-page" role="tabpanel" aria-label={tab}>
            {tab === 'overview' && (
              <OverviewTab
                endpoint={endpoint}
                span={span}
                onSpan={(next) => set({ ...search, span: next })}
              />
            )}
            {tab === 'deliveries' && <Deliveries id={endpoint.id} search={search} onSearch={set} />}
            {tab === 'test' && mayChangeWebhooks() && <TestTab endpoint={endpoint} />}
            {tab === 'settings' && <SettingsTab endpoint={endpoint} />}
          </div>
        </div>
        {replay !== undefined && mayShow(replay) && (
          <ReplayDrawer
            key={replay}
            endpoint={endpoint}
            id={replay}
            onStarted={(name) => openReplay(name)}
            onClose={() => openReplay(undefined)}
          />
        )}
      </div>
    </>
  );
}

interface DeliveriesProps {
  readonly id: string;
  readonly search: EndpointSearch;
  readonly onSearch: (search: EndpointSearch) => void;
}

/** What the endpoint was sent, the last first. What is filtered by is in the address. */
function Deliveries({ id, search, onSearch }: DeliveriesProps) {
  const { tab, span, replay } = search;
  // The same object for the same address: `24h` moves on with the next look, not while one reads.
  const filters = useMemo(() => decodeDeliveriesSearch(search), [search]);
  const others = decodeEndpointSearch({ tab, span, replay });
  return (
    <section className="deliveries-tab" aria-label="Deliveries">
      <DeliveryTable
        endpoint={id}
        search={filters}
        onSearch={({ endpoint: _endpoint, ...next }) => onSearch({ ...others, ...next })}
        noMatch={<p className="data-empty soft">No delivery matches.</p>}
        none={
          <p className="data-empty soft">
            No deliveries yet. Each event the endpoint subscribes to creates one.
          </p>
        }
      />
    </section>
  );
}

/** What its owner calls it, or a URL without what all of them begin with. That of a catcher is long, and tells nobody anything. */
function titleOf({ name, description, url }: Endpoint): string {
  if (name !== '' || description !== '') return name || description;
  if (catcherIdOf(url) !== '') return 'Built-in catcher';
  return url.replace(/^https?:\/\//, '');
}

function NoEndpoint({ id }: { readonly id: string }) {
  return (
    <NotFound title="Endpoint not found" link={{ to: '/webhooks' }} action="Go to endpoints">
      <span className="mono">{id}</span> doesn’t exist, or you don’t have access.
    </NotFound>
  );
}
