import { setTimeout as sleep } from 'node:timers/promises';
import { connectionsMax } from '../src/http/connections.ts';
import { openFilesMax } from '../src/base/process.ts';
import { AskingConnection } from './support/asking-connection.ts';
import { startChild } from './support/child.ts';
import { median } from './support/median.ts';
import { monotonicMs } from './support/monotonic-ms.ts';
import type { BenchOptions } from './support/options.ts';
import { report, verdictOf } from './support/report.ts';
import { residentMb } from './support/resident-mb.ts';
import { sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';
import { startSubscribers, type Subscribers } from './support/subscribers.ts';

/** All clients come from one address. */
const serveArgs = ['--realtime-connections-per-address', '20000'];
const topic = 'bench/*';

const idleCount = 10_000;
const idleMbMax = 150;
/** Connections that the server accepts besides those of realtime: those by which the clients subscribe. */
const otherConnections = 80;
/** After which a server that nobody asks anything is idle; in it, each client is sent a comment. */
const settleMsMax = 30_000;

/** How much more memory has the server's process in the system's eyes (RSS), when very many clients are connected and are told nothing? */
export async function idleConnections(options: BenchOptions): Promise<void> {
  const count = Math.min(idleCount, options.rows, connectionsMax(openFilesMax()) - otherConnections);
  const service = await startService(undefined, options, serveArgs);
  await service.child.stop();
  const [befores, afters]: [number[], number[]] = [[], []];
  for (let run = 0; run < options.runs; run += 1) {
    // Started again for each: what a process has once taken, it does not give back at once.
    const child = await startChild('src/main.ts', service.args);
    const subscribers = await startSubscribers();
    await fetch(`${child.url}/api/collections/bench/records`);
    await settle(options);
    befores.push(residentMb(child.pid));
    await subscribers.connect({ url: child.url, topic, count });
    await settle(options);
    afters.push(residentMb(child.pid));
    await requireOpen(subscribers, count);
    await subscribers.stop();
    await child.stop();
  }
  await service.stop();
  const [beforeMb, afterMb] = [median(befores), median(afters)];
  const addedMb = median(afters.map((mb, run) => mb - (befores[run] ?? Number.NaN)));
  const eachKb = (addedMb * 1_024) / count;
  report(
    {
      what: `memory of ${count} realtime connections that are idle`,
      figures: { addedMb, addedMbMax: idleMbMax, eachKb, beforeMb, afterMb, afters },
      sentence: `${addedMb} MB more, ${verdictOf(addedMb, idleMbMax)}; ${eachKb.toFixed(1)} KB each; ${beforeMb} MB before, ${afterMb} with them`,
    },
    options,
  );
}

/** Throws when some of the connections were closed meanwhile. */
async function requireOpen(subscribers: Subscribers, count: number): Promise<void> {
  const open = await subscribers.countOpen();
  if (open !== count) throw new Error(`${open} of ${count} realtime connections are open.`);
}

async function settle({ seconds }: BenchOptions): Promise<void> {
  await sleep(Math.min(settleMsMax, seconds * 10_000));
}

const listenersCount = 5_000;
const listenersMsMax = 250;
const eventsPerRun = 20;

/** How long after its commit has each of very many subscribers, who are all told the same, been told of one change? */
export async function fanOut(options: BenchOptions): Promise<void> {
  const count = Math.min(listenersCount, options.rows);
  const service = await startService(undefined, options, serveArgs);
  const subscribers = await startSubscribers();
  await subscribers.connect({ url: service.url, topic, count });
  const connection = await AskingConnection.open(`${service.url}/api/collections/bench/records`);
  const tellAll = async (n: number): Promise<Times> => {
    const id = String(n).padStart(15, '0');
    const dueMs = monotonicMs();
    await connection.ask(JSON.stringify({ ...sampleRecord(n), id }));
    const answeredMs = monotonicMs();
    const [told] = await subscribers.awaitTold({ ids: [id], count });
    const { firstMs = Number.NaN, lastMs = Number.NaN } = told ?? {};
    return { first: firstMs - answeredMs, last: lastMs - answeredMs, sinceDue: lastMs - dueMs };
  };
  const runs: (readonly Times[])[] = [];
  for (let run = 0; run <= options.runs; run += 1) {
    const times: Times[] = [];
    for (let event = 0; event < eventsPerRun; event += 1)
      times.push(await tellAll(run * eventsPerRun + event));
    // The first run only warms up.
    if (run > 0) runs.push(times);
  }
  connection.close();
  await requireOpen(subscribers, count);
  await Promise.all([service.stop(), subscribers.stop()]);
  const of = (name: keyof Times): number =>
    median(runs.map((times) => median(times.map((time) => time[name]))));
  const worsts = runs.map((times) => Math.max(...times.map(({ last }) => last)));
  const [medianMs, worstMs, firstMs, sinceDueMs] = [of('last'), median(worsts), of('first'), of('sinceDue')];
  report(
    {
      what: `from commit to the last byte at ${count} realtime clients`,
      figures: { medianMs, worstMs, msMax: listenersMsMax, firstMs, sinceDueMs, worsts },
      sentence: `median ${medianMs.toFixed(1)} ms, ${verdictOf(medianMs, listenersMsMax)}; worst of ${eventsPerRun} ${worstMs.toFixed(1)}, ${verdictOf(worstMs, listenersMsMax)}; to the first client ${firstMs.toFixed(1)}; ${sinceDueMs.toFixed(1)} from when the create was sent`,
    },
    options,
  );
}

/** Milliseconds from the answer to a create to the first and to the last client, and from its request to the last. */
interface Times {
  readonly first: number;
  readonly last: number;
  readonly sinceDue: number;
}
