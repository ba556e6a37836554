import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lastDayQuery } from '../../api/last-day.ts';
import { type HourOfLog, sumOf } from '../../api/logs.ts';
import { FailureNotice } from '../../parts/notice.tsx';
import { milliseconds, percent } from '../../parts/percent.ts';
import { Plot } from '../../parts/plot.tsx';
import { requestSeries } from '../../parts/request-series.ts';
import { Section } from '../../parts/section.tsx';

/** How many requests a day has had, what became of them, and how long they took. */
export function RequestPlots() {
  const { data: hours, error, refetch } = useQuery(lastDayQuery);
  const times = hours?.map(({ at }) => at.toISOString());
  return (
    <Section
      title={
        <Link className="concern-link" to="/logs">
          Requests
        </Link>
      }
      note={`the last 24 hours, by hour${hours === undefined ? '' : sharesOf(hours)}`}
    >
      {error === null ? (
        <div className="plots">
          <Plot
            caption="Requests"
            kind="bars"
            step="hour"
            times={times}
            series={requestSeries(hours ?? [])}
          />
          <Plot
            caption="Response time"
            kind="lines"
            step="hour"
            times={times}
            format={milliseconds}
            series={[
              { name: 'p95', tone: 'accent', values: hours?.map(({ execTimeP95 }) => execTimeP95) ?? [] },
            ]}
          />
        </div>
      ) : (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

/** What part of the requests failed, and what part was refused. */
function sharesOf(hours: readonly HourOfLog[]): string {
  const total = sumOf(hours, 'total');
  if (total === 0) return '';
  const shareOf = (name: 'refused' | 'failed'): string => percent(sumOf(hours, name) / total);
  return `: ${shareOf('failed')} failed, ${shareOf('refused')} refused`;
}
