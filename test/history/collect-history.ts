import type { Engine } from '../../src/storage/database.ts';
import { Random } from '../faults/random.ts';
import { eventually } from '../support/eventually.ts';
import { Client } from './client.ts';
import { collectionNames, type CollectionName } from './collections.ts';
import type { Evidence } from './evidence.ts';
import type { History, Shown, Values } from './exchange.ts';
import { Stage } from './stage.ts';

export interface HistoryOptions {
  readonly engine: Engine;
  readonly seed: number;
  readonly clients: number;
  /** Of each client. */
  readonly operations: number;
}

/** How much of what a client does are writes, in turn: memory answers only where little is written. */
const writeShares = [0.8, 0.25, 0.05];
const phaseLength = 15;
/** Half of the time nobody pauses. */
const pauseMsMax = 20;
const changePauseMsMin = 50;
const changePauseMsMax = 400;

/**
 * Clients that write and read the same few records, through all nodes, while somebody changes rules and names; then all that they were
 * answered, and all that is stored. What they ask for comes from the seed; who is first does not.
 */
export async function collectHistory({
  engine,
  seed,
  clients,
  operations,
}: HistoryOptions): Promise<Evidence> {
  const stage = await Stage.open(engine, engine === 'postgres' ? 2 : 1);
  try {
    const random = new Random(seed);
    const history: History = { exchanges: [], walks: [] };
    const shown = new Map<string, Shown>();
    const newRandom = (): Random => new Random(random.integer(0, 2 ** 31));
    const { urls } = stage;
    const newClient = (name: string, token?: string): Client =>
      new Client({ name, random: newRandom(), urls, token, history, shown });
    await newClient('first', stage.token).begin();
    const working = Array.from({ length: clients }, (_, index) => {
      const client = newClient(`client${index}`, index % 2 === 0 ? stage.token : undefined);
      return work(client, newRandom(), operations);
    });
    const load = Promise.all(working);
    await Promise.all([load, change(newClient('admin', stage.token), newRandom(), load)]);
    const records = await readAll(newClient('last', stage.token));
    const isOver = async (): Promise<boolean> =>
      (await stage.deliveries()).every(({ status }) => status !== 'pending');
    await eventually('all deliveries', isOver);
    const [events, deliveries] = [await stage.events(), await stage.deliveries()];
    const { endpoints, log, listener } = stage;
    return { engine, history, events, deliveries, endpoints, receipts: listener.receipts, records, log };
  } finally {
    await stage.stop();
  }
}

async function work(client: Client, random: Random, operations: number): Promise<void> {
  for (let count = 0; count < operations; count += 1) {
    const share = writeShares[Math.floor(count / phaseLength) % writeShares.length] ?? 1;
    if (random.unit() < share) await client.write();
    else await client.read();
    await wait(random.integer(0, 1) * random.integer(0, pauseMsMax));
  }
}

/** One change after the other for as long as others work. */
async function change(client: Client, random: Random, load: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const isLoadOver = load.finally(() => over.abort());
  while (!over.signal.aborted) {
    await Promise.race([wait(random.integer(changePauseMsMin, changePauseMsMax)), isLoadOver]);
    if (!over.signal.aborted) await client.change();
  }
}

async function readAll(client: Client): Promise<Evidence['records']> {
  const records = new Map<CollectionName, readonly Values[]>();
  for (const collection of collectionNames) records.set(collection, await client.readAll(collection));
  return records;
}

function wait(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
