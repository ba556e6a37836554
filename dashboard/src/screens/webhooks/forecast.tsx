import type { EndpointCheck } from '../../api/endpoints.ts';
import { plural, shortDuration } from '../../parts/time.tsx';

const width = 480;
const radius = 4;

/** What to expect of an endpoint: how much it would be sent, and when it would be tried again. */
export function Forecast({ check }: { readonly check: EndpointCheck | undefined }) {
  if (check === undefined) return <div className="forecast panel" aria-busy />;
  const { eventsPerDay, retries } = check;
  const last = retries.at(-1);
  return (
    <div className="forecast panel" aria-live="polite">
      <p>
        {eventsPerDay === null ? (
          'Not enough data to estimate matching events yet.'
        ) : (
          <>
            Sends <strong>{amount(eventsPerDay)}</strong>, by the last week.
          </>
        )}
      </p>
      <p>
        {last === undefined
          ? 'Don’t retry.'
          : `${plural(retries.length + 1, 'attempt')}, the last one after about ${shortDuration(last)}:`}
      </p>
      {last !== undefined && <RetryLine retries={retries} last={last} />}
    </div>
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
            <title>{seconds === 0 ? 'at once' : `after ${shortDuration(seconds)}`}</title>
          </circle>
        ))}
      </svg>
      <p className="soft small">At once, then after {retries.map(shortDuration).join(', ')}.</p>
    </>
  );
}
