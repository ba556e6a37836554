import { duration, parseTime } from './time.tsx';

const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });

/** `99.5%`. What is not all is never rounded up to 100. */
export function percent(rate: number | null): string {
  if (rate === null) return '–';
  return percents.format(rate === 1 ? 1 : Math.min(0.999, rate));
}

/** `12`, or `10,000+` where the service has stopped counting. */
export function waitingCount(stats: {
  readonly waiting: number;
  readonly waitingIsAtLeast: boolean;
}): string {
  const { waiting, waitingIsAtLeast } = stats;
  return `${waiting.toLocaleString()}${waitingIsAtLeast ? '+' : ''}`;
}

/** How long ago something was; a dash for nothing. */
export function ageOf(time: string): string {
  const date = time === '' ? undefined : parseTime(time);
  return date === undefined ? '–' : duration(Math.max(1, (Date.now() - date.getTime()) / 1_000));
}

/** `0.4 ms`, `41 ms`, `1.2 s`. */
export function milliseconds(value: number | null): string {
  if (value === null) return '–';
  const [number, unit] = value < 1_000 ? [value, 'ms'] : [value / 1_000, 's'];
  const digits = value < 10 || value >= 1_000 ? 1 : 0;
  return `${number.toLocaleString(undefined, { maximumFractionDigits: digits })} ${unit}`;
}
