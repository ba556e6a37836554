import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchInstance } from './make-neighbour.ts';
import { pace } from './pace.ts';
import { sampleRecord } from './sample-record.ts';

/** What became of records that were created at a steady pace, each told to a receiver that notes when. In milliseconds. */
export interface Delivered {
  /**
   * From the answer to the create, which comes after its commit, to the arrival of the webhook: what a client sees. It is less than
   * nothing where the webhook overtakes the answer.
   */
  readonly sinceAnswerMs: readonly number[];
  /** From when the create was due, which is before its commit. */
  readonly sinceDueMs: readonly number[];
  /** When they arrived, in order, since 1970. */
  readonly arrivals: readonly number[];
  /** Creates that were answered a second. */
  readonly perSecond: number;
}

interface Answered {
  readonly at: number;
  readonly ms: number;
}

/** What is missing after the last create by so much was lost. */
const lostAfterMs = 60_000;
const pollMs = 20;

let created = 0;

/**
 * Creates records at a steady pace, through `others` of its nodes in equal parts too, of which a receiver (receiver-server.ts) is told at `/noted`; resolves when all have arrived.
 * Throws when one does not.
 */
export async function deliverAtPace(
  { url, others = [] }: Pick<BenchInstance, 'url'> & { readonly others?: readonly string[] },
  receiver: { readonly url: string },
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): Promise<Delivered> {
  const answered = new Map<string, Answered>();
  const nodes = [url, ...others];
  const startMs = performance.now();
  await Promise.all(nodes.map((node) => create(node, { rate: rate / nodes.length, seconds }, answered)));
  const endMs = performance.now();
  const arrived = await readArrivals(receiver.url, answered);
  return {
    sinceAnswerMs: arrived.map(({ at, answer }) => at - answer.at),
    sinceDueMs: arrived.map(({ at, answer }) => at - answer.at + answer.ms),
    arrivals: arrived.map(({ at }) => at).toSorted((a, b) => a - b),
    perSecond: (answered.size / (endMs - startMs)) * 1_000,
  };
}

/** Creates records through one node. */
async function create(
  url: string,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
  answered: Map<string, Answered>,
): Promise<void> {
  const first = created;
  created += Math.ceil(rate * seconds);
  const idOf = (n: number): string => String(first + n).padStart(15, '0');
  await pace({
    url: `${url}/api/collections/bench/records`,
    rate,
    seconds,
    body: (n) => JSON.stringify({ ...sampleRecord(n), id: idOf(n) }),
    onAnswer: (n, ms) => answered.set(idOf(n), { at: performance.timeOrigin + performance.now(), ms }),
  });
}

interface Arrived {
  readonly at: number;
  readonly answer: Answered;
}

/** Of each record its first arrival. */
async function readArrivals(
  receiver: string,
  answered: ReadonlyMap<string, Answered>,
): Promise<readonly Arrived[]> {
  const arrived = new Map<string, Arrived>();
  const deadline = performance.now() + lostAfterMs;
  while (arrived.size < answered.size) {
    // Its notes have this form.
    const notes = (await (await fetch(`${receiver}/notes`)).json()) as readonly (readonly [string, number])[];
    for (const [id, at] of notes) {
      const answer = answered.get(id);
      if (answer !== undefined && !arrived.has(id)) arrived.set(id, { at, answer });
    }
    if (performance.now() > deadline)
      throw new Error(`${answered.size - arrived.size} of ${answered.size} webhooks did not arrive`);
    await sleep(pollMs);
  }
  return [...arrived.values()];
}
