import { startApp } from '../../src/app.ts';
import { createCollection } from '../../src/collections/change-collection.ts';
import { readConfig } from '../../src/config.ts';
import { createEndpoint } from '../../src/webhooks/change-endpoint.ts';
import { MainProcess } from '../support/main-process.ts';
import { startTestPostgres, type TestPostgres } from '../support/postgres.ts';
import { checkRun, type LifeEnd } from './check-run.ts';
import { Journal } from './journal.ts';
import { countOwned, readOwners, readPending, readPostgresState } from './postgres-state.ts';
import { Random } from './random.ts';
import { Client } from './workload.ts';

export interface PostgresRunOptions {
  readonly seed: number;
  /** Each kills a node, crashes PostgreSQL and cuts all connections, one after the other, under load. */
  readonly rounds: number;
}

export interface PostgresRunResult {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  readonly unknownKept: number;
  readonly unknownLost: number;
  readonly receipts: number;
  readonly duplicates: number;
  /** From the death of a node until all shards had a living owner, at most. */
  readonly takeoverMsMax: number;
  readonly drainMs: number;
}

const instanceCount = 4;
const clientsPerInstance = 1;
const paths = ['/first', '/second'];
const takeoverMsMax = 16_000;
const healMsMax = 20_000;
/** No measure of speed: only what never drains must fail. */
const drainMsMax = 60_000;
const perPage = 1_000;
const environment = { CHANCERY_KEY: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f' };

/** Two nodes on one PostgreSQL under load, faults of all kinds, and the checks of each instance. */
export async function postgresRun({ seed, rounds }: PostgresRunOptions): Promise<PostgresRunResult> {
  const server = await startTestPostgres({ settings: ['max_connections=100'] });
  const url = await server.createDatabase();
  const random = new Random(seed);
  const tenants = await prepare(url, random);
  const run = new Run({ server, url, random, tenants });
  try {
    await run.startNode();
    await run.startNode();
    const loading = run.load();
    for (let round = 0; round < rounds; round += 1) {
      await run.killNode();
      await run.crashServer();
      await run.cutConnections();
    }
    run.isOver = true;
    await run.within('a request never ended', loading, healMsMax);
    const drainMs = await run.drain();
    return { ...(await run.check()), takeoverMsMax: run.takeoverMsMax, drainMs };
  } finally {
    run.isOver = true;
    await run.end();
    await server.stop();
  }
}

/** An instance with its receivers and those who write it. */
interface Tenant {
  readonly id: string;
  readonly slug: string;
  readonly journal: Journal;
  readonly clients: readonly Client[];
  readonly lives: LifeEnd[];
}

interface Stage {
  readonly server: TestPostgres;
  readonly url: string;
  readonly random: Random;
  readonly tenants: readonly Tenant[];
}

interface Node {
  readonly process: MainProcess;
  readonly url: string;
  /** As the database knows it. */
  readonly id: string;
}

class Run {
  isOver = false;
  takeoverMsMax = 0;
  readonly violations: string[] = [];
  readonly #stage: Stage;
  readonly #nodes: Node[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async startNode(): Promise<void> {
    const { url } = this.#stage;
    const before = await readOwners(url);
    const process = new MainProcess(['serve', '--postgres', url, '--port', '0', '--dev'], environment);
    const { url: listening } = await process.waitForLog(/listens on/);
    let id: string | undefined;
    await this.#until('a new node owns nothing', takeoverMsMax, async () => {
      id = (await readOwners(url)).find((owner) => !before.includes(owner));
      return id !== undefined;
    });
    this.#nodes.push({ process, url: String(listening), id: id ?? '' });
  }

  async load(): Promise<void> {
    const write = async (tenant: Tenant, client: Client, random: Random): Promise<void> => {
      while (!this.isOver) {
        const node = random.pick(this.#nodes);
        const isAway = (): boolean => this.isOver || node?.process.hasEnded === true;
        await client.run(`${node?.url}/i/${tenant.slug}`, isAway);
        await wait(20);
      }
    };
    const each = this.#stage.tenants.flatMap((tenant) =>
      tenant.clients.map((client) =>
        write(tenant, client, new Random(this.#stage.random.integer(0, 2 ** 31))),
      ),
    );
    await Promise.all(each);
  }

  async killNode(): Promise<void> {
    await this.#acknowledgedMore('before a kill', 100);
    const [victim] = this.#nodes.splice(this.#stage.random.integer(0, this.#nodes.length - 1), 1);
    if (victim === undefined) throw new Error('no node to kill');
    victim.process.kill('SIGKILL');
    await victim.process.ended;
    this.#checkLog(victim.process);
    const diedMs = performance.now();
    await this.#nextLife();
    const isTaken = async (): Promise<boolean> => (await countOwned(this.#stage.url, [victim.id])) === 256;
    await this.#until('the shards of a dead node were not taken over', takeoverMsMax, isTaken);
    this.takeoverMsMax = Math.max(this.takeoverMsMax, performance.now() - diedMs);
    await this.startNode();
  }

  async crashServer(): Promise<void> {
    await this.#acknowledgedMore('before a crash', 100);
    await this.#stage.server.restart('immediate');
    await this.#acknowledgedMore('after a crash', 100);
    await this.#nextLife();
  }

  async cutConnections(): Promise<void> {
    for (let times = 0; times < 3; times += 1) {
      await wait(this.#stage.random.integer(50, 300));
      const cut = await this.#stage.server.killBackends(this.#stage.url);
      if (cut < 4) this.violations.push(`only ${cut} connections were there to be cut`);
      await this.#acknowledgedMore('after a cut', 50);
    }
    await this.#nextLife();
  }

  async drain(): Promise<number> {
    const { url, tenants } = this.#stage;
    const startMs = performance.now();
    await this.#until('deliveries stay pending', drainMsMax, async () => {
      for (const { id } of tenants) if ((await readPending(url, id)).size > 0) return false;
      return true;
    });
    return performance.now() - startMs;
  }

  async check(): Promise<Omit<PostgresRunResult, 'takeoverMsMax' | 'drainMs'>> {
    const { url, tenants } = this.#stage;
    const node = this.#nodes[0]?.url ?? '';
    const records = new Map<string, Awaited<ReturnType<typeof listRecords>>>();
    for (const { slug } of tenants) records.set(slug, await listRecords(`${node}/i/${slug}`));
    await this.end();
    const violations = [...this.violations];
    const sums = { acknowledged: 0, unknownKept: 0, unknownLost: 0, receipts: 0, duplicates: 0 };
    for (const { id, slug, journal, clients, lives } of tenants) {
      const stored = await readPostgresState(url, id);
      const stories = clients.flatMap((client) => client.stories);
      const evidence = { stories, journal, lives, stored, records: records.get(slug) ?? [] };
      const found = checkRun(evidence);
      violations.push(...found.violations.map((text) => `${slug}: ${text}`));
      const statuses = new Set(stories.flatMap(({ changes }) => changes.map(({ status }) => status)));
      for (const status of statuses)
        if (status > 500 && status !== 503) violations.push(`${slug}: answered with ${status}`);
      sums.acknowledged += found.acknowledged;
      sums.unknownKept += found.unknownKept;
      sums.unknownLost += found.unknownLost;
      sums.duplicates += found.duplicates;
      sums.receipts += journal.receipts.length;
    }
    return { violations, ...sums };
  }

  /** Stops what runs, gracefully; whoever does not is a violation. */
  async end(): Promise<void> {
    for (const { process } of this.#nodes.splice(0)) {
      process.kill('SIGTERM');
      const late = setTimeout(() => process.kill('SIGKILL'), healMsMax);
      const { code, stderr } = await process.ended;
      clearTimeout(late);
      this.#checkLog(process);
      if (code !== 0) this.violations.push(`a node ended with ${code}: ${stderr}`);
    }
    for (const { journal } of this.#stage.tenants) await journal.close();
  }

  async within(what: string, work: Promise<unknown>, limitMs: number): Promise<void> {
    const isDone = await Promise.race([work.then(() => true), wait(limitMs).then(() => false)]);
    if (!isDone) this.violations.push(`within ${limitMs} ms: ${what}`);
  }

  /** The only 500 is that of a COMMIT whose answer was lost: what is known not to be kept is a 503. */
  #checkLog(process: MainProcess): void {
    for (const { msg, status, err } of process.logLines()) {
      if (status !== 500) continue;
      const isUnknown =
        typeof err === 'object' && err !== null && 'type' in err && err.type === 'EngineFailure';
      if (!isUnknown) this.violations.push(`${String(msg)} 500: ${JSON.stringify(err)}`);
    }
  }

  async #until(what: string, limitMs: number, check: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + limitMs;
    while (!(await check())) {
      if (performance.now() > endMs) return void this.violations.push(`within ${limitMs} ms: ${what}`);
      await wait(50);
    }
  }

  /** What is sent from now on belongs to the next life, in which what is pending now may come a second time. */
  async #nextLife(): Promise<void> {
    // What a dead process had written to its sockets is in by then.
    await wait(100);
    for (const { id, journal, lives } of this.#stage.tenants) {
      lives.push({ life: journal.life, pending: await readPending(this.#stage.url, id) });
      journal.life += 1;
    }
  }

  /** Until every instance has been written so many times more. */
  async #acknowledgedMore(what: string, count: number): Promise<void> {
    const sum = ({ clients }: Tenant): number =>
      clients.reduce((total, client) => total + client.acknowledged, 0);
    const wanted = this.#stage.tenants.map((tenant) => ({ tenant, least: sum(tenant) + count }));
    await this.#until(`no writes ${what}`, healMsMax, () =>
      Promise.resolve(wanted.every(({ tenant, least }) => sum(tenant) >= least)),
    );
  }
}

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: console.error };

/** Instances with an open collection `posts` and two endpoints each, made by this process. */
async function prepare(url: string, random: Random): Promise<readonly Tenant[]> {
  const config = readConfig({ postgres: url, port: '0', dev: true }, environment);
  const app = await startApp(config, { logger: silent });
  const tenants: Tenant[] = [];
  for (let index = 0; index < instanceCount; index += 1) {
    const slug = `tenant-${index}`;
    const journal = await Journal.open();
    const entry = await app.data.directory.create(slug, null);
    const loan = await app.data.instances.borrow(entry);
    const { database, collections, clock } = loan.instance;
    await createCollection({ database, collections, now: clock.now() }, posts);
    for (const path of paths) {
      const settings = { url: journal.urlAt(path), maxInFlight: 8 };
      const { secret } = await createEndpoint(loan.instance, settings, config.policy);
      journal.secrets.set(path, secret);
    }
    loan.release();
    const clients = Array.from(
      { length: clientsPerInstance },
      (_, client) => new Client(`t${index}c${client}`, new Random(random.integer(0, 2 ** 31))),
    );
    tenants.push({ id: entry.id, slug, journal, clients, lives: [] });
  }
  await app.stop();
  return tenants;
}

const posts = {
  name: 'posts',
  type: 'base',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'body', type: 'text' },
  ],
  listRule: '',
  viewRule: '',
  createRule: '',
  updateRule: '',
  deleteRule: '',
};

interface Listed {
  readonly id: string;
  readonly title: string;
  readonly body: string;
}

async function listRecords(url: string): Promise<readonly Listed[]> {
  const records: Listed[] = [];
  for (let page = 1; ; page += 1) {
    const query = `perPage=${perPage}&page=${page}&sort=id`;
    const response = await fetch(`${url}/api/collections/posts/records?${query}`);
    // The list contract of http-api.md; what is wrong inside is found by the checks.
    const { items } = (await response.json()) as { readonly items: readonly Listed[] };
    records.push(...items);
    if (items.length < perPage) return records;
  }
}

function wait(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
