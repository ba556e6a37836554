import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from './support/child.ts';
import { fillLog } from './support/fill-log.ts';
import { makeNeighbour } from './support/make-neighbour.ts';
import { median } from './support/median.ts';
import { floorOf, type BenchOptions } from './support/options.ts';
import { pace } from './support/pace.ts';
import { percentile } from './support/percentile.ts';
import { awaitTaken, readOpen, readTaken, turnReceiver } from './support/receiver.ts';
import { report, verdictOf } from './support/report.ts';
import { residentMb } from './support/resident-mb.ts';
import { sampleRecord } from './support/sample-record.ts';
import { fill, type Service, startService } from './support/service.ts';

const recoveringCount = 20_000;
const recoveringInFlight = 16;
/** How long the receiver takes to answer, so that several are open at once: at the most 1,600 a second are taken. */
const answerMs = 10;
/** What draining may take, of what it takes when the endpoint was not dead but paused: both vary. */
const recoveringRatioMax = 1.2;

/** How long does it take until what waits behind a dead endpoint is delivered, once that is back and resumed? */
export async function recovery(options: BenchOptions): Promise<void> {
  const count = Math.min(recoveringCount, options.rows);
  const receiver = await startChild('bench/support/receiver-server.ts', [String(answerMs)]);
  const service = await startService(undefined, options);
  const path = await addEndpoint(service, { url: `${receiver.url}/hook`, maxInFlight: recoveringInFlight });
  const pause = (): Promise<unknown> => service.api(`${path}/pause`, {});
  const die = (): Promise<unknown> => turnReceiver(receiver, 'failing');
  const drain = async (stop: () => Promise<unknown>): Promise<number> => {
    const before = await readTaken(receiver);
    await stop();
    await fill(service, count);
    await turnReceiver(receiver, 'well');
    const startMs = performance.now();
    await service.api(`${path}/resume`, {});
    await awaitTaken(receiver, before + count);
    return (performance.now() - startMs) / 1_000;
  };
  await drain(pause);
  const [pauseds, deads, mosts]: [number[], number[], number[]] = [[], [], []];
  for (let run = 0; run < options.runs; run += 1) {
    pauseds.push(await drain(pause));
    deads.push(await drain(die));
    mosts.push((await readOpen(receiver))[1]);
  }
  await Promise.all([service.stop(), receiver.stop()]);
  const [pausedSeconds, seconds, openMost] = [median(pauseds), median(deads), Math.max(...mosts)];
  const ratio = median(deads.map((dead, run) => dead / (pauseds[run] ?? Number.NaN)));
  const perSecond = Math.round(count / seconds);
  report(
    {
      what: `recovery of an endpoint with ${count} waiting`,
      figures: { seconds, perSecond, pausedSeconds, ratio, ratioMax: recoveringRatioMax, openMost },
      sentence: `drained in ${seconds.toFixed(2)} s, ${perSecond} a second: ${ratio.toFixed(2)} × of the same behind a paused one, ${verdictOf(ratio, recoveringRatioMax)}; ${openMost} requests open at the most, ${verdictOf(openMost, recoveringInFlight)}`,
    },
    options,
  );
}

const viewsPerSecond = 200;
const askEveryMs = 100;
const msMax = 10;
const addedMbMax = 50;
const viewsRatioMax = 1.2;

/** How long do requests take that have to do with endpoints for which very much waits, and what does that cost others? */
export async function waiting(options: BenchOptions): Promise<void> {
  const { rows, runs, seconds } = options;
  const service = await startService(undefined, options);
  const neighbour = await makeNeighbour(service);
  const records = '/api/collections/bench/records';
  const { id } = await neighbour.api(records, sampleRecord(1));
  const url = `${neighbour.url}${records}/${String(id)}`;
  const p99 = async (): Promise<number> =>
    percentile(await pace({ url, rate: viewsPerSecond, seconds }), 0.99);
  // In each run, one is resumed without what waits for it, and one is deleted with it.
  const paths: string[] = [];
  while (paths.length < runs * 2)
    paths.push(await addEndpoint(service, { url: 'http://127.0.0.1:9/', status: 'paused' }));
  await service.api(records, sampleRecord(1));
  const [alones, besides, times]: [number[], number[], Times[]] = [[], [], []];
  await p99();
  for (let run = 0; run < runs; run += 1) alones.push(await p99());
  const beforeMb = residentMb(service.pid);
  await fillLog(service.store, rows);
  let mostMb = beforeMb;
  for (let run = 0; run < runs; run += 1) {
    const viewing = p99();
    const [skipped = '', deleted = ''] = paths.splice(0, 2);
    times.push(await askOf(service, { skipped, deleted, seconds: seconds / 2 }));
    besides.push(await viewing);
    mostMb = Math.max(mostMb, residentMb(service.pid));
  }
  await service.stop();
  tellWaiting({ alones, besides, times, addedMb: mostMb - beforeMb }, options);
}

/** Milliseconds that requests took. */
interface Times {
  readonly health: number;
  readonly stats: number;
  readonly skip: number;
  readonly delete: number;
}

/** Asks for some seconds how the service and an endpoint do; then resumes that one and deletes the other. */
async function askOf(
  { api }: Service,
  {
    skipped,
    deleted,
    seconds,
  }: { readonly skipped: string; readonly deleted: string; readonly seconds: number },
): Promise<Times> {
  const timeOf = async (...request: Parameters<typeof api>): Promise<number> => {
    const startMs = performance.now();
    await api(...request);
    return performance.now() - startMs;
  };
  const [health, stats]: [number[], number[]] = [[], []];
  const endMs = performance.now() + seconds * 1_000;
  do {
    health.push(await timeOf('/api/health'));
    stats.push(await timeOf(`${skipped}/stats`));
    await sleep(askEveryMs);
  } while (performance.now() < endMs);
  return {
    health: median(health),
    stats: median(stats),
    skip: await timeOf(`${skipped}/resume`, { backlog: 'skip' }),
    delete: await timeOf(deleted, undefined, 'DELETE'),
  };
}

interface Waited {
  /** The p99 of views of another instance, before there was anything that waits, and beside the requests. */
  readonly alones: readonly number[];
  readonly besides: readonly number[];
  readonly times: readonly Times[];
  readonly addedMb: number;
}

function tellWaiting({ alones, besides, times, addedMb }: Waited, options: BenchOptions): void {
  const [aloneMs, besideMs] = [median(alones), median(besides)];
  const figures = {
    healthMs: median(times.map(({ health }) => health)),
    statsMs: median(times.map(({ stats }) => stats)),
    skipMs: median(times.map(({ skip }) => skip)),
    deleteMs: median(times.map((time) => time.delete)),
  };
  const { healthMs, statsMs, skipMs, deleteMs } = figures;
  const each = `health ${healthMs.toFixed(1)} ms, stats ${statsMs.toFixed(1)}, skipping ${skipMs.toFixed(1)}, deleting ${deleteMs.toFixed(1)}`;
  const most = Math.max(healthMs, statsMs, skipMs, deleteMs);
  const views = `p99 of views of another instance ${besideMs.toFixed(2)} ms, ${aloneMs.toFixed(2)} alone: ${(besideMs / aloneMs).toFixed(2)} ×, ${verdictOf(besideMs / aloneMs, viewsRatioMax)}`;
  report(
    {
      what: `requests about endpoints with ${options.rows} waiting`,
      figures: { ...figures, msMax, addedMb, addedMbMax, aloneMs, besideMs, viewsRatioMax },
      sentence: `${each}: ${verdictOf(most, msMax)}; ${addedMb} MB more, ${verdictOf(addedMb, addedMbMax)}; ${views}`,
    },
    options,
  );
}

/** How many events a second are delivered when all of a log are sent again? */
export async function replay(options: BenchOptions): Promise<void> {
  const receiver = await startChild('bench/support/receiver-server.ts', []);
  const service = await startService(undefined, options);
  const filled = await addEndpoint(service, { url: 'http://127.0.0.1:9/', status: 'paused' });
  await service.api('/api/collections/bench/records', sampleRecord(1));
  await fillLog(service.store, options.rows - 1);
  await service.api(filled, undefined, 'DELETE');
  const rates: number[] = [];
  for (let run = 0; run < options.runs; run += 1) {
    // One that was told of nothing yet, in each run.
    const path = await addEndpoint(service, { url: `${receiver.url}/hook`, maxInFlight: 64 });
    const before = await readTaken(receiver);
    const startMs = performance.now();
    const { total } = await service.api(`${path}/replay`, { scope: 'all' });
    await awaitTaken(receiver, before + Number(total));
    rates.push(Number(total) / ((performance.now() - startMs) / 1_000));
  }
  await Promise.all([service.stop(), receiver.stop()]);
  const perSecond = Math.round(median(rates));
  const perSecondMin = floorOf(options, { sqlite: 5_000, postgres: 3_000 });
  const verdict = perSecond >= perSecondMin ? 'at or above' : 'BELOW';
  report(
    {
      what: `replay of ${options.rows} events`,
      figures: { perSecond, perSecondMin, rates },
      sentence: `${perSecond} a second, ${verdict} ${perSecondMin}`,
    },
    options,
  );
}

/** Makes an endpoint; returns its path. */
async function addEndpoint({ api }: Service, endpoint: object): Promise<string> {
  const { id } = await api('/api/webhooks/endpoints', endpoint);
  return `/api/webhooks/endpoints/${String(id)}`;
}
