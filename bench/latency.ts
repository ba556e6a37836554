import { startChild } from './support/child.ts';
import { intervalOf } from './support/interval.ts';
import { median } from './support/median.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { pace } from './support/pace.ts';
import { percentile } from './support/percentile.ts';
import { sampleRecord } from './support/sample-record.ts';
import { fill, startService } from './support/service.ts';

const deliveriesPerSecond = 1_000;
const inFlight = 64;
/** Views a second: far less than the service can do, or its queue would be measured, and the deliveries have a processor's time. */
const viewsPerSecond = 500;
/** What a busy p99 may be of a quiet one. */
const ratioMax = 1.1;

/**
 * How much longer do requests wait while a thousand webhooks a second go out? The p99 of views at a steady rate, with deliveries and
 * without, in turns. The receiver takes its time with each, so that those in flight make just so many a second; they wait behind a
 * paused endpoint before. Nothing is pinned: sending has a thread of its own.
 */
export async function latency(options: BenchOptions): Promise<void> {
  const { runs, seconds } = options;
  const delayMs = Math.floor((inFlight / deliveriesPerSecond) * 1_000) - 1;
  const receiver = await startChild('bench/support/receiver-server.ts', [String(delayMs)]);
  const service = await startService(undefined, options);
  const hook = { url: `${receiver.url}/hook`, maxInFlight: inFlight };
  const endpoint = await service.api('/api/webhooks/endpoints', hook);
  const path = `/api/webhooks/endpoints/${String(endpoint['id'])}`;
  await service.api(`${path}/pause`, {});
  await fill(service, Math.ceil((runs + 1) * (seconds + 1) * deliveriesPerSecond));
  const { id } = await service.api('/api/collections/bench/records', sampleRecord(1));
  const url = `${service.url}/api/collections/bench/records/${String(id)}`;
  const taken = async (): Promise<number> => Number(await (await fetch(receiver.url)).text());
  const p99 = async (): Promise<number> =>
    percentile(await pace({ url, rate: viewsPerSecond, seconds }), 0.99);
  const rates: number[] = [];
  const busy = async (): Promise<number> => {
    await service.api(`${path}/resume`, {});
    const before = await taken();
    const startedMs = performance.now();
    const measured = await p99();
    rates.push(((await taken()) - before) / ((performance.now() - startedMs) / 1_000));
    await service.api(`${path}/pause`, {});
    return measured;
  };
  await p99();
  await busy();
  const quiets: number[] = [];
  const busies: number[] = [];
  for (let run = 0; run < Math.max(2, runs); run += 1) {
    quiets.push(await p99());
    busies.push(await busy());
  }
  await Promise.all([service.stop(), receiver.stop()]);
  const { mean, low, high } = intervalOf(busies.map((ms, run) => ms / (quiets[run] ?? Number.NaN)));
  const line = {
    what: 'p99 while delivering',
    engine: engineOf(options),
    deliveriesPerSecond: Math.round(median(rates)),
    busyMs: median(busies),
    quietMs: median(quiets),
    mean,
    low,
    high,
    ratioMax,
    runs,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  process.stderr.write(
    `  p99 of views ${line.busyMs} ms while ${line.deliveriesPerSecond} webhooks a second go out, ${line.quietMs} ms while none do: ${mean.toFixed(2)} × (95 %: ${low.toFixed(2)} to ${high.toFixed(2)}), ${mean <= ratioMax ? 'within' : 'ABOVE'} ${ratioMax}\n`,
  );
}
