import { type HourOfLog, sumOf } from '../../api/logs.ts';
import { Plot } from '../../parts/plot.tsx';
import { requestSeries } from '../../parts/request-series.ts';
import type { TimeRange } from './log-search.ts';

const hourMs = 3_600_000;
/** From here on a bar is a day: more bars than this are narrower than a pointer. */
const barsMax = 170;

interface LogPlotProps {
  /** Undefined as long as they are being counted. */
  readonly hours: ReadonlyMap<number, HourOfLog> | undefined;
  readonly range: TimeRange;
  /** Shows the time of one bar only. */
  readonly onChoose: (from: Date, to: Date) => void;
}

/** Requests by hour, or by day in a long range, and how they ended. */
export function LogPlot({ hours, range, onChoose }: LogPlotProps) {
  const bars = toBars(hours, range);
  return (
    <div className="log-plot" data-pending={hours === undefined ? '' : undefined}>
      <Plot
        caption="Requests"
        kind="bars"
        step={bars.some(({ isDay }) => isDay) ? 'day' : 'hour'}
        times={bars.map(({ at }) => at.toISOString())}
        series={requestSeries(bars)}
        also={[
          { name: 'in all', tone: 'accent', values: bars.map(({ total }) => total) },
          { name: 'p95 in ms', tone: 'accent', values: bars.map(({ execTimeP95 }) => execTimeP95) },
        ]}
        onChoose={(index) => {
          const bar = bars[index];
          if (bar !== undefined) onChoose(bar.at, bar.to);
        }}
      />
    </div>
  );
}

/** What happened in an hour or in a day, of which `execTimeP95` is that of the slowest hour. */
interface PlotBar extends HourOfLog {
  readonly to: Date;
  readonly isDay: boolean;
}

/** A bar for each hour of the range, also for those without a request. */
function toBars(
  hours: ReadonlyMap<number, HourOfLog> | undefined,
  { from, to }: TimeRange,
): readonly PlotBar[] {
  const first = Math.floor(from.getTime() / hourMs) * hourMs;
  const count = Math.max(1, Math.ceil((to.getTime() - first) / hourMs));
  const isDay = count > barsMax;
  const size = isDay ? 24 : 1;
  return Array.from({ length: Math.ceil(count / size) }, (_, index) => {
    const start = first + index * size * hourMs;
    const within = Array.from({ length: size }, (_hour, hour) => hours?.get(start + hour * hourMs));
    const times = within.flatMap((hour) => hour?.execTimeP95 ?? []);
    return {
      at: new Date(start),
      to: new Date(start + size * hourMs),
      isDay,
      total: sumOf(within, 'total'),
      refused: sumOf(within, 'refused'),
      failed: sumOf(within, 'failed'),
      execTimeP95: times.length === 0 ? null : Math.max(...times),
    };
  });
}
