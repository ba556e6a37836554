import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { Fragment } from 'react';
import { useLoadedCollections } from '../../api/collections.ts';
import { type EndpointMatches, matchesQuery } from '../../api/endpoint-deliveries.ts';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints, mayChangeWebhooks } from '../../api/session.ts';
import { plural, Time } from '../../parts/time.tsx';
import { kindLabels } from './endpoint-values.ts';
import { TrialNote } from './filter-field.tsx';
import { useFilterTrial } from './use-filter-trial.ts';

/** Which changes an endpoint is sent, and whether there have been any: one that never matches would look well otherwise. */
export function SentCard({ endpoint }: { readonly endpoint: Endpoint }) {
  const { events, filter } = endpoint;
  const { data: matches } = useQuery(matchesQuery(endpoint.id));
  const isNever = matches !== undefined && matches.last === undefined;
  const trial = useFilterTrial(endpoint, isNever);
  const isDoubtful = isNever && trial !== undefined && trial.changes > 0 && trial.matches === 0;
  return (
    <section className="section" aria-labelledby="sent">
      <div className="section-head section-head-actions">
        <h2 id="sent">What it is sent</h2>
        {mayChangeWebhooks() && !isBoundToEndpoints() && (
          <Link
            className="link small"
            to="/webhooks/$id"
            params={{ id: endpoint.id }}
            search={{ tab: 'settings' }}
            hash="endpoint-filter"
          >
            {filter === '' ? 'Add filter' : 'Edit filter'}
          </Link>
        )}
      </div>
      <div className="sent-card panel" data-doubtful={isDoubtful ? '' : undefined}>
        <dl className="facts">
          <dt>Events</dt>
          <dd>{events.map((kind) => kindLabels[kind]).join(', ')}</dd>
          <dt>Collections</dt>
          <dd>
            <CollectionNames ids={endpoint.collections} />
          </dd>
          <dt>Filter</dt>
          <dd>
            {filter === '' ? <span className="soft">None</span> : <code className="mono">{filter}</code>}
          </dd>
          <dt>Matches, 24 h</dt>
          <dd>{matches === undefined ? <Placeholder /> : matchCount(matches)}</dd>
          <dt>Last match</dt>
          <dd>
            {matches === undefined ? (
              <Placeholder />
            ) : (
              <LastMatch matches={matches} isDoubtful={isDoubtful} />
            )}
          </dd>
        </dl>
        {isNever && trial !== undefined && (
          <TrialNote trial={trial}>
            {trial.matches === 0 && trial.lastMiss !== undefined && (
              <Link className="link" to="/events/$id" params={{ id: trial.lastMiss }}>
                See why
              </Link>
            )}
          </TrialNote>
        )}
      </div>
    </section>
  );
}

function matchCount({ lastDay, isPart }: EndpointMatches): string {
  return `${lastDay.toLocaleString('en')}${isPart ? '+' : ''}`;
}

function LastMatch({ matches: { last }, isDoubtful }: { matches: EndpointMatches; isDoubtful: boolean }) {
  if (last !== undefined)
    return (
      <Link className="link" to="/deliveries/$id" params={{ id: last.id }}>
        <Time value={last.created} />
      </Link>
    );
  if (!isDoubtful) return <span className="soft">None yet</span>;
  return (
    <span className="badge" data-tone="retrying">
      <TriangleAlert size={14} aria-hidden />
      Never matched
    </span>
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
