import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startChild } from './support/child.ts';
import { intervalOf, type Interval } from './support/interval.ts';
import { median } from './support/median.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { pace } from './support/pace.ts';
import { percentile } from './support/percentile.ts';
import { awaitTaken, readTaken } from './support/receiver.ts';
import { sampleRecord } from './support/sample-record.ts';
import { fill, startService } from './support/service.ts';

const sentPerSecond = 1_000;
const inFlight = 64;
/** Views a second: far less than the service can do, or its queue would be measured, and the deliveries have a processor's time. */
const viewsPerSecond = 500;
/** What a busy p99 may be of a quiet one. */
const ratioMax = 1.1;
const rawSender = fileURLToPath(new URL('support/raw-sender.ts', import.meta.url));

/** The p99 of views, in milliseconds, of each run. */
interface Measured {
  readonly quiet: number[];
  /** While another process sends as much to the same receiver, of which the service knows nothing. */
  readonly foreign: number[];
  readonly busy: number[];
  /** Webhooks a second of each busy run. */
  readonly rates: number[];
}

/**
 * How much longer do requests wait while a thousand webhooks a second go out? The p99 of views at a steady rate: with nothing else,
 * with requests that another process sends, which tell what the machine's part is, and with deliveries, in turns. Nothing is pinned:
 * sending has a thread of its own.
 */
export async function latency(options: BenchOptions): Promise<void> {
  const runs = Math.max(2, options.runs);
  const scene = await setScene(runs, options);
  await measureInto(noneYet(), scene);
  const measured = noneYet();
  for (let run = 0; run < runs; run += 1) await measureInto(measured, scene);
  await scene.stop();
  tell(measured, options);
}

interface Scene {
  /** The p99 of views, now. */
  p99(): Promise<number>;
  /** What the receiver has taken so far. */
  taken(): Promise<number>;
  /** Sends to the receiver until it is stopped. */
  startForeign(): Promise<() => Promise<void>>;
  deliver(order: 'resume' | 'pause'): Promise<unknown>;
  stop(): Promise<unknown>;
}

/** With enough that waits behind a paused endpoint. The receiver takes its time with each, so that those in flight make just so many a second. */
async function setScene(runs: number, options: BenchOptions): Promise<Scene> {
  const { seconds } = options;
  const delayMs = Math.floor((inFlight / sentPerSecond) * 1_000) - 1;
  const receiver = await startChild('bench/support/receiver-server.ts', [String(delayMs)]);
  const service = await startService(undefined, options);
  const hook = { url: `${receiver.url}/hook`, maxInFlight: inFlight };
  const endpoint = await service.api('/api/webhooks/endpoints', hook);
  const deliver: Scene['deliver'] = (order) =>
    service.api(`/api/webhooks/endpoints/${String(endpoint['id'])}/${order}`, {});
  await deliver('pause');
  await fill(service, Math.ceil((runs + 1) * (seconds + 1) * sentPerSecond));
  const { id } = await service.api('/api/collections/bench/records', sampleRecord(1));
  const url = `${service.url}/api/collections/bench/records/${String(id)}`;
  const taken = (): Promise<number> => readTaken(receiver);
  return {
    p99: async () => percentile(await pace({ url, rate: viewsPerSecond, seconds }), 0.99),
    taken,
    startForeign: async () => {
      const before = await taken();
      const sender = execFile(process.execPath, [rawSender, hook.url, String(Number.MAX_SAFE_INTEGER)]);
      await awaitTaken(receiver, before + 1);
      return async () => {
        sender.kill('SIGKILL');
        await once(sender, 'close');
      };
    },
    deliver,
    stop: () => Promise.all([service.stop(), receiver.stop()]),
  };
}

function noneYet(): Measured {
  return { quiet: [], foreign: [], busy: [], rates: [] };
}

async function measureInto(measured: Measured, scene: Scene): Promise<void> {
  measured.quiet.push(await scene.p99());
  const stopForeign = await scene.startForeign();
  measured.foreign.push(await scene.p99());
  await stopForeign();
  await scene.deliver('resume');
  const before = await scene.taken();
  const startMs = performance.now();
  measured.busy.push(await scene.p99());
  measured.rates.push(((await scene.taken()) - before) / ((performance.now() - startMs) / 1_000));
  await scene.deliver('pause');
}

function tell({ quiet, foreign, busy, rates }: Measured, options: BenchOptions): void {
  const against = (some: readonly number[]): Interval =>
    intervalOf(some.map((ms, run) => ms / (quiet[run] ?? Number.NaN)));
  const line = {
    what: 'p99 while delivering',
    engine: engineOf(options),
    deliveriesPerSecond: Math.round(median(rates)),
    quietMs: median(quiet),
    foreignMs: median(foreign),
    busyMs: median(busy),
    foreign: against(foreign),
    busy: against(busy),
    ratioMax,
    runs: quiet.length,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  const verdict = line.busy.mean <= ratioMax ? 'within' : 'ABOVE';
  process.stderr.write(
    `  p99 of views ${line.quietMs.toFixed(2)} ms; ${line.busyMs.toFixed(2)} while ${line.deliveriesPerSecond} webhooks a second go out: ${times(line.busy)}, ${verdict} ${ratioMax}; ${line.foreignMs.toFixed(2)} while another process sends as many: ${times(line.foreign)}\n`,
  );
}

function times({ mean, low, high }: Interval): string {
  return `${mean.toFixed(2)} × (95 %: ${low.toFixed(2)} to ${high.toFixed(2)})`;
}
