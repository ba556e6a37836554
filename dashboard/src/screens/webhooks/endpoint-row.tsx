import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { endpointStatsQuery } from '../../api/endpoints.ts';
import type { Endpoint, Lane } from '../../api/events.ts';
import { EndpointBadge } from '../../parts/endpoint-badge.tsx';
import { endpointName, explainEndpoint } from '../../parts/endpoint-words.ts';
import { ageOf, percent, waitingCount } from '../../parts/percent.ts';

interface EndpointRowProps {
  readonly endpoint: Endpoint;
  readonly lane: Lane | undefined;
}

/** One endpoint at a glance. */
export function EndpointRow({ endpoint, lane }: EndpointRowProps) {
  const { data: stats } = useQuery(endpointStatsQuery(endpoint.id, '24h'));
  const { tone, word, reason } = explainEndpoint(endpoint, lane, stats?.total);
  const { name, description, url } = endpoint;
  const title = endpointName(endpoint);
  const about = [name === '' ? '' : description, title === url ? '' : url].filter((text) => text !== '');
  const pending = <span className="placeholder" style={{ inlineSize: 32 }} />;
  return (
    <tr>
      <td title={reason}>
        <EndpointBadge tone={tone} word={word} />
      </td>
      <td className="table-main">
        <Link
          className={title === url ? 'table-link mono cut' : 'table-link cut'}
          to="/webhooks/$id"
          params={{ id: endpoint.id }}
        >
          {title}
        </Link>
        {about.length > 0 && <span className="faint small cut">{about.join(' · ')}</span>}
      </td>
      <td className="number" data-label="Success, 24 h">
        {stats === undefined ? pending : percent(stats.total.successRate)}
      </td>
      <td className="number" data-label="Waiting">
        {stats === undefined ? pending : waitingCount(stats)}
      </td>
      <td className="number" data-label="Oldest">
        {stats === undefined ? pending : ageOf(stats.oldestWaiting)}
      </td>
    </tr>
  );
}
