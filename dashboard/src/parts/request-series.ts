import type { HourOfLog } from '../api/logs.ts';
import type { Series } from './plot.tsx';

/** How requests ended, as bars of a plot. */
export function requestSeries(hours: readonly HourOfLog[]): readonly Series[] {
  return [
    {
      name: 'answered',
      tone: 'accent',
      values: hours.map(({ total, refused, failed }) => total - refused - failed),
    },
    { name: 'refused', tone: 'retrying', values: hours.map(({ refused }) => refused) },
    { name: 'failed', tone: 'failed', values: hours.map(({ failed }) => failed) },
  ];
}
