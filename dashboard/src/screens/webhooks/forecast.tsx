import type { EndpointCheck } from '../../api/endpoints.ts';
import type { FilterTrial } from '../../api/filter-trial.ts';
import { plural } from '../../parts/time.tsx';
import { roughly } from './delays.ts';
import type { EndpointValues } from './endpoint-values.ts';
import { useFilterTrial } from './use-filter-trial.ts';

const width = 480;
const radius = 4;

interface ForecastProps {
  readonly check: EndpointCheck | undefined;
  readonly values: EndpointValues;
  /** Whether the service has said that nothing is wrong with the filter as it is now. */
  readonly isChecked: boolean;
}

/** What to expect of an endpoint: how much it would be sent, and when it would be tried again. */
export function Forecast({ check, values, isChecked }: ForecastProps) {
  const hasFilter = values.filter.trim() !== '';
  const trial = useFilterTrial(values, isChecked);
  if (check === undefined) return <div className="forecast panel" aria-busy />;
  const { eventsPerDay, retries } = check;
  const last = retries.at(-1);
  return (
    <div className="forecast panel" aria-live="polite">
      <p>
        {eventsPerDay === null ? (
          'How many events match cannot be said yet.'
        ) : (
          <Amount perDay={eventsPerDay} trial={trial} hasFilter={hasFilter} />
        )}
      </p>
      <p>
        {last === undefined
          ? 'A single attempt, and no other.'
          : `${plural(retries.length + 1, 'attempt')}, the last one after about ${roughly(last)}:`}
      </p>
      {last !== undefined && <RetryLine retries={retries} last={last} />}
    </div>
  );
}

interface AmountProps {
  readonly perDay: number;
  readonly trial: FilterTrial | undefined;
  readonly hasFilter: boolean;
}

/** The service leaves the filter out of its estimate: what a trial has let through is its share. */
function Amount({ perDay, trial, hasFilter }: AmountProps) {
  if (!hasFilter)
    return (
      <>
        Sends <strong>{amount(perDay)}</strong>, by the last week.
      </>
    );
  const before = `${amount(perDay)} before the filter`;
  if (trial === undefined || trial.changes === 0 || trial.unknown > 0)
    return <>At most {before}, by the last week.</>;
  return (
    <>
      Sends <strong>{amount((perDay * trial.matches) / trial.changes)}</strong>, {before}.
    </>
  );
}

function amount(perDay: number): string {
  if (perDay === 0) return 'no events';
  if (perDay < 1) return 'less than one event a day';
  return `about ${plural(Math.round(perDay), 'event')} a day`;
}

/** Attempts on a line of time. The first ones are close together, so it is a logarithmic one. */
function RetryLine({ retries, last }: { readonly retries: readonly number[]; readonly last: number }) {
  const placeOf = (seconds: number): number =>
    radius + (Math.log1p(seconds) / Math.log1p(last)) * (width - 2 * radius);
  return (
    <>
      <svg className="retry-line" viewBox={`0 0 ${width} 12`} aria-hidden>
        <line x1={radius} x2={width - radius} y1="6" y2="6" />
        {[0, ...retries].map((seconds) => (
          <circle
            key={seconds}
            cx={placeOf(seconds)}
            cy="6"
            r={radius}
            data-first={seconds === 0 || undefined}
          >
            <title>{seconds === 0 ? 'at once' : `after ${roughly(seconds)}`}</title>
          </circle>
        ))}
      </svg>
      <p className="soft small">At once, then after {retries.map(roughly).join(', ')}.</p>
    </>
  );
}
