import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { endpointStatsQuery } from '../../api/endpoints.ts';
import type { Endpoint, Lane } from '../../api/events.ts';
import { EndpointBadge } from '../../parts/endpoint-badge.tsx';
import { explainEndpoint } from '../../parts/endpoint-words.ts';
import { ageOf, percent, waitingCount } from '../../parts/percent.ts';

interface EndpointRowProps {
  readonly endpoint: Endpoint;
  readonly lane: Lane | undefined;
}

/** One endpoint at a glance. */
export function EndpointRow({ endpoint, lane }: EndpointRowProps) {
  const { data: stats } = useQuery(endpointStatsQuery(endpoint.id, '24h'));
  const { tone, word, reason } = explainEndpoint(endpoint, lane);
  const about = [endpoint.name, endpoint.description].filter((text) => text !== '').join(' · ');
  const pending = <span className="placeholder" style={{ inlineSize: 32 }} />;
  return (
    <tr>
      <td title={reason}>
        <EndpointBadge tone={tone} word={word} />
      </td>
      <td className="endpoint-target">
        <Link className="endpoint-link mono cut" to="/webhooks/$id" params={{ id: endpoint.id }}>
          {endpoint.url}
        </Link>
        {about !== '' && <span className="faint small cut">{about}</span>}
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
