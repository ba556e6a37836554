import { MainProcess } from '../support/main-process.ts';
import { checkRun, type RunFindings } from './check-run.ts';
import { countOwned, readOwners, readPending, readPostgresState, readTakeovers } from './postgres-state.ts';
import { environment, type InstanceUnderLoad } from './prepare-instances.ts';
import { Random } from './random.ts';
import type { Client } from './workload.ts';

export interface NodesFindings extends RunFindings {
  readonly receipts: number;
}

export interface Stage {
  /** Of the database, as the nodes are told it. */
  readonly url: string;
  readonly random: Random;
  readonly instances: readonly InstanceUnderLoad[];
}

interface Node {
  readonly process: MainProcess;
  readonly url: string;
  /** As the database knows it. */
  readonly id: string;
}

/** No measures of speed: only what never comes must fail, on a slow and busy machine too. */
const takeoverMsMax = 60_000;
const healMsMax = 60_000;
const drainMsMax = 60_000;
const writesMsMax = 60_000;
const perPage = 1_000;

/** Nodes in processes of their own on one database, clients that write through all of them, and what they were told. */
export class NodesUnderLoad {
  takeoverMsMax = 0;
  readonly violations: string[] = [];
  readonly #stage: Stage;
  readonly #nodes: Node[] = [];
  /** Ids of nodes. */
  readonly #killed = new Set<string>();
  #isOver = false;
  #loading: Promise<unknown> = Promise.resolve();

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

  /** Clients write through all nodes from now on. */
  load(): void {
    const write = async (instance: InstanceUnderLoad, client: Client, random: Random): Promise<void> => {
      while (!this.#isOver) {
        const node = random.pick(this.#nodes);
        const isAway = (): boolean => this.#isOver || node?.process.hasEnded === true;
        await client.run(`${node?.url}/i/${instance.slug}`, isAway);
        await wait(20);
      }
    };
    const each = this.#stage.instances.flatMap((instance) =>
      instance.clients.map((client) =>
        write(instance, client, new Random(this.#stage.random.integer(0, 2 ** 31))),
      ),
    );
    this.#loading = Promise.all(each);
  }

  async endLoad(): Promise<void> {
    this.#isOver = true;
    const isDone = this.#loading.then(() => true);
    if (!(await Promise.race([isDone, wait(healMsMax).then(() => false)])))
      this.violations.push(`within ${healMsMax} ms: a request never ended`);
  }

  async killNode(): Promise<void> {
    await this.acknowledgedMore('before a kill', 50);
    const [victim] = this.#nodes.splice(this.#stage.random.integer(0, this.#nodes.length - 1), 1);
    if (victim === undefined) throw new Error('no node to kill');
    victim.process.kill('SIGKILL');
    this.#killed.add(victim.id);
    await victim.process.ended;
    this.#checkLog(victim.process);
    const diedMs = performance.now();
    await this.nextLife();
    const isTaken = async (): Promise<boolean> => (await countOwned(this.#stage.url, [victim.id])) === 256;
    await this.#until('the shards of a dead node were not taken over', takeoverMsMax, isTaken);
    this.takeoverMsMax = Math.max(this.takeoverMsMax, performance.now() - diedMs);
    await this.startNode();
  }

  async drain(): Promise<number> {
    const { url, instances } = this.#stage;
    const startMs = performance.now();
    await this.#until('deliveries stay pending', drainMsMax, async () => {
      for (const { id } of instances) if ((await readPending(url, id)).size > 0) return false;
      return true;
    });
    return performance.now() - startMs;
  }

  /** Stops the nodes, and holds everything against the promises. */
  async check(): Promise<NodesFindings> {
    const { url, instances } = this.#stage;
    const node = this.#nodes[0]?.url ?? '';
    const records = new Map<string, Awaited<ReturnType<typeof listRecords>>>();
    for (const { slug } of instances) records.set(slug, await listRecords(`${node}/i/${slug}`));
    await this.end();
    const violations = [...this.violations];
    const sums = { acknowledged: 0, unknownKept: 0, unknownLost: 0, receipts: 0, duplicates: 0 };
    for (const { id, slug, journal, clients, lives } of instances) {
      const stored = await readPostgresState(url, id);
      const stories = clients.flatMap((client) => client.stories);
      const takeovers = await readTakeovers(url, id, this.#killed);
      const evidence = { stories, journal, lives, takeovers, stored, records: records.get(slug) ?? [] };
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
    this.#isOver = true;
    for (const { process } of this.#nodes.splice(0)) {
      process.kill('SIGTERM');
      const late = setTimeout(() => process.kill('SIGKILL'), healMsMax);
      const { code, stderr } = await process.ended;
      clearTimeout(late);
      this.#checkLog(process);
      if (code !== 0) this.violations.push(`a node ended with ${code}: ${stderr}`);
    }
    for (const { journal } of this.#stage.instances) await journal.close();
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
  async nextLife(url = this.#stage.url): Promise<void> {
    // What a dead process had written to its sockets is in by then: each turn of the loop reads what is there.
    await wait(100);
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    for (const { id, journal, lives } of this.#stage.instances) {
      lives.push({ life: journal.life, pending: await readPending(url, id) });
      journal.life += 1;
    }
  }

  /** Until every instance has been written so many times more. */
  async acknowledgedMore(what: string, count: number): Promise<void> {
    const sum = ({ clients }: InstanceUnderLoad): number =>
      clients.reduce((total, client) => total + client.acknowledged, 0);
    const wanted = this.#stage.instances.map((instance) => ({ instance, least: sum(instance) + count }));
    await this.#until(`no writes ${what}`, writesMsMax, () =>
      Promise.resolve(wanted.every(({ instance, least }) => sum(instance) >= least)),
    );
  }
}

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
