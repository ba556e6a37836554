import { useQuery } from '@tanstack/react-query';
import { choicesOf } from '../../api/members-of.ts';
import { endpointStatsQuery, laneQuery, type Span } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import { mayChangeWebhooks } from '../../api/session.ts';
import { Countdown } from '../../parts/countdown.tsx';
import { EndpointBadge } from '../../parts/endpoint-badge.tsx';
import { explainEndpoint } from '../../parts/endpoint-words.ts';
import { EndpointFigures } from '../../parts/endpoint-figures.tsx';
import { Figure } from '../../parts/figure.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Plot } from '../../parts/plot.tsx';
import { Segments } from '../../parts/radio-list.tsx';
import { Section } from '../../parts/section.tsx';
import { plural } from '../../parts/time.tsx';
import { FailureGroups } from './failure-groups.tsx';
import { TryNow } from './pause-resume.tsx';
import { SentCard } from './sent-card.tsx';
import { ageOf, milliseconds, percent, waitingCount } from '../../parts/percent.ts';

interface OverviewTabProps {
  readonly endpoint: Endpoint;
  readonly span: Span;
  readonly onSpan: (span: Span) => void;
}

const spanChoices = choicesOf<Span>({ '24h': '24 hours', '7d': '7 days', '30d': '30 days' });

/** What an endpoint is sent, how it stands, how it has done, and why what failed has failed. */
export function OverviewTab({ endpoint, span, onSpan }: OverviewTabProps) {
  const stats = useQuery(endpointStatsQuery(endpoint.id, span));
  const { step = 'hour', times, columns } = stats.data ?? {};
  const common = { step, times };
  return (
    <>
      <SentCard endpoint={endpoint} />
      <Standing endpoint={endpoint} />
      <Figures endpoint={endpoint} />
      <Section
        title="Attempts"
        actions={<Segments label="Time" choices={spanChoices} value={span} onChange={onSpan} />}
      >
        {stats.isError ? (
          <FailureNotice error={stats.error} onRetry={() => void stats.refetch()} />
        ) : (
          <div className="plots">
            <Plot
              {...common}
              caption="Attempts"
              kind="bars"
              series={[
                { name: 'delivered', tone: 'ok', values: columns?.delivered ?? [] },
                { name: 'failed', tone: 'failed', values: columns?.failed ?? [] },
              ]}
            />
            <Plot
              {...common}
              caption="Latency of deliveries"
              kind="lines"
              format={milliseconds}
              series={[
                { name: 'p50', tone: 'ok', values: columns?.latencyP50Ms ?? [] },
                { name: 'p95', tone: 'retrying', values: columns?.latencyP95Ms ?? [] },
                { name: 'p99', tone: 'failed', values: columns?.latencyP99Ms ?? [] },
              ]}
            />
          </div>
        )}
      </Section>
      <EndpointFigures id={endpoint.id} />
      <FailureGroups endpoint={endpoint} />
    </>
  );
}

function Standing({ endpoint }: { readonly endpoint: Endpoint }) {
  const { data: lane } = useQuery(laneQuery(endpoint.id));
  const { data: stats } = useQuery(endpointStatsQuery(endpoint.id, '24h'));
  const { tone, word, reason, next } = explainEndpoint(endpoint, lane ?? undefined, stats?.total);
  return (
    <div className="standing panel" data-tone={tone}>
      <div className="delivery-verdict">
        <EndpointBadge tone={tone} word={word} />
        {next !== '' && (
          <span className="soft">
            next try <Countdown until={next} />
          </span>
        )}
        {endpoint.status === 'active' && next !== '' && mayChangeWebhooks() && <TryNow endpoint={endpoint} />}
      </div>
      {reason !== '' && <p className="delivery-reason">{reason}</p>}
      {endpoint.name !== '' && endpoint.description !== '' && (
        <p className="soft wrap">{endpoint.description}</p>
      )}
      <p className="mono soft wrap">{endpoint.url}</p>
    </div>
  );
}

/** Of the last day, whatever the plots show. */
function Figures({ endpoint }: { readonly endpoint: Endpoint }) {
  const { data: stats } = useQuery(endpointStatsQuery(endpoint.id, '24h'));
  const total = stats?.total;
  return (
    <section className="figures" aria-label="The last 24 hours">
      <Figure name="Success, 24 h" value={total && percent(total.successRate)}>
        {total && `${plural(total.attempts, 'attempt')}, ${total.failed.toLocaleString()} failed`}
      </Figure>
      <Figure name="p50" value={total && milliseconds(total.latencyP50Ms)}>
        half are faster
      </Figure>
      <Figure name="p95" value={total && milliseconds(total.latencyP95Ms)}>
        19 of 20 are faster
      </Figure>
      <Figure name="p99" value={total && milliseconds(total.latencyP99Ms)}>
        99 of 100 are faster
      </Figure>
      <Figure name="Waiting" value={stats && waitingCount(stats)}>
        {stats?.waiting === 0 ? 'everything is sent' : 'still to be sent'}
      </Figure>
      <Figure name="Oldest waiting" value={stats && ageOf(stats.oldestWaiting)}>
        since its event
      </Figure>
    </section>
  );
}
