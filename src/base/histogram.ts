/**
 * Counts values by their size. Only plain numbers: to note one costs a request nothing that could be measured. What is counted here is
 * shown by logs/metrics.ts.
 */
export class Histogram {
  /** The largest value of each class, in ascending order. One more class holds all larger values. */
  readonly bounds: readonly number[];
  /** How many values of each class there were. */
  readonly counts: Float64Array;
  /** Of all values. */
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  note(value: number): void {
    const { bounds, counts } = this;
    let place = 0;
    // Most values are small, so that a search from the beginning ends soon.
    while (place < bounds.length && value > (bounds[place] ?? 0)) place += 1;
    counts[place] = (counts[place] ?? 0) + 1;
    this.sum += value;
  }

  /** Records a time in milliseconds, which is counted in seconds. */
  noteMs(ms: number): void {
    this.note(ms / 1_000);
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0);
  }
}

/** Bounds in seconds, for what usually takes less than one. */
export const secondsBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
