import { Forwarder } from '../support/forwarder.ts';
import { startPostgresPair, type PostgresPair } from '../support/postgres-pair.ts';
import { NodesUnderLoad, type NodesFindings } from './nodes-under-load.ts';
import { prepareInstances } from './prepare-instances.ts';
import { Random } from './random.ts';

export interface FailoverRunResult extends NodesFindings {
  /** From the death of the primary until every instance was written again. */
  readonly outageMs: number;
  readonly drainMs: number;
}

/**
 * Two nodes under load on a primary with a synchronous standby, behind one address. The primary is killed, the standby promoted
 * and the address led there, as whatever watches over a cluster would do it.
 */
export async function failoverRun(seed: number): Promise<FailoverRunResult> {
  const pair = await startPostgresPair();
  const database = await pair.primary.createDatabase();
  const forwarder = await Forwarder.open(portOf(pair.primary.url));
  const url = withPort(database, forwarder.port);
  const random = new Random(seed);
  const run = new NodesUnderLoad({ url, random, instances: await prepareInstances(url, random) });
  try {
    await run.startNode();
    await run.startNode();
    run.load();
    await run.acknowledgedMore('before the primary dies', 50);
    const diedMs = performance.now();
    await failOver(run, { pair, forwarder, database });
    await run.acknowledgedMore('after the failover', 1);
    const outageMs = performance.now() - diedMs;
    await run.acknowledgedMore('after the failover', 50);
    await run.endLoad();
    const drainMs = await run.drain();
    return { ...(await run.check()), outageMs, drainMs };
  } finally {
    await run.end();
    await forwarder.close();
    await pair.stop();
  }
}

interface Cluster {
  readonly pair: PostgresPair;
  readonly forwarder: Forwarder;
  readonly database: string;
}

async function failOver(run: NodesUnderLoad, { pair, forwarder, database }: Cluster): Promise<void> {
  // Now the primary has commits that die with it; all of them must still be unanswered.
  await pair.part();
  await pair.primary.kill();
  await pair.promote();
  const port = portOf(pair.standby.url);
  // What is pending now may have arrived unsettled, and may come again. Nobody else is on the new primary yet.
  await run.nextLife(withPort(database, port));
  forwarder.pointTo(port);
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function withPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}
