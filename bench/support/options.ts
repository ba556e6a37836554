export interface BenchOptions {
  /** Alternating runs of each side. */
  readonly runs: number;
  /** Of one run. */
  readonly seconds: number;
  /** Records in the collection. */
  readonly rows: number;
}
