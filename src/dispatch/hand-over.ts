import { atMost } from '../base/at-most.ts';
import type { Clock } from '../base/clock.ts';
import type { Ownership } from '../deliveries/delivery.ts';
import { postpone } from '../deliveries/delivery-outcomes.ts';
import type { Transaction } from '../storage/database.ts';
import type { Claim } from './claim.ts';

/** How long a settlement may take after its attempt's deadline; after that the next owner sends the delivery again. */
const settleMs = 2_000;

/** Postpones open claims, inside the transaction that hands the instances over. */
export type HandOver = (tx: Transaction) => Promise<void>;

/**
 * Lets another node take over instances at once, although some of their deliveries have attempts in flight here: these
 * are postponed until the attempts must be over. While such a row is unchanged, this node may still settle it
 * (`toSettlements`); if this process dies, the next owner finds it due.
 */
export async function prepareHandOver(
  /** Returns the claims of these instances at the time of the call. */
  claims: () => readonly Claim[],
  parts: {
    readonly ownership: Ownership;
    readonly clock: Clock;
    /** Settlements that are running now. Their fences were built before the hand-over and do not know of it. */
    readonly settling: Iterable<Promise<void>>;
  },
): Promise<HandOver> {
  const { ownership, clock, settling } = parts;
  const now = clock.now();
  // A claim that was postponed before keeps its time: the row may be another node's by now, and only that time lets us settle it.
  for (const claim of claims()) claim.postponedUntil ??= now + claim.endpoint.timeoutMs + settleMs;
  // Results that cannot be stored must not delay the hand-over of others.
  await atMost(settleMs, Promise.all(settling));
  // Every claim is postponed again, as an earlier transaction may have failed; those settled meanwhile are no longer listed.
  return (tx) =>
    tx.inOrder(
      claims().flatMap(({ lanes: { instance }, pendings, postponedUntil: until = now }) => {
        const { names } = instance.database;
        const options = { names, until, now, fence: ownership.fence(instance.id) };
        return pendings.map((pending) => () => postpone(tx, pending, options));
      }),
    );
}
