import { readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { root } from '../../tools/build/root.ts';

/** The results of the last `npm run bench -- beside --write`, in bench/beside.json. */
export interface BesideResults {
  readonly date: string;
  readonly commit: string;
  readonly chancery: string;
  readonly pocketbase: string;
  readonly node: string;
  readonly processors: number;
  readonly processor: string;
  readonly memoryGb: number;
  /** Records in the collection that is read. */
  readonly rows: number;
  readonly runs: number;
  readonly seconds: number;
  readonly lines: readonly {
    readonly what: string;
    readonly chancery: { readonly perSecond: number; readonly p99Ms: number };
    readonly pocketbase: { readonly perSecond: number; readonly p99Ms: number };
    /** The median of the ratios of runs one after the other. */
    readonly ratio: number;
  }[];
}

export const resultsFile = 'bench/beside.json';
const bytesPerGb = 2 ** 30;

/** What is said of a machine: no name. */
export function readMachine(): Pick<BesideResults, 'node' | 'processors' | 'processor' | 'memoryGb'> {
  return {
    node: process.versions.node,
    // `availableParallelism` would count the one that this process is kept to.
    processors: cpus().length,
    processor: arch(),
    memoryGb: Math.round(totalmem() / bytesPerGb),
  };
}

/** Returns the results in the repository, which `writeBeside` wrote. */
export function readBeside(): BesideResults {
  // It has been written in this form.
  return JSON.parse(readFileSync(join(root, resultsFile), 'utf8')) as BesideResults;
}

/** Replaces the results and what the documentation says of them. */
export async function writeBeside(results: BesideResults): Promise<void> {
  const pages = await besidePages(results);
  for (const [path, text] of [[resultsFile, `${JSON.stringify(results, null, 2)}\n`], ...pages] as const)
    writeFileSync(join(root, path), text);
}

/** Returns the text that each page has with these results, by its path. */
export async function besidePages(results: BesideResults): Promise<ReadonlyMap<string, string>> {
  const page = 'docs/benchmarks-beside.md';
  const table = `${pageStart}\n\n${describeResults(results)}\n\n${pageEnd}`;
  return new Map([
    [page, await replaced(page, new RegExp(`${pageStart}.*${pageEnd}`, 's'), table)],
    ['README.md', await replaced('README.md', /(?<=\n## Figures\n\n)[^\n]+/, readmeLine(results))],
  ]);
}

const pageStart = '<!-- Written by npm run bench -- beside -->';
const pageEnd = '<!-- End of the generated part -->';

async function replaced(path: string, pattern: RegExp, text: string): Promise<string> {
  const before = readFileSync(join(root, path), 'utf8');
  if (!pattern.test(before)) throw new Error(`${path} has no place for the figures: ${String(pattern)}`);
  // A function, as a text could have signs that mean parts of what is replaced.
  return format(
    before.replace(pattern, () => text),
    { ...(await resolveConfig(join(root, path))), parser: 'markdown' },
  );
}

function describeResults(results: BesideResults): string {
  const { date, commit, chancery, pocketbase, node, processors, processor, memoryGb } = results;
  const rows = results.lines.map(({ what, chancery: ours, pocketbase: theirs, ratio }) => {
    const cells = [ours, theirs].flatMap(({ perSecond, p99Ms }) => [rounded(perSecond), rounded(p99Ms, 2)]);
    return `| ${[what, ...cells, ratio.toFixed(1)].join(' | ')} |`;
  });
  return [
    `Measured on ${date} at commit ${commit}: Chancery ${chancery} on Node ${node}, PocketBase ${pocketbase}; a machine with ${processors} processors (${processor}) and ${memoryGb} GB of memory; ${results.rows.toLocaleString('en')} records; medians of ${results.runs} runs of ${results.seconds} s.`,
    '',
    '| load | Chancery, per second | p99, ms | PocketBase, per second | p99, ms | ratio |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

/** The figures of README.md: no list, as those that are repeated come from a cache. */
function readmeLine({ lines, pocketbase }: BesideResults): string {
  const [create, view, , mixed] = lines;
  if (create === undefined || view === undefined || mixed === undefined)
    throw new Error(`${resultsFile} lacks a load that README.md has`);
  const perSecond = (side: 'chancery' | 'pocketbase'): readonly string[] =>
    [create, view, mixed].map((line) => rounded(line[side].perSecond));
  const [creates, views, mixes] = perSecond('chancery');
  const [theirCreates, theirViews, theirMixes] = perSecond('pocketbase');
  return [
    `With SQLite on one processor: ${creates} durable creates, ${views} views or ${mixes} mixed requests a second;`,
    `PocketBase ${pocketbase} on the same machine: ${theirCreates}, ${theirViews} and ${theirMixes}`,
    '([how](docs/benchmarks-beside.md), [more figures](docs/benchmarks.md), [every promise](docs/promises.md)).',
  ].join(' ');
}

/** Three digits, two of times: runs differ by more. */
function rounded(value: number, digits = 3): string {
  return Number(value.toPrecision(digits)).toLocaleString('en');
}
