import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from './support/child.ts';
import { deliverAtPace, type Delivered } from './support/deliver-at-pace.ts';
import { median } from './support/median.ts';
import type { BenchOptions } from './support/options.ts';
import { percentile } from './support/percentile.ts';
import { report, verdictOf } from './support/report.ts';
import { startService } from './support/service.ts';

interface Paced {
  /** Creates a second. */
  readonly rate: number;
  readonly sqlite: Target;
  readonly postgres: Target;
}

/** Nodes besides the first, with writes through all of them. */
const otherNodes = 2;
const rateOfNodes = 1_000;
const targetOfNodes: Target = { p50Ms: 10, p99Ms: 60 };

/** The most milliseconds that count as a result; for the p50 at the higher pace none was set. */
interface Target {
  readonly p50Ms?: number;
  readonly p99Ms: number;
}

const paces: readonly Paced[] = [
  { rate: 500, sqlite: { p50Ms: 1, p99Ms: 10 }, postgres: { p50Ms: 2, p99Ms: 25 } },
  { rate: 2_000, sqlite: { p99Ms: 25 }, postgres: { p99Ms: 50 } },
];

/** How long after its commit does a webhook arrive at a receiver in another process, while records are created at a steady pace? */
export async function webhookLatency(options: BenchOptions): Promise<void> {
  const receiver = await startChild('bench/support/receiver-server.ts', []);
  const service = await startService(undefined, options);
  await service.api('/api/webhooks/endpoints', { url: `${receiver.url}/noted`, maxInFlight: 64 });
  for (const paced of paces) {
    const runs = await runAll([service.url], receiver, { ...options, rate: paced.rate });
    const target = options.postgres === undefined ? paced.sqlite : paced.postgres;
    tell(`at ${paced.rate} creates a second`, target, { runs, options });
  }
  await Promise.all([service.stop(), receiver.stop()]);
}

/** The same where the records are created through all of several nodes, of which one delivers to the endpoint. */
export async function webhookLatencyOfNodes(options: BenchOptions): Promise<void> {
  if (options.postgres === undefined) {
    process.stderr.write('  only PostgreSQL has several nodes\n');
    return;
  }
  const receiver = await startChild('bench/support/receiver-server.ts', []);
  const service = await startService(undefined, options);
  const folders = Array.from({ length: otherNodes }, () => mkdtempSync(join(tmpdir(), 'chancery-bench-')));
  const others = await Promise.all(
    folders.map((data) => startChild('src/main.ts', ['serve', '--data', data, '--port', '0', '--dev'])),
  );
  await service.api('/api/webhooks/endpoints', { url: `${receiver.url}/noted`, maxInFlight: 64 });
  const urls = [service.url, ...others.map(({ url }) => url)];
  const runs = await runAll(urls, receiver, { ...options, rate: rateOfNodes });
  const how = `at ${rateOfNodes} creates a second through ${urls.length} nodes`;
  tell(how, targetOfNodes, { runs, options });
  await Promise.all([...others, service, receiver].map((child) => child.stop()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

async function runAll(
  urls: readonly string[],
  receiver: Child,
  { rate, seconds, runs }: BenchOptions & { readonly rate: number },
): Promise<readonly Delivered[]> {
  const [url = '', ...others] = urls;
  const all: Delivered[] = [];
  for (let run = 0; run <= runs; run += 1)
    all.push(await deliverAtPace({ url, others }, receiver, { rate, seconds }));
  // The first run only warms up.
  return all.slice(1);
}

function tell(
  how: string,
  target: Target,
  { runs, options }: { readonly runs: readonly Delivered[]; readonly options: BenchOptions },
): void {
  const of = (some: (run: Delivered) => readonly number[], share: number): number =>
    median(runs.map((run) => percentile(some(run), share)));
  const figures = {
    perSecond: median(runs.map(({ perSecond }) => perSecond)),
    p50Ms: of(({ sinceAnswerMs }) => sinceAnswerMs, 0.5),
    p99Ms: of(({ sinceAnswerMs }) => sinceAnswerMs, 0.99),
    sinceDueP50Ms: of(({ sinceDueMs }) => sinceDueMs, 0.5),
    sinceDueP99Ms: of(({ sinceDueMs }) => sinceDueMs, 0.99),
  };
  const { perSecond, p50Ms, p99Ms, sinceDueP50Ms, sinceDueP99Ms } = figures;
  const p50 = `p50 ${p50Ms.toFixed(2)} ms${target.p50Ms === undefined ? '' : `, ${verdictOf(p50Ms, target.p50Ms)}`}`;
  const p99 = `p99 ${p99Ms.toFixed(2)} ms, ${verdictOf(p99Ms, target.p99Ms)}`;
  const sinceDue = `${sinceDueP50Ms.toFixed(2)} and ${sinceDueP99Ms.toFixed(2)} ms from when the create was due`;
  report(
    {
      what: `from commit to arrival ${how}`,
      figures: { ...figures, p50MsMax: target.p50Ms, p99MsMax: target.p99Ms },
      sentence: `${p50}; ${p99}; ${sinceDue}; ${Math.round(perSecond)} creates a second`,
    },
    options,
  );
}
