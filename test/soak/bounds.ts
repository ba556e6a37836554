import { median } from '../../bench/support/median.ts';
import type { Sample } from './sampler.ts';

/**
 * What a service may use, whatever the machine. Growth is measured in the second half of a run, in which nobody kills it: its last third against its
 * first. A process that has just begun still grows, as caches fill.
 */
export const bounds: Bounds = {
  memoryGrowth: 0.25,
  memoryGrowthMb: 48,
  memoryMb: 1_500,
  descriptorsGrowth: 64,
  turnMs: 2_000,
  logBytesPerChange: 16_384,
  drainMs: 120_000,
};

export interface Bounds {
  /** Growth of the memory: by so much of what it was, or by so many MB, whichever is more. */
  readonly memoryGrowth: number;
  readonly memoryGrowthMb: number;
  /** Memory of all processes together. */
  readonly memoryMb: number;
  readonly descriptorsGrowth: number;
  /** An event loop that turns for longer holds everybody up. */
  readonly turnMs: number;
  /** Bytes of the log for each acknowledged change, with its deliveries and attempts. */
  readonly logBytesPerChange: number;
  /** From the time when all receivers are well until no delivery waits. */
  readonly drainMs: number;
}

/** What a run has used: medians of the first and of the last third of its second half, and the most. */
export interface Usage {
  readonly memoryMb: readonly [first: number, last: number, most: number];
  readonly descriptors: readonly [first: number, last: number, most: number];
  readonly turnMs: number;
  readonly logBytesPerChange: number;
  readonly backlogMost: number;
  readonly drainMs: number;
}

/** Fewer say nothing of growth. */
const samplesMin = 6;

/** Returns what a run has used; undefined where the samples are too few. `quietMs` is when the second half begins. */
export function usageOf(
  samples: readonly Sample[],
  { quietMs, drainMs }: { readonly quietMs: number; readonly drainMs: number },
): Usage | undefined {
  const quiet = samples.filter(({ atMs }) => atMs >= quietMs);
  const last = samples.at(-1);
  if (quiet.length < samplesMin || last === undefined) return undefined;
  const third = Math.floor(quiet.length / 3);
  const course = (of: (sample: Sample) => number): readonly [number, number, number] => [
    median(quiet.slice(0, third).map(of)),
    median(quiet.slice(-third).map(of)),
    Math.max(...samples.map(of)),
  ];
  return {
    memoryMb: course(({ memoryMb }) => memoryMb),
    descriptors: course(({ descriptors }) => descriptors),
    turnMs: Math.max(...quiet.map(({ turnMs }) => turnMs)),
    logBytesPerChange: (last.logMb * 1e6) / last.acknowledged,
    backlogMost: Math.max(...samples.map(({ backlog }) => backlog)),
    drainMs,
  };
}

/** Returns what is beyond the bounds. */
export function checkBounds(usage: Usage | undefined, limits: Bounds = bounds): readonly string[] {
  if (usage === undefined) return ['too few samples of the second half'];
  const [memoryBefore, memory, memoryMost] = usage.memoryMb;
  const [filesBefore, files] = usage.descriptors;
  const violations: string[] = [];
  const hold = (what: string, value: number, bound: number): void => {
    if (value > bound) violations.push(`${what}: ${Math.round(value)}, more than ${Math.round(bound)}`);
  };
  const growthMb = Math.max(limits.memoryGrowthMb, memoryBefore * limits.memoryGrowth);
  hold('memory in MB after growth', memory, memoryBefore + growthMb);
  hold('descriptors after growth', files, filesBefore + limits.descriptorsGrowth);
  hold('memory in MB', memoryMost, limits.memoryMb);
  hold('longest turn in ms', usage.turnMs, limits.turnMs);
  hold('bytes of the log for each change', usage.logBytesPerChange, limits.logBytesPerChange);
  hold('milliseconds until no delivery waited', usage.drainMs, limits.drainMs);
  return violations;
}
