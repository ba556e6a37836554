import { useEffect, useState } from 'react';
import { parseTime } from './time.tsx';

const secondMs = 1_000;
const minuteSeconds = 60;
const hourSeconds = 3_600;

/** How long it is until a moment, second by second: `in 2 min 05 s`. Afterwards `now`, as what is due may take a moment to begin. */
export function Countdown({ until }: { readonly until: string }) {
  const at = parseTime(until)?.getTime() ?? 0;
  const [now, setNow] = useState(() => Date.now());
  const isOver = now >= at;
  useEffect(() => {
    if (isOver) return undefined;
    const timer = setInterval(() => setNow(Date.now()), secondMs);
    return () => clearInterval(timer);
  }, [isOver, at]);
  return (
    <time dateTime={until.replace(' ', 'T')} title={until.replace('Z', ' UTC')} role="timer">
      {isOver ? 'now' : `in ${inUnits(Math.ceil((at - now) / secondMs))}`}
    </time>
  );
}

function inUnits(seconds: number): string {
  if (seconds < minuteSeconds) return `${seconds} s`;
  if (seconds < hourSeconds)
    return `${Math.floor(seconds / minuteSeconds)} min ${String(seconds % minuteSeconds).padStart(2, '0')} s`;
  const minutes = Math.floor((seconds % hourSeconds) / minuteSeconds);
  return `${Math.floor(seconds / hourSeconds)} h ${String(minutes).padStart(2, '0')} min`;
}
