import type { LogLevel } from '../../api/logs.ts';
import { parseTime } from '../../parts/time.tsx';

/** What the address of the request log holds. */
export interface LogSearch {
  readonly filter?: string;
  readonly level?: LogLevel;
  /** How far it reaches back from now: `6h`, `7d`. The default is a day. */
  readonly range?: RangeName;
  /** A time between two moments, in place of `range`. */
  readonly from?: string;
  readonly to?: string;
  readonly live?: 'yes';
  /** Dashboard requests are shown as well. */
  readonly dashboard?: 'yes';
  readonly sort?: LogSort;
  /** The id of the open entry. */
  readonly log?: string;
}

const sorted = ['created', 'level', 'message', 'data.execTime'] as const;

export type LogSort = `${'' | '-'}${(typeof sorted)[number]}`;

export const defaultSort = '-created';

/** A sort of the address; undefined for the default, and for what the list cannot be sorted by. */
export function decodeSort(text: unknown): LogSort | undefined {
  const names = sorted.flatMap((name) => [name, `-${name}`] as const);
  return names.find((name) => name === text && name !== defaultSort);
}

/** Members to set; undefined takes one away. */
export type LogChange = { readonly [Name in keyof LogSearch]?: LogSearch[Name] | undefined };

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

export type RangeName = (typeof ranges)[number]['value'];

export function decodeLogSearch(search: Readonly<Record<string, unknown>>): LogSearch {
  const { filter, level, range, from, to, live, dashboard, log } = search;
  const name = ranges.find(({ value }) => value === range)?.value;
  const sort = decodeSort(search['sort']);
  return {
    ...(isText(filter) && { filter }),
    ...((level === 'refused' || level === 'failed') && { level }),
    ...(name !== undefined && name !== '24h' && { range: name }),
    ...(isTime(from) && isTime(to) && { from, to }),
    ...(live === 'yes' && { live }),
    ...(dashboard === 'yes' && { dashboard }),
    ...(sort !== undefined && { sort }),
    ...(isText(log) && { log }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTime(value: unknown): value is string {
  return isText(value) && parseTime(value) !== undefined;
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
