import { dayText, minuteText, parseTime, shortTime } from './time.tsx';

/** One line or one kind of bar. */
export interface Series {
  readonly name: string;
  readonly tone: 'accent' | 'ok' | 'failed' | 'waiting' | 'retrying';
  /** One for each time; null where there is nothing to tell. */
  readonly values: readonly (number | null)[];
}

interface PlotProps {
  /** What the plot and its table are about. */
  readonly caption: string;
  readonly step: 'hour' | 'day';
  /** Undefined as long as they are on their way; the place is kept. */
  readonly times: readonly string[] | undefined;
  readonly series: readonly Series[];
  /** Bars stand on each other; lines are levels beside each other. */
  readonly kind: 'bars' | 'lines';
  readonly format?: (value: number) => string;
  /** What is told of each time and not drawn. */
  readonly also?: readonly Series[];
  /** A press on a column, by its index. */
  readonly onChoose?: (index: number) => void;
}

const height = 112;
const room = 8;
const width = 12;
/** Of more hours than these, the axis shows days. */
const dayHours = 48;

/** Figures by hours or days as a picture, with the same as a table for those who hear it. Nothing but SVG. */
export function Plot(props: PlotProps) {
  const { caption, step, times = [], series, kind, also = [], onChoose } = props;
  const format = props.format ?? ((value) => value.toLocaleString());
  const most = peakOf(series, times.length, kind);
  const yOf = (value: number): number => (most === 0 ? 0 : (value / most) * (height - room));
  const span = Math.max(1, times.length) * width;
  const labels = times.map((time) => labelOf(time, step));
  return (
    <figure className="panel plot-box">
      <figcaption className="plot-head">
        <span className="plot-title">{caption}</span>
        <span className="plot-legend">
          {series.map(({ name, tone }) => (
            <span key={name} data-tone={tone}>
              {name}
            </span>
          ))}
        </span>
        <span className="plot-peak">{most > 0 && `peak ${format(most)}`}</span>
      </figcaption>
      <svg className="plot" viewBox={`0 0 ${span} ${height}`} preserveAspectRatio="none" aria-hidden>
        {[0, 0.5, 1].map((part) => (
          <line
            key={part}
            className="plot-line"
            x1="0"
            x2={span}
            y1={height - 0.5 - part * (height - room)}
            y2={height - 0.5 - part * (height - room)}
            vectorEffect="non-scaling-stroke"
          />
        ))}
        {labels.map((label, index) => (
          <g key={label} className="plot-place" onClick={onChoose && (() => onChoose(index))}>
            <title>{`${label}: ${valuesAt(index, [...series, ...also], format).join(', ')}`}</title>
            {/* The whole column answers to the pointer, not only what is drawn. */}
            <rect className="plot-column" x={index * width} width={width} y="0" height={height} />
            <Marks series={series} index={index} kind={kind} yOf={yOf} />
          </g>
        ))}
        {kind === 'lines' && <Lines series={series} yOf={yOf} />}
      </svg>
      <div className="plot-axis" aria-hidden>
        {axisOf(times.length).map((index) => (
          <span key={index}>
            {labels[index] === undefined
              ? ' '
              : shortLabel(times[index] ?? '', times.length > dayHours ? 'day' : step)}
          </span>
        ))}
      </div>
      <PlotTable caption={caption} step={step} labels={labels} series={[...series, ...also]} />
    </figure>
  );
}

interface MarksProps {
  readonly series: readonly Series[];
  readonly index: number;
  readonly kind: 'bars' | 'lines';
  readonly yOf: (value: number) => number;
}

function Marks({ series, index, kind, yOf }: MarksProps) {
  let base = 0;
  return series.map(({ name, tone, values }) => {
    const value = values[index] ?? null;
    if (value === null || (kind === 'bars' && value === 0)) return null;
    // Its line joins it to its neighbours; one that has none is seen as a mark.
    if (kind === 'lines' && (values[index - 1] ?? values[index + 1] ?? null) !== null) return null;
    const start = base;
    if (kind === 'bars') base += value;
    const top = height - yOf(start + value);
    const length = kind === 'bars' ? Math.max(2, yOf(value)) : 2;
    return (
      <rect
        key={name}
        className="plot-mark"
        data-tone={tone}
        data-series={name}
        data-value={value}
        x={index * width + (kind === 'bars' ? 1 : 0)}
        width={kind === 'bars' ? width - 2 : width}
        y={kind === 'bars' ? Math.min(top, height - 2) : Math.min(top, height - length)}
        height={length}
      />
    );
  });
}

/** Joins the values of a series; where one is missing, its line has a gap. */
function Lines({ series, yOf }: Pick<MarksProps, 'series' | 'yOf'>) {
  return series.map(({ name, tone, values }) => {
    const points = values.map((value, index) => {
      if (value === null) return '';
      const command = (values[index - 1] ?? null) === null ? 'M' : 'L';
      return `${command}${(index + 0.5) * width} ${Math.max(1, height - 1 - yOf(value))}`;
    });
    return (
      <path
        key={name}
        className="plot-trace"
        data-tone={tone}
        d={points.join('')}
        vectorEffect="non-scaling-stroke"
      />
    );
  });
}

interface PlotTableProps {
  readonly caption: string;
  readonly step: 'hour' | 'day';
  readonly labels: readonly string[];
  readonly series: readonly Series[];
}

function PlotTable({ caption, step, labels, series }: PlotTableProps) {
  return (
    <div className="unseen">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{step === 'hour' ? 'Hour' : 'Day'}</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {labels.map((label, index) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {series.map(({ name, values }) => (
                <td key={name}>{values[index] ?? '–'}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function peakOf(series: readonly Series[], count: number, kind: 'bars' | 'lines'): number {
  const heights = Array.from({ length: count }, (_, index) => {
    const values = series.map(({ values: all }) => all[index] ?? 0);
    return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  });
  return Math.max(0, ...heights);
}

/** Hours are those of the reader; days are those of the service, which counts them in UTC. */
function labelOf(time: string, step: 'hour' | 'day'): string {
  const date = parseTime(time);
  if (date === undefined) return time;
  return step === 'day' ? dayText(date) : minuteText(date);
}

function shortLabel(time: string, step: 'hour' | 'day'): string {
  const date = parseTime(time);
  return date === undefined ? time : shortTime(date, step);
}

function axisOf(count: number): readonly number[] {
  if (count < 2) return [0];
  return [0, 1, 2, 3, 4].map((part) => Math.round((part / 4) * (count - 1)));
}

function valuesAt(
  index: number,
  series: readonly Series[],
  format: (value: number) => string,
): readonly string[] {
  return series.map(({ name, values }) => {
    const value = values[index] ?? null;
    return `${name} ${value === null ? '–' : format(value)}`;
  });
}
