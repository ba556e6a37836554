import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startChild } from './support/child.ts';
import { compare, type Measurement } from './support/compare.ts';
import { engineOf, floorOf, warmedUpOnce, type BenchOptions } from './support/options.ts';
import { processorTimeUs, processorUsEach } from './support/processor-time.ts';
import { awaitTaken, readTaken } from './support/receiver.ts';
import { fill, startService } from './support/service.ts';

const perRun = 10_000;

/** How fast are webhooks delivered? A backlog waits behind a paused endpoint; measured is the time from its resumption. */
export async function deliver(options: BenchOptions): Promise<void> {
  const receiver = await startChild('bench/support/receiver-server.ts', []);
  const service = await startService(undefined, options);
  const endpoint = await service.api('/api/webhooks/endpoints', {
    url: `${receiver.url}/hook`,
    maxInFlight: 64,
  });
  const path = `/api/webhooks/endpoints/${String(endpoint['id'])}`;
  const ours = async (): Promise<Measurement> => {
    await service.api(`${path}/pause`, {});
    await fill(service, perRun);
    const before = await readTaken(receiver);
    const processorBefore = processorTimeUs(service.pid);
    const start = performance.now();
    await service.api(`${path}/resume`, {});
    await awaitTaken(receiver, before + perRun);
    const ms = performance.now() - start;
    return toMeasurement(ms, processorUsEach(service.pid, processorBefore, perRun));
  };
  const raw = fileURLToPath(new URL('support/raw-sender.ts', import.meta.url));
  const ceiling = async (): Promise<Measurement> => {
    const args = [raw, `${receiver.url}/hook`, String(perRun), '700'];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const [ms, processorUs] = stdout.split(' ').map(Number);
    return toMeasurement(ms ?? Number.NaN, (processorUs ?? Number.NaN) / perRun);
  };
  await compare(
    {
      what: 'webhooks delivered',
      engine: engineOf(options),
      rows: perRun,
      floor: floorOf(options, { sqlite: 0.5, postgres: 0.3 }),
      ours,
      ceiling,
    },
    warmedUpOnce(options),
  );
  await Promise.all([service.stop(), receiver.stop()]);
}

function toMeasurement(ms: number, processorUs: number | undefined): Measurement {
  return { perSecond: (perRun / ms) * 1000, p50Ms: 0, p99Ms: 0, processorUs };
}
