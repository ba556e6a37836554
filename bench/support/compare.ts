import { readCommit } from '../../tools/build/read-commit.ts';
import type { LoadResult } from './load.ts';
import { median } from './median.ts';
import { warmUpsOf, type BenchOptions } from './options.ts';

/** One thing that is measured, and the ceiling that it is measured against. */
export interface Comparison {
  readonly what: string;
  readonly engine: string;
  /** Rows in the table, or pieces of work in one run. */
  readonly rows: number;
  /** The least ratio that counts as a result (design of the project, not of this machine); absent where none was set. */
  readonly floor?: number;
  readonly ours: () => Promise<Measurement>;
  readonly ceiling: () => Promise<Measurement>;
}

export type Measurement = Pick<LoadResult, 'perSecond' | 'p50Ms' | 'p99Ms' | 'processorUs'>;

/** What is found: medians of the runs of each side, and the median of the ratios. */
export interface ComparisonResult {
  readonly perSecond: number;
  readonly p99Ms: number;
  readonly ceilingPerSecond: number;
  readonly ceilingP99Ms: number;
  readonly ratio: number;
}

/** Runs both sides in turns, and prints what is found as a JSON line and a row of a table. */
export async function compare(comparison: Comparison, options: BenchOptions): Promise<ComparisonResult> {
  const { runs } = options;
  const warmUps = warmUpsOf(options);
  const ours: Measurement[] = [];
  const ceilings: Measurement[] = [];
  // Not counted: both sides compile and fill their caches, and the larger one is not done with that as soon as the empty one.
  for (let run = 0; run < warmUps; run += 1) {
    await comparison.ceiling();
    await comparison.ours();
  }
  for (let run = 0; run < runs; run += 1) {
    ceilings.push(await comparison.ceiling());
    ours.push(await comparison.ours());
  }
  const ratios = ours.map(
    (measurement, index) => measurement.perSecond / (ceilings[index]?.perSecond ?? Number.NaN),
  );
  const ratio = median(ratios);
  const line = {
    what: comparison.what,
    engine: comparison.engine,
    rows: comparison.rows,
    perSecond: Math.round(median(ours.map((one) => one.perSecond))),
    ceilingPerSecond: Math.round(median(ceilings.map((one) => one.perSecond))),
    p50Ms: median(ours.map((one) => one.p50Ms)),
    p99Ms: median(ours.map((one) => one.p99Ms)),
    ceilingP99Ms: median(ceilings.map((one) => one.p99Ms)),
    processorUs: processorOf(ours),
    ceilingProcessorUs: processorOf(ceilings),
    ratio: round(ratio),
    ratioLeast: round(Math.min(...ratios)),
    ratioMost: round(Math.max(...ratios)),
    floor: comparison.floor,
    runs,
    warmUps,
    commit: readCommit()?.name.slice(0, 8) ?? 'unknown',
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  process.stderr.write(
    `  ${comparison.what.padEnd(34)} ${String(line.perSecond).padStart(7)}/s of ${String(line.ceilingPerSecond).padStart(7)}/s = ${line.ratio} (${line.ratioLeast}–${line.ratioMost})${verdictOf(ratio, comparison.floor)}${processorText(line)}\n`,
  );
  return line;
}

function verdictOf(ratio: number, floor: number | undefined): string {
  return floor === undefined ? '' : `, ${ratio >= floor ? 'at or above' : 'BELOW'} the floor ${floor}`;
}

/** The median, in microseconds; undefined where the system does not tell. */
function processorOf(measurements: readonly Measurement[]): number | undefined {
  const known = measurements.flatMap(({ processorUs }) => (processorUs === undefined ? [] : [processorUs]));
  return known.length === 0 ? undefined : Math.round(median(known) * 10) / 10;
}

function processorText(line: {
  readonly processorUs: number | undefined;
  readonly ceilingProcessorUs: number | undefined;
}): string {
  const { processorUs, ceilingProcessorUs } = line;
  if (processorUs === undefined || ceilingProcessorUs === undefined) return '';
  return `; processor ${processorUs} µs, the ceiling ${ceilingProcessorUs} µs = ${round(ceilingProcessorUs / processorUs)}`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
