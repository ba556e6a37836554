import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lastDayQuery } from '../../api/last-day.ts';
import type { HourOfLog } from '../../api/logs.ts';
import { FailureNotice } from '../../parts/notice.tsx';
import { milliseconds, percent } from '../../parts/percent.ts';
import { Plot } from '../../parts/plot.tsx';

/** How many requests a day has had, what became of them, and how long they took. */
export function RequestPlots() {
  const { data: hours, error, refetch } = useQuery(lastDayQuery);
  const times = hours?.map(({ at }) => at.toISOString());
  const valuesOf = <Value,>(of: (hour: HourOfLog) => Value): readonly Value[] => hours?.map(of) ?? [];
  return (
    <section className="section" aria-labelledby="requests">
      <div className="section-head">
        <h2 id="requests">
          <Link className="concern-link" to="/logs">
            Requests
          </Link>
        </h2>
        <span className="faint">the last 24 hours, by hour{hours !== undefined && sharesOf(hours)}</span>
      </div>
      {error === null ? (
        <div className="plots">
          <Plot
            caption="Requests"
            kind="bars"
            step="hour"
            times={times}
            series={[
              {
                name: 'answered',
                tone: 'accent',
                values: valuesOf(({ total, refused, failed }) => total - refused - failed),
              },
              { name: 'refused', tone: 'retrying', values: valuesOf(({ refused }) => refused) },
              { name: 'failed', tone: 'failed', values: valuesOf(({ failed }) => failed) },
            ]}
          />
          <Plot
            caption="Response time"
            kind="lines"
            step="hour"
            times={times}
            format={milliseconds}
            series={[{ name: 'p95', tone: 'accent', values: valuesOf(({ execTimeP95 }) => execTimeP95) }]}
          />
        </div>
      ) : (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      )}
    </section>
  );
}

/** Of how many requests the service has made nothing, and of how many it wanted to make nothing. */
function sharesOf(hours: readonly HourOfLog[]): string {
  const [total, refused, failed] = (['total', 'refused', 'failed'] as const).map((name) =>
    hours.reduce((sum, hour) => sum + hour[name], 0),
  );
  if (total === undefined || total === 0) return '';
  return `: ${percent((failed ?? 0) / total)} failed, ${percent((refused ?? 0) / total)} refused`;
}
