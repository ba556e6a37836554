import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { basePath, call, client } from './client.ts';
import { allOf, typedCondition } from './expressions.ts';
import type { Operations, Schemas } from './schema.ts';

/** An entry of the request log. */
export type Log = Schemas['Log'];

/** What `level` of an entry says, by name. */
export const logLevels = { refused: 4, failed: 8 } as const;

export type LogLevel = keyof typeof logLevels;

export interface LogSelection {
  /** A word, or an expression of docs/filters.md. */
  readonly text: string;
  readonly level: LogLevel | undefined;
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** What of the requests of this dashboard: `only` for those that `hidden` leaves out. Refused and failed ones are never hidden. */
  readonly dashboard: 'hidden' | 'shown' | 'only';
}

/**
 * Returns the filter for a selection. What was typed comes first. Reading this log is an entry of it, too: those are left out, or a live view
 * would show nothing but itself, unless somebody asks for them.
 */
export function logFilter({ text, level, from, to, dashboard }: LogSelection): string {
  const page = { page: basePath };
  return allOf([
    ...typedCondition(text, wordTemplate),
    client.filter('created >= {:from} && created < {:to}', { from, to }),
    ...(level === undefined ? [] : [`level = ${logLevels[level]}`]),
    // The browser sends the address of a page with its requests to the same site.
    ...(dashboard === 'hidden'
      ? [client.filter('level > 0 || data.referer = null || data.referer !~ {:page}', page)]
      : []),
    ...(dashboard === 'only' ? [client.filter('level = 0 && data.referer ~ {:page}', page)] : []),
    ...(text.includes('/api/logs') ? [] : ["message !~ '/api/logs'"]),
  ]);
}

const wordTemplate = 'message ~ {:word} || data.error ~ {:word} || data.requestId = {:word} || id = {:word}';

const pageSize = 60;

/** The entries that a filter selects. */
export function logsQuery(filter: string, sort: string) {
  return infiniteQueryOptions({
    queryKey: ['logs', 'list', filter, sort],
    queryFn: async ({ pageParam, signal }) => {
      const query = { filter, sort, page: pageParam, perPage: pageSize, skipTotal: true };
      return (await call('GET /api/logs', { query, signal })).items;
    },
    initialPageParam: 1,
    getNextPageParam: (last, _pages, page) => (last.length < pageSize ? undefined : page + 1),
  });
}

/** How many entries a filter selects. */
export function logCountQuery(filter: string) {
  return queryOptions({
    queryKey: ['logs', 'count', filter],
    queryFn: async ({ signal }) =>
      (await call('GET /api/logs', { query: { filter, perPage: 1, fields: 'id' }, signal })).totalItems,
  });
}

/** How many entries a live view shows at most, as a busy service has more than anybody can read. */
export const liveLogsMax = 200;
const livePauseMs = 2_000;

/** The entries since the list was begun, read again and again. */
export function liveLogsQuery(filter: string) {
  return queryOptions({
    queryKey: ['logs', 'live', filter],
    queryFn: async ({ signal }) => {
      const query = { filter, sort: '-created', perPage: liveLogsMax, skipTotal: true };
      return (await call('GET /api/logs', { query, signal })).items;
    },
    refetchInterval: livePauseMs,
  });
}

export function logQuery(id: string) {
  return queryOptions({
    queryKey: ['logs', 'entry', id],
    queryFn: async ({ signal }) => call('GET /api/logs/{id}', { path: { id }, signal }),
    // An entry never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** What the log counts in an hour, which begins at `at`; `execTimeP95` is null where it has no request. */
export type HourOfLog = Omit<Operations['GET /api/logs/stats']['answer'][number], 'date'> & {
  readonly at: Date;
};

/** How many entries of a kind hours have together; an hour that is not known has none. */
export function sumOf(
  hours: readonly (HourOfLog | undefined)[],
  name: 'total' | 'refused' | 'failed',
): number {
  return hours.reduce((sum, hour) => sum + (hour?.[name] ?? 0), 0);
}

/** The hours in which a filter selects entries, by their beginnings in milliseconds since 1970. */
export function logHoursQuery(filter: string) {
  return queryOptions({
    queryKey: ['logs', 'hours', filter],
    queryFn: async ({ signal }) => readHours(filter, signal),
  });
}

export async function readHours(
  filter: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, HourOfLog>> {
  const hours = await call('GET /api/logs/stats', { query: { filter }, signal });
  return new Map(
    hours.map(({ date, ...counts }) => {
      const at = new Date(date.replace(' ', 'T'));
      return [at.getTime(), { at, ...counts }];
    }),
  );
}

/** A member of an entry as text; empty where the entry has none. */
export function logText({ data }: Log, name: string): string {
  const value = data[name];
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}
