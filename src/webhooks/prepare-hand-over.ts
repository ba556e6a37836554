import type { Clock } from '../base/clock.ts';
import type { Transaction } from '../storage/database.ts';
import { putOff } from './deliveries.ts';
import type { Flight } from './flight.ts';
import type { Ownership } from './ownership.ts';

/** How long a settlement may take after its attempt's deadline; after that the next owner sends the delivery again. */
const settleMs = 2_000;

/** Writes what a hand-over needs, inside the transaction that gives the instances away. */
export type HandOver = (tx: Transaction) => Promise<void>;

/**
 * Lets another node go on with instances at once, although some of their deliveries have attempts in flight here: those
 * deliveries are put off until the attempts must be over. While such a row is unchanged, this node may still settle it
 * (`toSettlement`); if this process dies, the next owner finds it due.
 */
export async function prepareHandOver(
  /** Returns the flights of these instances at the time of the call. */
  flights: () => readonly Flight[],
  parts: {
    readonly ownership: Ownership;
    readonly clock: Clock;
    /** Settlements that are running now. Their fences were built before the hand-over and do not know of it. */
    readonly settling: Iterable<Promise<void>>;
  },
): Promise<HandOver> {
  const { ownership, clock, settling } = parts;
  const now = clock.now();
  // A flight that was put off before keeps its time: the row may be another node's by now, and only that time lets us settle it.
  for (const flight of flights()) flight.putOffUntil ??= now + flight.endpoint.timeoutMs + settleMs;
  await atMost(settleMs, Promise.all(settling));
  // Every flight is put off again, as an earlier transaction may have failed; those settled meanwhile are no longer listed.
  return (tx) =>
    tx.inOrder(
      flights().map(({ lanes: { instance }, pending, putOffUntil: until = now }) => () => {
        const { names } = instance.database;
        return putOff(tx, pending, { names, until, fence: ownership.fence(instance.id) });
      }),
    );
}

/** Waits for the work, but not longer than `delayMs`: results that cannot be stored must not hold up the hand-over of others. */
async function atMost(delayMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, delayMs)));
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
