import { setTimeout as sleep } from 'node:timers/promises';
import { besideBusyProcess } from './support/beside-busy-process.ts';
import { type Child, startChild } from './support/child.ts';
import { deliverAtPace, type Delivered } from './support/deliver-at-pace.ts';
import { runLoad } from './support/load.ts';
import { type BenchInstance, makeNeighbour } from './support/make-neighbour.ts';
import { median } from './support/median.ts';
import type { BenchOptions } from './support/options.ts';
import { pace } from './support/pace.ts';
import { percentile } from './support/percentile.ts';
import { readOpen, turnReceiver } from './support/receiver.ts';
import { report, verdictOf } from './support/report.ts';
import { sampleRecord } from './support/sample-record.ts';
import { fill, type Service, startService } from './support/service.ts';

/** Creates a second in the neighbour: few, as what they wait for is measured and not each other. */
const quietRate = 200;
const receiverServer = 'bench/support/receiver-server.ts';

const hangingCount = 256;
/** Each event is told to all endpoints that hang. */
const hangingEventsPerSecond = 5;
const hangingAddedMsMax = 50;

/** Do endpoints that never answer hold up the webhooks of another instance, from the first second on? */
export async function besideHanging(options: BenchOptions): Promise<void> {
  const { seconds } = options;
  const scene = await setScene(options);
  const { service } = scene;
  const p99 = ({ sinceAnswerMs }: Delivered): number => percentile(sinceAnswerMs, 0.99);
  const [alones, besides]: [number[], number[]] = [[], []];
  await scene.deliver();
  for (let run = 0; run < options.runs; run += 1) {
    alones.push(p99(await scene.deliver()));
    const hanging = await startChild(receiverServer, ['0', String(1 + hangingCount)]);
    await turnReceiver(hanging, 'silent');
    const endpoints = await addEndpoints(service, hanging, hangingCount);
    const rate = hangingEventsPerSecond;
    const events = pace({ url: recordsOf(service), rate, seconds, body: bodyOf });
    besides.push(p99(await scene.deliver()));
    await events;
    await hanging.stop();
    await remove(service, endpoints);
  }
  await scene.stop();
  const [aloneMs, besideMs] = [median(alones), median(besides)];
  const addedMs = median(besides.map((ms, run) => ms - (alones[run] ?? Number.NaN)));
  const added = `${addedMs.toFixed(2)} more, ${verdictOf(addedMs, hangingAddedMsMax)}`;
  report(
    {
      what: `p99 from commit to arrival beside ${hangingCount} endpoints of another instance that hang`,
      figures: { aloneMs, besideMs, addedMs, addedMsMax: hangingAddedMsMax, besides },
      sentence: `${besideMs.toFixed(2)} ms, ${aloneMs.toFixed(2)} alone: ${added}`,
    },
    options,
  );
}

const silentCount = 5;
/** As many as an instance may have open (src/dispatch/slots.ts), which is less than 64 for each of them. */
const openMax = 256;
/** How long the receiver takes to answer, before it is silent: so few a second keep all slots taken. */
const answerMs = 500;
const silentEvents = 800;
const growingMsMax = 20_000;
const pollMs = 5;
const silentGapMsMax = 100;

/** Do endpoints that have earned all slots of an instance and then are silent at once hold up the webhooks of another one? */
export async function besideSilent(options: BenchOptions): Promise<void> {
  const scene = await setScene(options);
  const { service } = scene;
  const [alones, besides, opens]: [number[], number[], number[]] = [[], [], []];
  await scene.deliver();
  for (let run = 0; run < options.runs; run += 1) {
    alones.push(longestGap(await scene.deliver()));
    const turning = await startChild(receiverServer, [String(answerMs), String(1 + silentCount)]);
    const endpoints = await addEndpoints(service, turning, silentCount);
    await fill(service, silentEvents);
    opens.push(await openAfterGrowth(turning));
    const delivered = scene.deliver();
    await turnReceiver(turning, 'silent');
    besides.push(longestGap(await delivered));
    await turning.stop();
    await remove(service, endpoints);
  }
  await scene.stop();
  const [aloneMs, besideMs, open] = [median(alones), median(besides), median(opens)];
  report(
    {
      what: `longest gap between webhooks beside ${silentCount} endpoints of another instance that turn silent`,
      figures: { aloneMs, besideMs, besideMsMax: silentGapMsMax, besides, open },
      sentence: `${besideMs.toFixed(0)} ms, ${verdictOf(besideMs, silentGapMsMax)}; ${aloneMs.toFixed(0)} alone; ${open} requests were open`,
    },
    options,
  );
}

/** Creates a second beside the flood: slow and steady. */
const slowRate = 100;
const floodedRatioMax = 1.25;
const floodedAddedMsMax = 5;

/** Does an instance that is written to as fast as can be hold up creates of another one? */
export async function besideFlood(options: BenchOptions): Promise<void> {
  const { seconds } = options;
  const scene = await setScene(options);
  const { service } = scene;
  const p99 = async (): Promise<number> => {
    const times = await pace({ url: recordsOf(scene.neighbour), rate: slowRate, seconds, body: bodyOf });
    return percentile(times, 0.99);
  };
  const [alones, foreigns, besides, rates]: [number[], number[], number[], number[]] = [[], [], [], []];
  const flood = { url: recordsOf(service), method: 'POST', body: bodyOf(1), workers: 1 } as const;
  await runLoad({ ...flood, seconds: Math.max(1, options.warmUpSeconds) });
  await p99();
  for (let run = 0; run < options.runs; run += 1) {
    alones.push(await p99());
    foreigns.push(await besideBusyProcess(p99));
    // It begins before the creates that are measured, and ends after them.
    const flooding = runLoad({ ...flood, seconds: seconds + 1 });
    await sleep(500);
    besides.push(await p99());
    rates.push((await flooding).perSecond);
  }
  await scene.stop();
  const [aloneMs, foreignMs, besideMs] = [median(alones), median(foreigns), median(besides)];
  const most = Math.max(aloneMs * floodedRatioMax, aloneMs + floodedAddedMsMax);
  const perSecond = Math.round(median(rates));
  report(
    {
      what: 'p99 of creates beside a flood of creates in another instance',
      figures: { aloneMs, foreignMs, besideMs, besideMsMax: most, besides, floodPerSecond: perSecond },
      sentence: `${besideMs.toFixed(2)} ms, ${verdictOf(besideMs, most)}; ${aloneMs.toFixed(2)} alone, ${foreignMs.toFixed(2)} beside a process that is busy; the flood was ${perSecond} creates a second`,
    },
    options,
  );
}

/** The service, whose first instance is the loud one, and its neighbour with an endpoint that is well. */
interface Scene {
  readonly service: Service;
  readonly neighbour: BenchInstance;
  /** Creates records in the neighbour at a steady pace, and tells what became of them. */
  deliver(): Promise<Delivered>;
  stop(): Promise<unknown>;
}

async function setScene(options: BenchOptions): Promise<Scene> {
  const receiver = await startChild(receiverServer, []);
  const service = await startService(undefined, options);
  const neighbour = await makeNeighbour(service);
  await neighbour.api('/api/webhooks/endpoints', { url: `${receiver.url}/noted`, maxInFlight: 64 });
  const { seconds } = options;
  return {
    service,
    neighbour,
    deliver: () => deliverAtPace(neighbour, receiver, { rate: quietRate, seconds }),
    stop: () => Promise.all([service.stop(), receiver.stop()]),
  };
}

function recordsOf({ url }: Pick<BenchInstance, 'url'>): string {
  return `${url}/api/collections/bench/records`;
}

function bodyOf(n: number): string {
  return JSON.stringify(sampleRecord(n));
}

/** Makes endpoints at a receiver, each at an origin of its own, as the slots of one origin are few. Returns their ids. */
async function addEndpoints(
  { api }: BenchInstance,
  receiver: Child,
  count: number,
): Promise<readonly string[]> {
  const { port } = new URL(receiver.url);
  const ids: string[] = [];
  for (let origin = 0; origin < count; origin += 1) {
    const url = `http://127.0.1.${origin}:${port}/hook`;
    const { id } = await api('/api/webhooks/endpoints', { url, maxInFlight: 64 });
    ids.push(String(id));
  }
  return ids;
}

async function remove({ api }: BenchInstance, endpoints: readonly string[]): Promise<void> {
  for (const id of endpoints) await api(`/api/webhooks/endpoints/${id}`, undefined, 'DELETE');
}

/** Waits until as many requests are open as may be; returns how many are. */
async function openAfterGrowth(receiver: Child): Promise<number> {
  const deadline = performance.now() + growingMsMax;
  for (;;) {
    const [open] = await readOpen(receiver);
    if (open >= openMax || performance.now() > deadline) return open;
    await sleep(pollMs);
  }
}

function longestGap({ arrivals }: Delivered): number {
  return Math.max(...arrivals.slice(1).map((at, before) => at - (arrivals[before] ?? at)));
}
