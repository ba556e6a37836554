import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { Fragment } from 'react';
import { useLoadedCollections } from '../../api/collections.ts';
import { endpointStatsQuery } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { isBoundToEndpoints, mayChangeWebhooks } from '../../api/session.ts';
import { Badge } from '../../parts/badge.tsx';
import { kindNames } from '../../parts/delivery-words.ts';
import { Facts } from '../../parts/facts.tsx';
import { Section } from '../../parts/section.tsx';
import { plural, Time } from '../../parts/time.tsx';
import { FilterWarnings, TrialNote } from './filter-notes.tsx';
import { useFilterTrial } from './use-filter-trial.ts';

/** Which changes an endpoint is sent, and whether there have been any: one that never matches would look well otherwise. */
export function SentCard({ endpoint }: { readonly endpoint: Endpoint }) {
  const { events, filter } = endpoint;
  const { data: stats } = useQuery(endpointStatsQuery(endpoint.id, '24h'));
  const trial = useFilterTrial(endpoint, stats !== undefined && stats.lastMatch === '');
  return (
    <Section
      title="What it is sent"
      actions={
        mayChangeWebhooks() &&
        !isBoundToEndpoints() && (
          <Link
            className="link small"
            to="/webhooks/$id"
            params={{ id: endpoint.id }}
            search={{ tab: 'settings' }}
            hash="endpoint-filter"
          >
            {filter === '' ? 'Add filter' : 'Edit filter'}
          </Link>
        )
      }
    >
      <div className="sent-card panel" data-doubtful={stats?.isNeverMatched === true ? '' : undefined}>
        <Facts
          items={{
            Events: events.map((kind) => kindNames[kind]).join(', '),
            Collections: <CollectionNames ids={endpoint.collections} />,
            Filter:
              filter === '' ? <span className="soft">None</span> : <code className="mono">{filter}</code>,
            'Matches, 24 h': stats === undefined ? <Placeholder /> : matchCount(stats),
            'Last match': stats === undefined ? <Placeholder /> : <LastMatch stats={stats} />,
          }}
        />
        {trial !== undefined && (
          <TrialNote trial={trial}>
            {trial.matches === 0 && trial.lastMiss !== undefined && (
              <Link className="link" to="/events/$id" params={{ id: trial.lastMiss }}>
                See why
              </Link>
            )}
          </TrialNote>
        )}
        <FilterWarnings warnings={trial?.warnings ?? []} />
      </div>
    </Section>
  );
}

type Stats = Schemas['EndpointStats'];

/** `12`, or `10,000+` where the service has stopped counting. */
function matchCount({ matches, matchesIsAtLeast }: Stats): string {
  return `${matches.toLocaleString()}${matchesIsAtLeast ? '+' : ''}`;
}

function LastMatch({ stats: { endpoint, lastMatch, isNeverMatched } }: { readonly stats: Stats }) {
  if (lastMatch !== '')
    return (
      <Link className="link" to="/webhooks/$id" params={{ id: endpoint }} search={{ tab: 'deliveries' }}>
        <Time value={lastMatch} />
      </Link>
    );
  if (!isNeverMatched) return <span className="soft">None yet</span>;
  return (
    <Badge tone="retrying" icon={TriangleAlert}>
      Never matched
    </Badge>
  );
}

function CollectionNames({ ids }: { readonly ids: readonly string[] }) {
  const collections = useLoadedCollections();
  if (ids.length === 0) return 'All';
  if (collections === undefined) return plural(ids.length, 'collection');
  const names = ids.map((id) => collections.find((collection) => collection.id === id)?.name ?? id);
  return names.map((name, index) => (
    <Fragment key={name}>
      {index > 0 && ', '}
      <Link className="link" to="/c/$collection" params={{ collection: name }}>
        {name}
      </Link>
    </Fragment>
  ));
}

function Placeholder() {
  return <span className="placeholder" style={{ inlineSize: 90 }} />;
}
