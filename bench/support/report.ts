import { loadavg } from 'node:os';
import { engineOf, type BenchOptions } from './options.ts';

/** What a benchmark without a ceiling has found: its figures, and a sentence with them and their target. */
export interface Finding {
  readonly what: string;
  readonly figures: Readonly<Record<string, number | readonly number[] | undefined>>;
  readonly sentence: string;
}

/** Prints a line of JSON, in which figures have three decimals, and the sentence. */
export function report({ what, figures, sentence }: Finding, options: BenchOptions): void {
  const [load = Number.NaN] = loadavg();
  const line = { what, engine: engineOf(options), ...figures, runs: options.runs, loadAverage: load };
  const json = JSON.stringify(line, (_, value: unknown) =>
    typeof value === 'number' ? Math.round(value * 1_000) / 1_000 : value,
  );
  process.stdout.write(`${json}\n`);
  process.stderr.write(`  ${what}: ${sentence}\n`);
}

/** Says whether a figure is what it may be at the most. */
export function verdictOf(value: number, max: number): string {
  return `${value <= max ? 'within' : 'ABOVE'} ${Number(max.toFixed(2))}`;
}
