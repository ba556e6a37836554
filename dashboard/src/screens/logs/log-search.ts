import { searchDecoder } from '../../parts/search-decoder.ts';
import { parseTime } from '../../parts/time.tsx';

const sorted = ['created', 'level', 'message', 'data.execTime'] as const;

export const defaultSort = '-created';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const ranges = [
  { value: '1h', label: 'Last hour', durationMs: hourMs },
  { value: '6h', label: 'Last 6 hours', durationMs: 6 * hourMs },
  { value: '24h', label: 'Last 24 hours', durationMs: dayMs },
  { value: '3d', label: 'Last 3 days', durationMs: 3 * dayMs },
  { value: '7d', label: 'Last 7 days', durationMs: 7 * dayMs },
  { value: '30d', label: 'Last 30 days', durationMs: 30 * dayMs },
] as const;

const decodeMembers = searchDecoder({
  filter: 'text',
  level: ['refused', 'failed'],
  /** How far it reaches back from now: `6h`, `7d`. The default is a day. */
  range: ranges.map(({ value }) => value),
  /** A time between two moments, in place of `range`. */
  from: 'text',
  to: 'text',
  live: ['yes'],
  /** Dashboard requests are shown as well. */
  dashboard: ['yes'],
  sort: sorted.flatMap((name) => [name, `-${name}`] as const),
  /** The id of the open entry. */
  log: 'text',
});

/** What the address of the request log holds. */
export type LogSearch = ReturnType<typeof decodeMembers>;

/** Members to set; undefined takes one away. */
export type LogChange = { readonly [Name in keyof LogSearch]?: LogSearch[Name] | undefined };

export function decodeLogSearch(search: Readonly<Record<string, unknown>>): LogSearch {
  const { from = '', to = '', range, sort, ...rest } = decodeMembers(search);
  return {
    ...rest,
    ...(range !== undefined && range !== '24h' && { range }),
    ...(sort !== undefined && sort !== defaultSort && { sort }),
    ...(parseTime(from) !== undefined && parseTime(to) !== undefined && { from, to }),
  };
}

export interface TimeRange {
  readonly from: Date;
  readonly to: Date;
  /** True where it ends now, and goes on. */
  readonly isOpen: boolean;
}

/** The time that a search is about, when it is now `now`. */
export function toTimeRange({ range = '24h', from, to }: LogSearch, now: Date): TimeRange {
  const [start, end] = [parseTime(from ?? ''), parseTime(to ?? '')];
  if (start !== undefined && end !== undefined) return { from: start, to: end, isOpen: false };
  const durationMs = ranges.find(({ value }) => value === range)?.durationMs ?? dayMs;
  return { from: new Date(now.getTime() - durationMs), to: now, isOpen: true };
}

/** What an address writes for a moment: `2026-11-25T23:00:00Z`. */
export function timeText(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z');
}
