import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { checkRun, type LifeEnd, type RunFindings } from './check-run.ts';
import type { CrashPlan } from './crash-points.ts';
import { Journal } from './journal.ts';
import { prepareFolder, type PreparedFolder } from './prepare-folder.ts';
import { Random } from './random.ts';
import { ServerProcess, type ServerEnd } from './server-process.ts';
import { readStoredState } from './stored-state.ts';
import { Client } from './workload.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';

/** How one life of the server ends. */
export type Ending =
  | { readonly kind: 'crash'; readonly plan: CrashPlan }
  | { readonly kind: 'kill'; readonly afterMs: number }
  /** Asked to stop as soon as so many changes of this life were acknowledged, with others under way. */
  | { readonly kind: 'stop'; readonly afterAcknowledged: number };

export interface FaultRunOptions {
  readonly seed: number;
  /** One for each life; the last life, in which everything is delivered and read, comes after them. */
  readonly endings: readonly Ending[];
  readonly clients?: number;
}

export interface FaultRunResult extends RunFindings {
  readonly seed: number;
  readonly records: number;
  readonly events: number;
  readonly receipts: number;
  /** The slowest start after a life had ended. */
  readonly readyMsMax: number;
  /** From the last start until nothing was pending. */
  readonly drainMs: number;
}

/** A named point is reached within this time under load, however slow the machine, or it is not reached at all. */
const lifeMsMax = 60_000;
const drainMsMax = 60_000;
const clientsDefault = 12;
const perPage = 1_000;

/** Lives of one data folder under load, each ended as asked, and the checks over all of them. The same seed asks the same. */
export async function faultRun(options: FaultRunOptions): Promise<FaultRunResult> {
  const random = new Random(options.seed);
  const journal = await Journal.open();
  const folder = await prepareFolder(journal, ['/first', '/second']);
  const clients = Array.from(
    { length: options.clients ?? clientsDefault },
    (_, index) => new Client(`c${index}`, new Random(random.integer(0, 2 ** 31))),
  );
  const lives: LifeEnd[] = [];
  const starts: number[] = [];
  for (const ending of options.endings) {
    const life = await live(ending, { folder, journal, clients });
    starts.push(life.readyMs);
    lives.push({ life: journal.life, pending: life.pending });
    journal.violations.push(...life.violations);
    journal.life += 1;
  }
  const result = await lastLife({ folder, journal, clients }, lives);
  await journal.close();
  // What has failed is kept to be looked at.
  if (result.violations.length === 0) rmSync(folder.data, { recursive: true });
  else console.error(`kept: ${folder.data}`);
  return { ...result, seed: options.seed, readyMsMax: Math.max(...starts, result.readyMsMax) };
}

interface Stage {
  readonly folder: PreparedFolder;
  readonly journal: Journal;
  readonly clients: readonly Client[];
}

interface Life {
  readonly readyMs: number;
  readonly pending: ReadonlySet<string>;
  readonly violations: readonly string[];
}

async function live(ending: Ending, { folder, journal, clients }: Stage): Promise<Life> {
  const crash = ending.kind === 'crash' ? { crash: ending.plan } : {};
  const server = await ServerProcess.start({ data: folder.data, ...crash });
  let isOver = false;
  void server.ended.then(() => (isOver = true));
  const load = Promise.all(clients.map((client) => client.run(server.url, () => isOver)));
  const violations: string[] = [];
  const end = await endOf(server, ending, clients);
  isOver = true;
  await load;
  if (end === undefined) {
    violations.push(`life ${journal.life}: ${JSON.stringify(ending)} was not reached`);
    await server.signal('SIGKILL');
  } else if (ending.kind === 'stop' && end.code !== 0) {
    violations.push(`life ${journal.life}: a stop ended with ${JSON.stringify(end)}`);
  } else if (ending.kind !== 'stop' && end.signal !== 'SIGKILL') {
    violations.push(`life ${journal.life}: the server ended by itself: ${server.log.join('')}`);
  }
  if (server.log.length > 0) violations.push(`life ${journal.life} logged: ${server.log.join('')}`);
  await journal.allReceived();
  const stored = readStoredState(folder.file);
  if (stored.integrity !== 'ok') violations.push(`life ${journal.life} left: ${stored.integrity}`);
  const pending = [...stored.deliveries].filter(([, { status }]) => status === 'pending').map(([id]) => id);
  return { readyMs: server.readyMs, pending: new Set(pending), violations };
}

async function endOf(
  server: ServerProcess,
  ending: Ending,
  clients: readonly Client[],
): Promise<ServerEnd | undefined> {
  if (ending.kind === 'crash') return Promise.race([server.ended, wait(lifeMsMax)]);
  if (ending.kind === 'stop') {
    await untilAcknowledged(server, clients, ending.afterAcknowledged);
    return server.signal('SIGTERM');
  }
  await Promise.race([server.ended, wait(ending.afterMs)]);
  return server.signal('SIGKILL');
}

async function untilAcknowledged(
  server: ServerProcess,
  clients: readonly Client[],
  count: number,
): Promise<void> {
  const total = (): number => clients.reduce((sum, client) => sum + client.acknowledged, 0);
  const startMs = performance.now();
  const wanted = total() + count;
  while (total() < wanted && server.isRunning && performance.now() - startMs < lifeMsMax) await wait(2);
}

async function lastLife(
  { folder, journal, clients }: Stage,
  lives: readonly LifeEnd[],
): Promise<Omit<FaultRunResult, 'seed'>> {
  const server = await ServerProcess.start({ data: folder.data });
  const drainMs = await drain(folder);
  const records = await listRecords(server.url);
  const end = await server.signal('SIGTERM');
  const stored = readStoredState(folder.file);
  const stories = clients.flatMap((client) => client.stories);
  const findings = checkRun({ stories, journal, lives, takeovers: [], stored, records });
  const late =
    end.code === 0 ? [] : [`the last stop ended with ${JSON.stringify(end)}: ${server.log.join('')}`];
  return {
    ...findings,
    violations: [...findings.violations, ...late],
    records: records.length,
    events: stored.events.length,
    receipts: journal.receipts.length,
    readyMsMax: server.readyMs,
    drainMs,
  };
}

/** Until no delivery is pending, or as long as that may take; what is left then is found by the checks. */
async function drain(folder: PreparedFolder): Promise<number> {
  const startMs = performance.now();
  const database = new DatabaseSync(folder.file, { readOnly: true, timeout: 10_000 });
  const pending = database.prepare(
    `SELECT count(*) AS pending FROM ${storedDeliveries.sqlite} WHERE status = 'pending'`,
  );
  while (Number(pending.get()?.['pending']) > 0 && performance.now() - startMs < drainMsMax) await wait(10);
  database.close();
  return performance.now() - startMs;
}

type Listed = { readonly id: string; readonly title: string; readonly body: string };

async function listRecords(url: string): Promise<readonly Listed[]> {
  const records: Listed[] = [];
  for (let page = 1; ; page += 1) {
    const response = await fetch(
      `${url}/api/collections/posts/records?perPage=${perPage}&page=${page}&sort=id`,
    );
    // The list contract of http-api.md; what is wrong inside is found by the checks.
    const { items } = (await response.json()) as { readonly items: readonly Listed[] };
    records.push(...items);
    if (items.length < perPage) return records;
  }
}

function wait(delayMs: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), delayMs));
}
