import type { Clock } from '../base/clock.ts';
import type { Transaction } from '../storage/database.ts';
import { putOff } from './deliveries.ts';
import type { Flight } from './flight.ts';
import type { Ownership } from './ownership.ts';

/** After its deadline an attempt is settled within this; if not, the next owner sends the delivery again. */
const settleMs = 2_000;

/** What is written in the transaction that gives instances away. */
export type HandOver = (tx: Transaction) => Promise<void>;

/**
 * Lets another node go on with instances at once, though some of their deliveries are still on their way here: those are put
 * off until their attempts must be over. While a row is as we have left it, it stays ours to settle (`toSettlement`); should
 * this process die, the next owner finds it due.
 */
export async function prepareHandOver(
  /** Those that are on their way at that moment. */
  flights: () => readonly Flight[],
  parts: {
    readonly ownership: Ownership;
    readonly clock: Clock;
    /** What is being settled at this moment, by fences that know nothing of this. */
    readonly settling: Iterable<Promise<void>>;
  },
): Promise<HandOver> {
  const { ownership, clock, settling } = parts;
  const now = clock.now();
  // What was put off before keeps its time, by which alone it is known to be ours: others may have it, and have seen that.
  for (const flight of flights()) flight.putOffUntil ??= now + flight.endpoint.timeoutMs + settleMs;
  await atMost(settleMs, Promise.all(settling));
  // All of them, as the transaction before may have failed; without those that were settled meanwhile.
  return (tx) =>
    tx.inOrder(
      flights().map(({ lanes: { instance }, pending, putOffUntil: until = now }) => () => {
        const { names } = instance.database;
        return putOff(tx, pending, { names, until, fence: ownership.fence(instance.id) });
      }),
    );
}

/** Somebody's results that cannot be stored must not keep the others' work here. */
async function atMost(delayMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, delayMs)));
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
