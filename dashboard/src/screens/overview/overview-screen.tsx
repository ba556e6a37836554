import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { collectionStatsQuery, endpointsQuery, healthQuery, lastDayQuery } from '../../api/last-day.ts';
import type { Collection } from '../../api/client.ts';
import { type HourOfLog, sumOf } from '../../api/logs.ts';
import type { Schemas } from '../../api/schema.ts';
import { webhookStatsQuery } from '../../api/endpoints.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { Bar } from '../../parts/bar.tsx';
import { CollectionIcon } from '../../parts/collection-icon.tsx';
import { Figure } from '../../parts/figure.tsx';
import { milliseconds, waitingCount } from '../../parts/percent.ts';
import { Section } from '../../parts/section.tsx';
import { plural, shortDuration } from '../../parts/time.tsx';
import { Concerns } from './concerns.tsx';
import { RequestPlots } from './request-plots.tsx';
import { StartSteps } from './start-steps.tsx';
import { WebhookPlots } from './webhook-plots.tsx';

/** How the instance is: what needs somebody first, then figures of the last day, then what it holds. */
export function OverviewScreen() {
  const collections = useLoadedCollections();
  const own = collections?.filter(({ system }) => !system) ?? [];
  return (
    <>
      <Bar title="Overview" />
      <div className="overview" tabIndex={-1}>
        <div className="overview-page">
          <StartSteps collections={collections} />
          <Concerns />
          <Figures collections={own} />
          <WebhookPlots />
          <RequestPlots />
          <Counts collections={own} />
        </div>
      </div>
    </>
  );
}

function Figures({ collections }: { readonly collections: readonly Collection[] }) {
  const { data: hours } = useQuery(lastDayQuery);
  const { data: endpoints } = useQuery(endpointsQuery);
  const { data: webhooks } = useQuery(webhookStatsQuery);
  const { data: health } = useQuery(healthQuery);
  const { data: counts } = useQuery(collectionStatsQuery);
  const changes = counts && changesOf(counts);
  const active = endpoints?.filter(({ status }) => status === 'active').length;
  const oldest = health?.oldestUndeliveredSeconds;
  return (
    <section className="figures" aria-label="The last 24 hours">
      <Figure name="Records" value={counts && recordsOf(counts)}>
        {changes === undefined
          ? `in ${plural(collections.length, 'collection')}`
          : `${signed(changes.created - changes.deleted)} in 24 h`}
      </Figure>
      <Figure name="Requests, 24 h" value={hours && sumOf(hours, 'total')}>
        {hours !== undefined && requestNote(hours)}
      </Figure>
      <Figure
        name="Changes, 24 h"
        value={changes && atLeast(changes.created + changes.updated + changes.deleted, changes.isAtLeast)}
      >
        {changes !== undefined && changeNote(changes)}
      </Figure>
      <Figure name="Active endpoints" value={active}>
        {endpoints !== undefined && `of ${endpoints.length.toLocaleString()}`}
      </Figure>
      <Figure name="Waiting deliveries" value={webhooks && waitingCount(webhooks)}>
        {webhooks?.waiting === 0 ? 'all sent' : 'for active endpoints'}
      </Figure>
      <Figure
        name="Oldest waiting"
        value={oldest === undefined ? undefined : oldest === 0 ? 'None' : shortDuration(Math.round(oldest))}
      >
        {oldest === 0 ? 'all delivered' : 'since its event'}
      </Figure>
    </section>
  );
}

type Stats = Schemas['CollectionStats'];

/** `12,304`, or `12,304+` where the service has stopped counting. */
function atLeast(count: number, isAtLeast: boolean): string {
  return `${count.toLocaleString()}${isAtLeast ? '+' : ''}`;
}

function recordsOf({ collections }: Stats): string {
  const total = collections.reduce((sum, { records }) => sum + (records ?? 0), 0);
  return atLeast(
    total,
    collections.some(({ recordsIsAtLeast }) => recordsIsAtLeast),
  );
}

interface Changes {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  readonly isAtLeast: boolean;
}

function changesOf({ collections, changesIsAtLeast }: Stats): Changes {
  const sumOf = (name: 'created' | 'updated' | 'deleted'): number =>
    collections.reduce((sum, collection) => sum + collection[name], 0);
  return {
    created: sumOf('created'),
    updated: sumOf('updated'),
    deleted: sumOf('deleted'),
    isAtLeast: changesIsAtLeast,
  };
}

/** What failed, and how long requests took in the last hour that has any. */
function requestNote(hours: readonly HourOfLog[]): string {
  const failed = sumOf(hours, 'failed');
  const last = hours.findLast(({ execTimeP95 }) => execTimeP95 !== null);
  const failures = failed === 0 ? 'none failed' : `${failed.toLocaleString()} failed`;
  return last === undefined ? failures : `${failures}, p95 ${milliseconds(last.execTimeP95)}`;
}

function changeNote({ created, updated, deleted }: Changes): string {
  const parts = Object.entries({ new: created, updated, deleted }).filter(([, count]) => count > 0);
  return parts.map(([name, count]) => `${count.toLocaleString()} ${name}`).join(', ');
}

function signed(change: number): string {
  return change === 0 ? '±0' : `${change > 0 ? '+' : '−'}${Math.abs(change).toLocaleString()}`;
}

function Counts({ collections }: { readonly collections: readonly Collection[] }) {
  const { data: stats } = useQuery(collectionStatsQuery);
  if (collections.length === 0) return null;
  const byId = new Map(stats?.collections.map((one) => [one.id, one]));
  return (
    <Section title="Collections">
      <div className="panel">
        <table className="counts">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Fields</th>
              <th scope="col" className="count-number">
                Records
              </th>
            </tr>
          </thead>
          <tbody>
            {collections.map((collection) => (
              <tr key={collection.id}>
                <th scope="row">
                  <Link to="/c/$collection" params={{ collection: collection.name }}>
                    <CollectionIcon collection={collection} />
                    {collection.name}
                  </Link>
                </th>
                <td className="soft">{collection.fields.length}</td>
                <td className="count-number">
                  <RecordCount stats={byId.get(collection.id)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** A dash for a view, whose query would have to run to count its records. */
function RecordCount({ stats }: { readonly stats: Stats['collections'][number] | undefined }) {
  if (stats === undefined) return <span className="placeholder" style={{ inlineSize: 28 }} />;
  return stats.records === null ? '–' : atLeast(stats.records, stats.recordsIsAtLeast);
}
