import { toTimestamp } from '../../base/timestamp.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { readEndpoint } from '../../endpoints/endpoint-store.ts';
import { parameterError } from '../../query/list-parameters.ts';
import type { QueryReader } from '../../query/list-query.ts';
import { timeParameter } from '../../query/time-parameter.ts';
import {
  type DayCount,
  type DayFigures,
  type DayRange,
  endpointDaysKept,
  readDays,
  roundedLatency,
} from '../endpoint-days.ts';
import { allSteps, type Percentiles } from '../endpoint-hours.ts';

const dayMs = 86_400_000;
const daysByDefault = 30;
const withinMax = 5;
const withinByDefault = [5, 60];
/** A month. */
const withinSecondsMax = 2_600_000;

/** The requested days, and the times in seconds within which deliveries are counted. */
export interface FiguresQuery extends DayRange {
  readonly within: readonly number[];
}

/** Reads the range of figures: by default the last 30 days, today included. Throws bad_request. */
export function parseFiguresQuery(query: QueryReader, now: number): FiguresQuery {
  const until = timeParameter(query, 'until') ?? now;
  const end = Math.floor(until / dayMs) + 1;
  const since = timeParameter(query, 'since') ?? (end - daysByDefault) * dayMs;
  const start = Math.floor(since / dayMs);
  if (start >= end) throw parameterError('since', 'Must not be after `until`.');
  if (end - start > endpointDaysKept)
    throw parameterError('since', `At most ${endpointDaysKept} days can be between \`since\` and \`until\`.`);
  return { start, end, within: withinOf(query.get('within') ?? '') };
}

/** Latencies are kept to two digits, so that only such times are exact. */
function withinOf(text: string): readonly number[] {
  if (text === '') return withinByDefault;
  const seconds = text.split(',').map((part) => (/^\d{1,7}(?:\.\d{1,3})?$/.test(part) ? Number(part) : 0));
  const isValid = (one: number): boolean =>
    one > 0 && one <= withinSecondsMax && roundedLatency(one * 1_000) === Math.round(one * 1_000);
  if (seconds.length <= withinMax && seconds.every(isValid)) return seconds;
  throw parameterError(
    'within',
    `Expected up to ${withinMax} numbers of seconds, such as 5,60: each of two digits at most and up to a month.`,
  );
}

/** Of the deliveries that ended on a day, or on all days. A latency is at most a tenth above the real one, and null where nothing was delivered. */
interface Figures {
  readonly delivered: number;
  readonly exhausted: number;
  readonly expired: number;
  readonly latencyP50Ms: number | null;
  readonly latencyP95Ms: number | null;
  readonly latencyP99Ms: number | null;
  /** The share of all that ended, between 0 and 1, which was delivered within each of the times; null where nothing ended. */
  readonly within: readonly { readonly seconds: number; readonly share: number | null }[];
}

export interface EndpointFigures {
  /** Its id. */
  readonly endpoint: string;
  /** The first and the last day, as `2026-11-20`, in UTC. */
  readonly since: string;
  readonly until: string;
  readonly days: readonly (Figures & { readonly day: string })[];
  readonly total: Figures;
}

/** Returns how the deliveries of an endpoint ended by days, from sums that are kept for 400 days. Throws not_found. */
export async function endpointFigures(
  instance: WebhookInstance,
  id: string,
  { start, end, within }: FiguresQuery,
): Promise<EndpointFigures> {
  const { number } = await readEndpoint(instance, id);
  const withinMs = within.map((seconds) => Math.round(seconds * 1_000));
  const figures: DayFigures = await readDays(instance.database, number, { start, end, withinMs });
  const byDay = Map.groupBy(figures.counts, ({ day }) => day);
  const days = Array.from({ length: end - start }, (_, at) => ({
    day: dayText(start + at),
    ...figuresOf(byDay.get(start + at) ?? [], within, figures.percentiles.get(at)),
  }));
  return {
    endpoint: id,
    since: dayText(start),
    until: dayText(end - 1),
    days,
    total: figuresOf(figures.counts, within, figures.percentiles.get(allSteps)),
  };
}

function dayText(day: number): string {
  return toTimestamp(day * dayMs).slice(0, 10);
}

function figuresOf(
  counts: readonly DayCount[],
  within: readonly number[],
  percentiles: Percentiles | undefined,
): Figures {
  const sumOf = (end: string, of: (count: DayCount) => number): number =>
    counts.reduce((sum, count) => sum + (count.end === end ? of(count) : 0), 0);
  const [delivered = 0, exhausted = 0, expired = 0] = ['delivered', 'exhausted', 'expired'].map((end) =>
    sumOf(end, ({ count }) => count),
  );
  const ended = delivered + exhausted + expired;
  const [p50, p95, p99] = percentiles ?? [];
  return {
    delivered,
    exhausted,
    expired,
    latencyP50Ms: p50 ?? null,
    latencyP95Ms: p95 ?? null,
    latencyP99Ms: p99 ?? null,
    within: within.map((seconds, at) => ({
      seconds,
      share: ended === 0 ? null : sumOf('delivered', (count) => count.within[at] ?? 0) / ended,
    })),
  };
}
