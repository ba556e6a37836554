import type { Attempt } from '../../api/events.ts';
import { milliseconds } from '../../parts/percent.ts';

interface Step {
  readonly name: string;
  readonly className: string;
  readonly startMs: number;
  readonly lastsMs: number;
}

/** Where the time of an attempt went. The bars are for the eye; the same is said in words below. */
export function Waterfall({ attempt }: { readonly attempt: Attempt }) {
  const steps = stepsOf(attempt);
  const wholeMs = Math.max(attempt.totalMs, 0.1);
  return (
    <div className="waterfall">
      <svg className="waterfall-bars" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden>
        {steps.map(({ name, className, startMs, lastsMs }) => (
          <rect
            key={name}
            className={className}
            x={(startMs / wholeMs) * 100}
            y={0}
            width={Math.max((lastsMs / wholeMs) * 100, 0.6)}
            height={6}
          />
        ))}
      </svg>
      <div className="waterfall-legend">
        {attempt.connectMs === null && attempt.firstByteMs !== null && <span>connection reused</span>}
        {steps.map(({ name, className, lastsMs }) => (
          <span key={name} className={className}>
            {name} {milliseconds(lastsMs)}
          </span>
        ))}
        <span className="waterfall-total">{milliseconds(attempt.totalMs)} in total</span>
      </div>
    </div>
  );
}

/** The API tells how long lookup, connection and TLS took, and when, counted from the beginning, the first byte and the end came. */
function stepsOf({ dnsMs, connectMs, tlsMs, firstByteMs, totalMs }: Attempt): readonly Step[] {
  const steps: Step[] = [];
  let startMs = 0;
  const add = (name: string, className: string, lastsMs: number): void => {
    steps.push({ name, className, startMs, lastsMs });
    startMs += lastsMs;
  };
  if (dnsMs !== null) add('DNS', 'step-dns', dnsMs);
  if (connectMs !== null) add('connect', 'step-connect', connectMs);
  if (tlsMs !== null) add('TLS', 'step-tls', tlsMs);
  if (firstByteMs !== null) {
    add('first byte', 'step-wait', Math.max(0, firstByteMs - startMs));
    add('body', 'step-body', Math.max(0, totalMs - firstByteMs));
  } else if (totalMs > startMs) add('no answer', 'step-none', totalMs - startMs);
  return steps;
}
