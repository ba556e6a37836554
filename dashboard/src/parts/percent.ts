import { duration, parseTime } from './time.tsx';

/** `99.5 %`. What is not all is never rounded up to 100. */
export function percent(rate: number | null): string {
  if (rate === null) return '–';
  const shown = rate === 1 ? 100 : Math.min(99.9, Math.round(rate * 1_000) / 10);
  return `${shown} %`;
}

/** `12`, or `10,000+` where the service has stopped counting. */
export function waitingCount(stats: {
  readonly waiting: number;
  readonly waitingIsAtLeast: boolean;
}): string {
  const { waiting, waitingIsAtLeast } = stats;
  return `${waiting.toLocaleString('en')}${waitingIsAtLeast ? '+' : ''}`;
}

/** How long ago something was; a dash for nothing. */
export function ageOf(time: string): string {
  const date = time === '' ? undefined : parseTime(time);
  return date === undefined ? '–' : duration(Math.max(1, (Date.now() - date.getTime()) / 1_000));
}

/** `0.4 ms`, `41 ms`, `1.2 s`. */
export function milliseconds(value: number | null): string {
  if (value === null) return '–';
  if (value < 10) return `${Math.round(value * 10) / 10} ms`;
  return value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1_000).toFixed(1)} s`;
}
