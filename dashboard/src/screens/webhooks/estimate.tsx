import { useQuery } from '@tanstack/react-query';
import { endpointStatsQuery } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import { deliveries } from '../../parts/delivery-words.ts';
import { Notice } from '../../parts/notice.tsx';
import { duration } from '../../parts/time.tsx';

interface EstimateProps {
  readonly endpoint: Endpoint;
  readonly total: number;
  readonly rate: number;
}

const guessMs = 100;

/** From what limits it: the rate, or how fast the receiver has answered, as often as it may be asked at once. */
export function Estimate({ endpoint, total, rate }: EstimateProps) {
  const { data: stats } = useQuery(endpointStatsQuery(endpoint.id, '24h'));
  if (total === 0) return <Notice>No delivery matches.</Notice>;
  const answerMs = stats?.total.latencyP50Ms ?? guessMs;
  const parallel = endpoint.order === 'strict' ? 1 : endpoint.maxInFlight;
  const limits = [(1_000 / Math.max(1, answerMs)) * parallel, rate, endpoint.rateLimit].filter(
    (perSecond) => perSecond > 0,
  );
  const seconds = total / Math.min(...limits);
  const isPaused = endpoint.status !== 'active';
  return (
    <div role="status">
      <Notice tone={isPaused ? 'retrying' : 'plain'}>
        <strong>
          {deliveries(total)} to 1 endpoint, {seconds < 1 ? 'within a second' : `about ${duration(seconds)}`}.
        </strong>
        {isPaused && ` The endpoint is ${endpoint.status}: they wait until it is resumed.`}
      </Notice>
    </div>
  );
}
