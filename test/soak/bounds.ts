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
}

/** Fewer say nothing of growth. */
const samplesMin = 6;

/** Returns what is beyond the bounds. `quietMs` is when the second half begins. */
export function checkBounds(
  samples: readonly Sample[],
  quietMs: number,
  limits: Bounds = bounds,
): readonly string[] {
  const quiet = samples.filter(({ atMs }) => atMs >= quietMs);
  const last = samples.at(-1);
  if (quiet.length < samplesMin || last === undefined)
    return [`only ${quiet.length} samples of the second half`];
  const third = Math.floor(quiet.length / 3);
  const [first, final] = [quiet.slice(0, third), quiet.slice(-third)];
  const violations: string[] = [];
  const hold = (what: string, value: number, bound: number): void => {
    if (value > bound) violations.push(`${what}: ${Math.round(value)}, more than ${Math.round(bound)}`);
  };
  const [memoryBefore, memory] = [first, final].map((part) => median(part.map((one) => one.memoryMb)));
  const [filesBefore, files] = [first, final].map((part) => median(part.map((one) => one.descriptors)));
  const growthMb = Math.max(limits.memoryGrowthMb, (memoryBefore ?? 0) * limits.memoryGrowth);
  hold('memory in MB after growth', memory ?? 0, (memoryBefore ?? 0) + growthMb);
  hold('descriptors after growth', files ?? 0, (filesBefore ?? 0) + limits.descriptorsGrowth);
  hold('memory in MB', Math.max(...samples.map(({ memoryMb }) => memoryMb)), limits.memoryMb);
  hold('longest turn in ms', Math.max(...quiet.map(({ turnMs }) => turnMs)), limits.turnMs);
  hold('bytes of the log', last.logMb * 1e6, last.acknowledged * limits.logBytesPerChange);
  return violations;
}
