import { startTestPostgres, type TestPostgres } from '../support/postgres.ts';
import { NodesUnderLoad, type NodesFindings } from './nodes-under-load.ts';
import { prepareInstances } from './prepare-instances.ts';
import { Random } from './random.ts';

export interface PostgresRunOptions {
  readonly seed: number;
  /** Each kills a node, crashes PostgreSQL and cuts all connections, one after the other, under load. */
  readonly rounds: number;
}

export interface PostgresRunResult extends NodesFindings {
  /** From the death of a node until all shards had a living owner, at most. */
  readonly takeoverMsMax: number;
  readonly drainMs: number;
}

/** Two nodes on one PostgreSQL under load, faults of all kinds, and the checks of each instance. */
export async function postgresRun({ seed, rounds }: PostgresRunOptions): Promise<PostgresRunResult> {
  const server = await startTestPostgres({ settings: ['max_connections=100'] });
  const url = await server.createDatabase();
  const random = new Random(seed);
  const run = new NodesUnderLoad({ url, random, instances: await prepareInstances(url, random) });
  try {
    await run.startNode();
    await run.startNode();
    run.load();
    for (let round = 0; round < rounds; round += 1) {
      await run.killNode();
      await crashServer(run, server);
      await cutConnections(run, { server, url, random });
    }
    await run.endLoad();
    const drainMs = await run.drain();
    return { ...(await run.check()), takeoverMsMax: run.takeoverMsMax, drainMs };
  } finally {
    await run.end();
    await server.stop();
  }
}

async function crashServer(run: NodesUnderLoad, server: TestPostgres): Promise<void> {
  await run.acknowledgedMore('before a crash', 50);
  await server.restart('immediate');
  await run.acknowledgedMore('after a crash', 50);
  await run.nextLife();
}

interface Connections {
  readonly server: TestPostgres;
  readonly url: string;
  readonly random: Random;
}

async function cutConnections(run: NodesUnderLoad, { server, url, random }: Connections): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await new Promise((resolve) => setTimeout(resolve, random.integer(50, 300)));
    const cut = await server.killBackends(url);
    if (cut < 4) run.violations.push(`only ${cut} connections were there to be cut`);
    await run.acknowledgedMore('after a cut', 25);
  }
  await run.nextLife();
}
