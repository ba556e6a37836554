/** The middle of a ratio over several runs, and where it lies with 95 % certainty. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Student's t for 95 %, two-sided, by degrees of freedom from 1; beyond, the normal distribution is close enough. */
const tOf = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086,
];
const tBeyond = 1.96;

/** Of ratios by their logarithms, so that twice as fast and half as fast lie equally far from one. Takes at least two. */
export function intervalOf(ratios: readonly number[]): Interval {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
  const reach = (tOf[logs.length - 2] ?? tBeyond) * Math.sqrt(variance / logs.length);
  return { mean: Math.exp(mean), low: Math.exp(mean - reach), high: Math.exp(mean + reach) };
}
