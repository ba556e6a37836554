import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrate } from '../src/storage/migrate.ts';
import { instanceMigrations } from '../src/storage/migrations/instance-migrations.ts';
import { openSqlite } from '../src/storage/sqlite/sqlite-database.ts';
import { compileCache, startChild, type Child } from './support/child.ts';
import { addInstance, makeFleet, readDues } from './support/make-fleet.ts';
import { median } from './support/median.ts';
import type { BenchOptions } from './support/options.ts';
import { processorTimeUs } from './support/processor-time.ts';
import { readTaken, turnReceiver } from './support/receiver.ts';
import { report } from './support/report.ts';
import { residentMb } from './support/resident-mb.ts';
import { sampleRecord } from './support/sample-record.ts';
import { startService, type Service } from './support/service.ts';
import { superuserApi } from './support/superuser-api.ts';

/** How many are opened for a figure of one. */
const opened = 200;
const settleMs = 5_000;
const idleMs = 20_000;
/** Instances in which a webhook is due, and the time of its second attempt. */
const withWebhooks = 20;
const retrySeconds = 8;
const mainFile = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/**
 * What do thousands of instances on one node cost? `--instances` (10000) copies of the first one are measured beside the first one alone.
 */
export async function fleet(options: BenchOptions): Promise<void> {
  if (options.postgres !== undefined) throw new Error('A fleet of instances is measured on SQLite.');
  const { instances } = options;
  const service = await startService(undefined, options);
  await service.child.stop();
  const directory = String(service.args[service.args.indexOf('--data') + 1]);
  const alone = await measureIdle(service, options, 1);
  await measureCommands(service, directory, { options, instances: 1 });
  makeFleet(directory, instances - 1);
  const many = await measureIdle(service, options, instances);
  const coldKb = ((many.idleMb - alone.idleMb) * 1_024) / (instances - 1);
  tell('memory of a closed instance', { kilobytes: coldKb }, options);
  await measureOpening(service, options);
  await measureWebhooks(service, directory, options);
  await measureCommands(service, directory, { options, instances });
  await measureUpgrade(service, directory, options);
  await service.stop();
}

function tell(what: string, figures: Readonly<Record<string, number>>, options: BenchOptions): void {
  const sentence = Object.entries(figures).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  report({ what, figures, sentence: sentence.join(', ') }, options);
}

async function measureIdle(
  { args }: Service,
  options: BenchOptions,
  instances: number,
): Promise<{ readonly idleMb: number }> {
  const [times, resident]: [number[], number[]] = [[], []];
  let processorMs = 0;
  for (let run = 0; run < options.runs; run += 1) {
    const startedMs = performance.now();
    const child = await startChild('src/main.ts', args);
    await answered(child.url);
    times.push(performance.now() - startedMs);
    await sleep(settleMs);
    resident.push(residentMb(child.pid));
    if (run === 0) {
      const before = processorTimeUs(child.pid) ?? Number.NaN;
      await sleep(idleMs);
      processorMs = ((processorTimeUs(child.pid) ?? Number.NaN) - before) / 1_000;
    }
    await child.stop();
  }
  const idleMb = median(resident);
  const figures = {
    instances,
    startMs: median(times),
    longestStartMs: Math.max(...times),
    idleMb,
    processorMsIn20Seconds: processorMs,
  };
  tell('start and rest', figures, options);
  return { idleMb };
}

async function answered(url: string): Promise<void> {
  const response = await fetch(`${url}/api/collections/bench/records`);
  if (!response.ok) throw new Error(`The answer was ${response.status}.`);
  await response.arrayBuffer();
}

/** The first requests to instances that are closed, one after the other. */
async function measureOpening({ args }: Service, options: BenchOptions): Promise<void> {
  const child = await startChild('src/main.ts', args);
  await answered(child.url);
  await sleep(settleMs);
  const before = { mb: residentMb(child.pid), files: filesOf(child) };
  const times = await timesOf(opened, (number) => answered(`${child.url}/i/one${number}`));
  await sleep(settleMs);
  const figures = {
    p50Ms: median(times),
    longestMs: Math.max(...times),
    megabytesEach: (residentMb(child.pid) - before.mb) / opened,
    filesEach: (filesOf(child) - before.files) / opened,
  };
  tell('first request to a closed instance', figures, options);
  const idle = processorTimeUs(child.pid) ?? Number.NaN;
  await sleep(idleMs);
  const processorMs = ((processorTimeUs(child.pid) ?? Number.NaN) - idle) / 1_000;
  tell(`rest with ${opened} open`, { processorMsIn20Seconds: processorMs }, options);
  await child.stop();
}

async function timesOf(count: number, work: (number: number) => Promise<void>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let number = 0; number < count; number += 1) {
    const startedMs = performance.now();
    await work(number);
    times.push(performance.now() - startedMs);
  }
  return times;
}

function filesOf({ pid }: Child): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Webhooks whose second attempt is due in instances that are closed, after a start. */
async function measureWebhooks(service: Service, directory: string, options: BenchOptions): Promise<void> {
  const receiver = await startChild('bench/support/receiver-server.ts', []);
  await turnReceiver(receiver, 'failing');
  const before = await startChild('src/main.ts', service.args);
  const identity = { identity: 'bench@example.com', password: 'bench-password' };
  for (let number = 0; number < withWebhooks; number += 1) {
    const api = await superuserApi(`${before.url}/i/one${number}`, identity);
    await api('/api/webhooks/endpoints', { url: `${receiver.url}/noted`, schedule: [retrySeconds] });
    await api('/api/collections/bench/records', sampleRecord(number));
  }
  // Each was tried once.
  await sleep(1_000);
  await before.stop();
  await turnReceiver(receiver, 'well');
  await fetch(`${receiver.url}/notes`);
  const dues = readDues(directory);
  const after = await startChild('src/main.ts', service.args);
  const readyAt = performance.timeOrigin + performance.now();
  while ((await readTaken(receiver)) < withWebhooks) await sleep(10);
  // Its answer has this form.
  const notes = (await (await fetch(`${receiver.url}/notes`)).json()) as (readonly [string, number])[];
  const arrivals = notes.map(([, at]) => at).toSorted((a, b) => a - b);
  const late = arrivals.map((at, index) => at - Math.max(dues[index] ?? 0, readyAt));
  tell('webhook due in a closed instance', { p50Ms: median(late), longestMs: Math.max(...late) }, options);
  await Promise.all([after.stop(), receiver.stop()]);
}

/** How long commands take beside a server, and until it serves what they made. */
async function measureCommands(
  { args }: Service,
  directory: string,
  { options, instances }: { readonly options: BenchOptions; readonly instances: number },
): Promise<void> {
  const child = await startChild('src/main.ts', args);
  await answered(child.url);
  const served: number[] = [];
  const create = await timesOf(options.runs, async (number) => {
    const slug = `new${instances}-${number}`;
    runMain(['instance', 'create', slug, '--data', directory]);
    const startedMs = performance.now();
    while ((await fetch(`${child.url}/i/${slug}/api/health`)).status === 404) await sleep(1);
    served.push(performance.now() - startedMs);
  });
  const list = await timesOf(options.runs, () => {
    runMain(['instance', 'list', '--data', directory]);
    return Promise.resolve();
  });
  await child.stop();
  const figures = { instances, createMs: median(create), servedMs: median(served), listMs: median(list) };
  tell('commands', figures, options);
}

function runMain(args: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, [mainFile, ...args], {
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
}

/** The first opening of a new file, and of one that has to be copied and migrated first. */
async function measureUpgrade({ args }: Service, directory: string, options: BenchOptions): Promise<void> {
  for (const { slug, what, migrations } of [
    { slug: 'fresh', what: 'first opening of a new instance', migrations: instanceMigrations },
    { slug: 'older', what: 'the same after an upgrade', migrations: instanceMigrations.slice(0, -1) },
  ]) {
    for (let number = 0; number < options.runs; number += 1) {
      const database = openSqlite({ path: addInstance(directory, `${slug}${number}`) });
      await migrate(database, migrations);
      await database.stop();
    }
    const child = await startChild('src/main.ts', args);
    await answered(child.url);
    const times = await timesOf(options.runs, async (number) => {
      const response = await fetch(`${child.url}/i/${slug}${number}/api/health`);
      if (!response.ok) throw new Error(`The answer was ${response.status}.`);
    });
    tell(what, { p50Ms: median(times), longestMs: Math.max(...times) }, options);
    await child.stop();
  }
}
