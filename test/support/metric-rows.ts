import { readFileSync } from 'node:fs';

/** A metric as docs/metrics.md has it. */
export interface MetricRow {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Reads the table of docs/metrics.md. */
export function readMetricRows(): readonly MetricRow[] {
  const lines = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, name, type = '', labels = '', help = ''] =
      /^\| `(\w+)` +\| (\w+) +\| (.*?) +\| (.+?) +\|$/.exec(line) ?? [];
    if (name === undefined) return [];
    return [{ name, type, labels: labels.split(/[`, ]+/).filter((one) => one !== ''), help }];
  });
}
