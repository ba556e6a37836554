import { besideBusyProcess } from './support/beside-busy-process.ts';
import { fillTable } from './support/fill-table.ts';
import { makeNeighbour } from './support/make-neighbour.ts';
import { median } from './support/median.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { pace } from './support/pace.ts';
import { percentile } from './support/percentile.ts';
import { sampleColumns, sampleRecord } from './support/sample-record.ts';
import { startService, type Service } from './support/service.ts';

const searchers = 50;
const viewsPerSecond = 200;
/** By how much the p99 of another instance may grow. */
const addedMsMax = 20;

interface Measured {
  /** The p99 of views. */
  readonly quietMs: number;
  /** While another process takes as much of a processor as a thread that searches: the machine's part. */
  readonly foreignMs: number;
  readonly busyMs: number;
  /** Searches that were over, in time or not. */
  readonly perSecond: number;
}

/** Searches that no index answers, each unlike all before it: a repeated one would be answered from a cache. */
const queries: Readonly<Record<string, (n: number) => string>> = {
  'unindexed sorts': (n) => `sort=body,title&perPage=30&skipTotal=1&filter=views!=${n + 10_000}`,
  '~ filters': (n) => `filter=${encodeURIComponent(`title~'nothing ${n}'`)}`,
  'json paths': (n) => `filter=${encodeURIComponent(`meta.score=${n + 1_000}`)}`,
};

/**
 * How long do requests of one instance wait while fifty clients of another one search a large table at once, without an index? The
 * p99 of views at a steady rate, alone and with these searches, in turns. Nothing is pinned: searches have threads of their own.
 */
export async function slowSearches(options: BenchOptions): Promise<void> {
  const service = await startService(undefined, options);
  await fillTable(service.store, 'bench', { count: options.rows, columns: sampleColumns });
  const neighbour = await makeNeighbour(service);
  const path = '/api/collections/bench/records';
  const { id } = await neighbour.api(path, sampleRecord(1));
  const url = `${neighbour.url}${path}/${String(id)}`;
  const p99 = async (): Promise<number> =>
    percentile(await pace({ url, rate: viewsPerSecond, seconds: options.seconds }), 0.99);
  await p99();
  for (const [what, queryOf] of Object.entries(queries)) {
    const measured: Measured[] = [];
    for (let run = 0; run < options.runs; run += 1) {
      const quietMs = await p99();
      const foreignMs = await besideBusyProcess(p99);
      const searching = startSearching(service, queryOf);
      const startMs = performance.now();
      const busyMs = await p99();
      const seconds = (performance.now() - startMs) / 1_000;
      measured.push({ quietMs, foreignMs, busyMs, perSecond: (await searching.stop()) / seconds });
    }
    tell(what, measured, options);
  }
  await service.stop();
}

/** Searches from fifty clients at once, until it is stopped; then returns how many searches were answered. */
function startSearching(
  { url }: Service,
  queryOf: (n: number) => string,
): { readonly stop: () => Promise<number> } {
  let answered = 0;
  const over = new AbortController();
  const search = async (): Promise<void> => {
    while (!over.signal.aborted) {
      asked += 1;
      const response = await fetch(`${url}/api/collections/bench/records?${queryOf(asked)}`);
      await response.arrayBuffer();
      // A search that has waited for too long is a 503.
      if (response.status !== 200 && response.status !== 503) throw new Error(`${response.status}`);
      answered += 1;
    }
  };
  const all = Promise.all(Array.from({ length: searchers }, search));
  return {
    stop: async () => {
      const count = answered;
      over.abort();
      await all;
      return count;
    },
  };
}

let asked = 0;

function tell(what: string, measured: readonly Measured[], options: BenchOptions): void {
  const [quietMs, foreignMs, busyMs] = [
    median(measured.map((run) => run.quietMs)),
    median(measured.map((run) => run.foreignMs)),
    median(measured.map((run) => run.busyMs)),
  ];
  const line = {
    what: `p99 of another instance beside fifty ${what}`,
    engine: engineOf(options),
    rows: options.rows,
    quietMs,
    foreignMs,
    busyMs,
    addedMs: median(measured.map((run) => run.busyMs - run.quietMs)),
    addedMsMax,
    searchesPerSecond: median(measured.map(({ perSecond }) => perSecond)),
    runs: measured.length,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  const verdict = line.addedMs <= addedMsMax ? 'within' : 'ABOVE';
  process.stderr.write(
    `  p99 of another instance: ${quietMs.toFixed(2)} ms alone, ${foreignMs.toFixed(2)} beside a process that is busy, ${busyMs.toFixed(2)} beside fifty ${what}: ${line.addedMs.toFixed(2)} more, ${verdict} ${addedMsMax}; ${Math.round(line.searchesPerSecond)} searches a second\n`,
  );
}
