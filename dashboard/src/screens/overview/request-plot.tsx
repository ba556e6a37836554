import type { HourCount } from '../../api/last-day.ts';
import { localTime } from '../../parts/time.tsx';

const height = 132;
const barWidth = 10;
const step = 12;

/** Requests by hour as bars, failures at their feet; the same as a table for those who hear it. */
export function RequestPlot({ hours }: { readonly hours: readonly HourCount[] | undefined }) {
  const shown = hours ?? [];
  const most = Math.max(1, ...shown.map(({ requests }) => requests));
  const scale = (count: number): number => (count === 0 ? 0 : Math.max(2, (count / most) * (height - 8)));
  return (
    <figure className="panel plot-box">
      <svg className="plot" viewBox={`0 0 ${24 * step} ${height}`} preserveAspectRatio="none" aria-hidden>
        {[0.5, 1].map((part) => (
          <line
            key={part}
            className="plot-line"
            x1="0"
            x2={24 * step}
            y1={height - part * (height - 8)}
            y2={height - part * (height - 8)}
            vectorEffect="non-scaling-stroke"
          />
        ))}
        {shown.map(({ at, requests, failures }, index) => (
          <g key={at.getTime()}>
            <title>{`${localTime(at).slice(0, 16)}: ${requests} requests, ${failures} failed`}</title>
            <rect
              className="plot-bar"
              x={index * step + 1}
              width={barWidth}
              y={height - scale(requests)}
              height={scale(requests)}
            />
            <rect
              className="plot-bar"
              data-tone="failed"
              x={index * step + 1}
              width={barWidth}
              y={height - scale(failures)}
              height={scale(failures)}
            />
          </g>
        ))}
        <line
          className="plot-line"
          x1="0"
          x2={24 * step}
          y1={height - 0.5}
          y2={height - 0.5}
          vectorEffect="non-scaling-stroke"
        />
      </svg>
      <div className="plot-axis" aria-hidden>
        {[0, 6, 12, 18, 23].map((index) => (
          <span key={index}>
            {shown[index] === undefined ? ' ' : localTime(shown[index].at).slice(11, 16)}
          </span>
        ))}
      </div>
      <HourTable hours={shown} />
    </figure>
  );
}

function HourTable({ hours }: { readonly hours: readonly HourCount[] }) {
  return (
    <table className="unseen">
      <caption>Requests by hour</caption>
      <thead>
        <tr>
          <th scope="col">Hour</th>
          <th scope="col">Requests</th>
          <th scope="col">Failed</th>
        </tr>
      </thead>
      <tbody>
        {hours.map(({ at, requests, failures }) => (
          <tr key={at.getTime()}>
            <th scope="row">{localTime(at).slice(0, 16)}</th>
            <td>{requests}</td>
            <td>{failures}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
