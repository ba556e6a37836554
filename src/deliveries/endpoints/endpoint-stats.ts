import { toTimestamp } from '../../base/timestamp.ts';
import { parameterError } from '../../query/list-parameters.ts';
import type { QueryReader } from '../../query/list-query.ts';
import { timeParameter } from '../../query/time-parameter.ts';
import { countEventsBySteps } from '../log/count-events.ts';
import { backlogMax, countWaitingOf, readBacklog, waitingCountMax } from '../log/count-waiting.ts';
import {
  allSteps,
  bucketMs,
  type FailingEndpoint,
  type HourCounts,
  type HourRange,
  type Percentiles,
  readAllHours,
  readFailing,
  readHours,
  type StepCount,
} from '../endpoint-hours.ts';
import { type EndpointMatches, findNeverMatched, readMatches } from '../log/endpoint-matches.ts';
import { readEndpoint } from '../../endpoints/endpoint-store.ts';
import { readLane } from '../list-lanes.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

const hourMs = 3_600_000;
const stepHours = { hour: 1, day: 24 } as const;
export const statsSteps = ['hour', 'day'] as const;
/** A month of hours, or two years of days. */
const statsStepsMax = 744;

/** The requested hours, as numbers of hours since 1970. */
interface StatsRange {
  readonly start: number;
  readonly end: number;
  readonly step: 'hour' | 'day';
}

/** Reads the time range of statistics: by default the last 24 hours. Throws bad_request. */
export function parseStatsQuery(query: QueryReader, now: number): StatsRange {
  const to = timeParameter(query, 'to') ?? now;
  const from = timeParameter(query, 'from') ?? to - 24 * hourMs;
  if (from >= to) throw parameterError('from', 'Must be before `to`.');
  const stepName = query.get('step') || (to - from > 7 * 24 * hourMs ? 'day' : 'hour');
  const step = statsSteps.find((one) => one === stepName);
  if (step === undefined) throw parameterError('step', `Must be one of ${statsSteps.join(', ')}.`);
  const hours = stepHours[step];
  const start = Math.floor(from / hourMs / hours) * hours;
  const end = Math.ceil(to / hourMs / hours) * hours;
  if ((end - start) / hours > statsStepsMax)
    throw parameterError('step', `At most ${statsStepsMax} of them can be between \`from\` and \`to\`.`);
  return { start, end, step };
}

/** Of attempts between two times. A latency is that of attempts that succeeded, to two digits, and null where there are none. */
interface Figures {
  readonly attempts: number;
  readonly delivered: number;
  readonly failed: number;
  readonly exhausted: number;
  readonly latencyP50Ms: number | null;
  readonly latencyP95Ms: number | null;
  readonly latencyP99Ms: number | null;
}

/** A value of each step of time. */
type Columns<Values> = { readonly [name in keyof Values]: readonly Values[name][] };

/** Of all steps together. */
interface Total extends Figures {
  /** Between 0 and 1; null when nothing was attempted. */
  readonly successRate: number | null;
  /** Failed attempts by their kind. */
  readonly failures: Readonly<Record<string, number>>;
}

/** The results of attempts: in total, and by columns with a value for each step of time. */
interface Stats {
  readonly step: string;
  /** The time at which each step begins. */
  readonly times: readonly string[];
  readonly columns: Columns<Figures>;
  readonly total: Total;
}

/** The pending deliveries. */
interface BacklogStats {
  /** How many deliveries; not more than `waitingMax` are counted. */
  readonly waiting: number;
  readonly waitingMax: number;
  /** Whether there are more than are counted. */
  readonly waitingIsAtLeast: boolean;
  /** The time of the oldest event; empty when there is none. */
  readonly oldestWaiting: string;
}

export interface EndpointStats extends Stats, BacklogStats, EndpointMatches {
  /** When its client certificate expires; empty without one. */
  readonly certificateExpires: string;
  readonly endpoint: string;
  readonly state: string;
}

/** Returns statistics of an endpoint, which are stored as sums, not computed from the log. Throws not_found. */
export async function endpointStats(
  instance: WebhookInstance,
  id: string,
  range: StatsRange,
): Promise<EndpointStats> {
  const { database, clock } = instance;
  const endpoint = await readEndpoint(instance, id);
  const { number } = endpoint;
  const counts = await readHours(database, number, hoursOf(range));
  const { state } = await readLane(database, number);
  const { waiting, isAtLeast, oldest } = await countWaitingOf(database, number);
  return {
    endpoint: id,
    ...statsOf(counts, range),
    state,
    waiting,
    waitingMax: waitingCountMax,
    waitingIsAtLeast: isAtLeast,
    oldestWaiting: oldest ?? '',
    certificateExpires: endpoint.clientCertificate?.expires ?? '',
    ...(await readMatches(database, endpoint, { now: clock.now() })),
  };
}

/** Figures with those of the events themselves, with or without recipients; null where they were trimmed, or are too many to count. */
interface InstanceFigures extends Figures {
  readonly events: number | null;
}

export interface InstanceStats extends Stats, BacklogStats {
  /** The beginning of the first step, and the end of the last one. */
  readonly from: string;
  readonly to: string;
  readonly columns: Columns<InstanceFigures>;
  readonly total: Total & InstanceFigures;
  readonly failing: readonly FailingEndpoint[];
  /** The ids of endpoints whose filter matched no change since their creation, although there were some. */
  readonly neverMatched: readonly string[];
}

/** Returns statistics of all endpoints together, without the backlogs of paused ones. */
export async function instanceStats(
  { database, endpoints, clock }: Pick<WebhookInstance, 'database' | 'endpoints' | 'clock'>,
  range: StatsRange,
): Promise<InstanceStats> {
  const hours = hoursOf(range);
  const { columns, total, ...stats } = statsOf(await readAllHours(database, hours), range);
  const events = await countEventsBySteps(database, hours);
  const failing = await readFailing(database, hours);
  const { waiting, oldest } = await readBacklog(database);
  const neverMatched = await findNeverMatched(database, await endpoints.all(database), clock.now());
  return {
    from: toTimestamp(range.start * hourMs),
    to: toTimestamp(range.end * hourMs),
    ...stats,
    columns: { events, ...columns },
    total: { events: sumOfAll(events), ...total },
    failing,
    neverMatched: neverMatched.map(({ id }) => id),
    waiting: Math.min(waiting, backlogMax),
    waitingMax: backlogMax,
    waitingIsAtLeast: waiting > backlogMax,
    oldestWaiting: oldest ?? '',
  };
}

/** Returns the sum, null where a part is unknown. */
function sumOfAll(counts: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const count of counts) {
    if (count === null) return null;
    sum += count;
  }
  return sum;
}

function hoursOf({ start, end, step }: StatsRange): HourRange {
  return { start, end, hours: stepHours[step] };
}

function statsOf({ counts, percentiles }: HourCounts, { start, end, step }: StatsRange): Stats {
  const hours = stepHours[step];
  const byStep = Map.groupBy(counts, (count) => count.step);
  const steps = Array.from({ length: (end - start) / hours }, (_, at) =>
    figuresOf(byStep.get(at) ?? [], percentiles.get(at)),
  );
  const total = figuresOf(counts, percentiles.get(allSteps));
  const { attempts, delivered } = total;
  return {
    step,
    times: steps.map((_, at) => toTimestamp((start + at * hours) * hourMs)),
    columns: {
      attempts: steps.map((figures) => figures.attempts),
      delivered: steps.map((figures) => figures.delivered),
      failed: steps.map((figures) => figures.failed),
      exhausted: steps.map((figures) => figures.exhausted),
      latencyP50Ms: steps.map((figures) => figures.latencyP50Ms),
      latencyP95Ms: steps.map((figures) => figures.latencyP95Ms),
      latencyP99Ms: steps.map((figures) => figures.latencyP99Ms),
    },
    total: {
      ...total,
      successRate: attempts === 0 ? null : delivered / attempts,
      failures: failuresOf(counts),
    },
  };
}

function figuresOf(counts: readonly StepCount[], percentiles: Percentiles | undefined): Figures {
  const sumOf = (isCounted: (result: string) => boolean): number =>
    counts.reduce((sum, { result, count }) => sum + (isCounted(result) ? count : 0), 0);
  const exhausted = sumOf((result) => result === 'exhausted');
  const delivered = sumOf((result) => result === 'success');
  const attempts = sumOf((result) => result !== 'exhausted');
  const [p50, p95, p99] = (percentiles ?? []).map((bucket) => Number(bucketMs(bucket).toPrecision(2)));
  return {
    attempts,
    delivered,
    failed: attempts - delivered,
    exhausted,
    latencyP50Ms: p50 ?? null,
    latencyP95Ms: p95 ?? null,
    latencyP99Ms: p99 ?? null,
  };
}

function failuresOf(counts: readonly StepCount[]): Readonly<Record<string, number>> {
  const failures = new Map<string, number>();
  for (const { result, count } of counts)
    if (result !== 'success' && result !== 'exhausted')
      failures.set(result, (failures.get(result) ?? 0) + count);
  return Object.fromEntries([...failures].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
