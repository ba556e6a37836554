import { type HourOfLog, sumOf } from '../../api/logs.ts';
import { milliseconds } from '../../parts/percent.ts';
import { minuteText } from '../../parts/time.tsx';
import type { TimeRange } from './log-search.ts';

const height = 84;
const step = 10;
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

/** Requests by hour, or by day in a long range, with refusals and failures at the feet of the bars; and the same as a table. */
export function LogPlot({ hours, range, onChoose }: LogPlotProps) {
  const bars = toBars(hours, range);
  const most = Math.max(1, ...bars.map(({ total }) => total));
  const scale = (count: number): number => (count === 0 ? 0 : Math.max(2, (count / most) * (height - 6)));
  const width = Math.max(1, bars.length) * step;
  return (
    <figure className="log-plot" data-pending={hours === undefined ? '' : undefined}>
      <svg className="plot" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden>
        <line
          className="plot-line"
          x1="0"
          x2={width}
          y1={height - 0.5}
          y2={height - 0.5}
          vectorEffect="non-scaling-stroke"
        />
        {bars.map(({ at, to, total, refused, failed, execTimeP95 }, index) => (
          <g key={at.getTime()} className="log-bar" onClick={() => onChoose(at, to)}>
            <title>{`${minuteText(at)}: ${total} requests, ${refused} refused, ${failed} failed, p95 ${milliseconds(execTimeP95)}`}</title>
            <rect className="log-bar-space" x={index * step} width={step} y="0" height={height} />
            {[
              { tone: 'ok', count: total },
              { tone: 'retrying', count: refused + failed },
              { tone: 'failed', count: failed },
            ].map(({ tone, count }) => (
              <rect
                key={tone}
                className="plot-bar"
                data-tone={tone}
                x={index * step + 1}
                width={step - 2}
                y={height - scale(count)}
                height={scale(count)}
              />
            ))}
          </g>
        ))}
      </svg>
      <div className="plot-axis" aria-hidden>
        <span>{minuteText(range.from)}</span>
        <span>
          {most === 1 && bars.every(({ total }) => total === 0) ? '' : `at most ${most.toLocaleString()} `}
          {bars.some(({ isDay }) => isDay) ? 'a day' : 'an hour'}
        </span>
        <span>{minuteText(range.to)}</span>
      </div>
      <PlotTable bars={bars} />
    </figure>
  );
}

function PlotTable({ bars }: { readonly bars: readonly PlotBar[] }) {
  return (
    <div className="unseen">
      <table>
        <caption>Requests over time</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Requests</th>
            <th scope="col">Refused</th>
            <th scope="col">Failed</th>
            <th scope="col">p95</th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ at, total, refused, failed, execTimeP95 }) => (
            <tr key={at.getTime()}>
              <th scope="row">{minuteText(at)}</th>
              <td>{total}</td>
              <td>{refused}</td>
              <td>{failed}</td>
              <td>{milliseconds(execTimeP95)}</td>
            </tr>
          ))}
        </tbody>
      </table>
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
