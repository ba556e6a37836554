import { execFileSync } from 'node:child_process';
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

/** Runs both sides in turns and prints a JSON line and a row of a table: medians, and the median of the ratios. */
export async function compare(comparison: Comparison, options: BenchOptions): Promise<number> {
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
    processorUs: processorOf(ours),
    ceilingProcessorUs: processorOf(ceilings),
    ratio: round(ratio),
    ratioLeast: round(Math.min(...ratios)),
    ratioMost: round(Math.max(...ratios)),
    floor: comparison.floor,
    runs,
    warmUps,
    commit: commit(),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  process.stderr.write(
    `  ${comparison.what.padEnd(34)} ${String(line.perSecond).padStart(7)}/s of ${String(line.ceilingPerSecond).padStart(7)}/s = ${line.ratio} (${line.ratioLeast}–${line.ratioMost})${verdictOf(ratio, comparison.floor)}${processorText(line)}\n`,
  );
  return ratio;
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

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
