import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { PastDeliveries } from '../deliveries/accounts/past-deliveries.ts';
import type { Batch, PendingDelivery } from '../deliveries/deliveries.ts';
import type { Ownership } from '../deliveries/delivery.ts';
import { outcomeColumns } from '../deliveries/delivery-outcomes.ts';
import { isSentAgain } from '../deliveries/log/past-events.ts';
import type { AttemptRequest } from '../sending/attempt-result.ts';
import { fittingCount, toBatchRequest } from '../sending/batch-request.ts';
import { sql } from '../sql/sql.ts';
import type { InlineColumn, Transaction } from '../storage/database.ts';
import type { Claim } from './claim.ts';
import type { Claims } from './claims.ts';

/** The delay after a batch could not be stored. */
const backOffMs = 1_000;
/** The delay after its deliveries had changed: an owner that does not know yet that it is none would try again and again. */
const changedMs = 50;

export interface BatchesOptions {
  readonly claims: Pick<Claims, 'add' | 'abandon' | 'leaveOut' | 'settleWithoutAttempt'>;
  readonly past: PastDeliveries;
  readonly ownership: Pick<Ownership, 'fence'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly requestOf: (claim: Claim, pending: PendingDelivery) => AttemptRequest;
  readonly send: (claim: Claim, request: AttemptRequest) => void;
  readonly isStopping: () => boolean;
}

/**
 * Sends claimed deliveries as batches. A batch is stored before it is sent for the first time, as the id of its members' outcomes: whatever
 * ends this process, they are sent again as the same batch, with the same id. Where they cannot be, as one was cancelled or may not be
 * sent any more, the others are another batch.
 *
 * ```
 *   claimed ── check what accounts may view ── fit into a body ── store ──▶ sent ──▶ Claims: settled together
 *                        │                           │              │
 *                        └── settled alone           └── left out   └── abandoned: changed meanwhile, or not ours
 * ```
 */
export class Batches {
  readonly #options: BatchesOptions;
  readonly #running = new Set<Promise<void>>();

  constructor(options: BatchesOptions) {
    this.#options = options;
  }

  /** Sends the deliveries of a claim. With `batch`, they are all members of that one. */
  send(claim: Claim, batch: Batch | undefined): void {
    const running = this.#send(claim, batch)
      .catch(async (error: unknown) => {
        const about = { instance: claim.lanes.id, endpoint: claim.endpoint.id, error, delayMs: backOffMs };
        this.#options.logger.error('A batch could not be stored; retrying.', about);
        await sleep(backOffMs);
        this.#options.claims.abandon(claim);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all batches are sent or abandoned. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #send(claim: Claim, sentBefore: Batch | undefined): Promise<void> {
    const { claims, requestOf, send, isStopping, clock } = this.#options;
    const count = claim.pendings.length;
    await this.#checkAccess(claim);
    const requests = claim.pendings.map((pending) => requestOf(claim, pending));
    const fitting = fittingCount(requests, claim.lanes.instance.bodyBytesMax);
    const left = claim.pendings.slice(fitting);
    claim.pendings = claim.pendings.slice(0, fitting);
    if (left.length > 0) claims.leaveOut(claim, left);
    const [first, ...others] = requests.slice(0, fitting);
    if (first === undefined) return claims.abandon(claim);
    const isSame = sentBefore !== undefined && fitting === count;
    const batch = isSame ? sentBefore : { id: newId(), size: fitting };
    if (!isSame && !(await this.#store(claim, batch, clock.now()))) {
      await sleep(changedMs);
      return claims.abandon(claim);
    }
    // They are pending, and sent as this batch by the next process; or by the next owner, when it finds them due.
    if (isStopping()) return;
    if (claim.postponedUntil !== undefined) return claims.abandon(claim);
    claim.batch = batch;
    send(claim, toBatchRequest({ deliveryId: claim.id, eventId: batch.id }, [first, ...others]));
  }

  /** Settles the deliveries whose records the account of the endpoint may not view any more. One after the other: each asks a rule. */
  async #checkAccess(claim: Claim): Promise<void> {
    const { past, claims, clock } = this.#options;
    const { lanes, endpoint } = claim;
    for (const pending of claim.pendings) {
      if (!isSentAgain(endpoint, pending, clock.now())) continue;
      const delivery = { instance: lanes.instance, endpoint, pending };
      const answer = await new Promise<PendingDelivery>((resolve) => past.check(delivery, resolve));
      const { disposition } = answer;
      if (disposition === 'send') {
        claim.pendings = claim.pendings.map((one) => (one === pending ? answer : one));
        continue;
      }
      claim.pendings = claim.pendings.filter((one) => one !== pending);
      claims.add({ id: pending.id, lanes, endpoint, pendings: [answer] });
      claims.settleWithoutAttempt(pending, disposition);
    }
  }

  /** Stores a new batch. Returns whether that succeeded; not if one of its deliveries has changed, or the instance is another node's. */
  async #store(claim: Claim, batch: Batch, now: number): Promise<boolean> {
    const { database } = claim.lanes.instance;
    const fence = this.#options.ownership.fence(claim.lanes.id);
    const { pendings } = claim;
    const store = async (tx: Transaction): Promise<void> => {
      if ((await putTogether(tx, { pendings, batch, now, fence })) < pendings.length) throw new Changed();
    };
    try {
      await database.write(store, { findsByKey: true });
    } catch (error) {
      if (error instanceof Changed) return false;
      throw error;
    }
    claim.pendings = pendings.map((one) => ({
      ...one,
      batch,
      state: { ...one.state, due: one.state.due ?? now },
    }));
    return true;
  }
}

/** Undoes the transaction that has found it. */
class Changed extends Error {}

const columns: readonly InlineColumn[] = [
  ['event', 'number'],
  ['endpoint', 'number'],
  ['attempts', 'number'],
  ['due', 'number'],
  ['record', 'text'],
];

interface StoredBatch {
  readonly pendings: readonly PendingDelivery[];
  readonly batch: Batch;
  readonly now: number;
  readonly fence: ReturnType<Ownership['fence']>;
}

/** Makes deliveries members of a batch that are as they were read, and returns how many. One without an outcome gets one, due now. */
async function putTogether(tx: Transaction, { pendings, batch, now, fence }: StoredBatch): Promise<number> {
  const { names } = tx;
  const rows = pendings.map(({ key, state, record }) => [
    key.event,
    key.endpoint,
    state.attempts,
    state.due ?? now,
    record,
  ]);
  const delivery = sql`SELECT 1 FROM ${names.table('$delivery')} d WHERE ${names.instance.conditionOf('d')}
    AND d.event = CAST(given.event AS bigint) AND d.endpoint = CAST(given.endpoint AS bigint)`;
  return tx.run(sql`
    INSERT INTO ${names.table('$outcome')} AS existing (${names.instance.column}${outcomeColumns}, batch, batch_size)
    SELECT ${names.instance.value}CAST(event AS bigint), CAST(endpoint AS bigint), 'pending', CAST(attempts AS bigint), CAST(due AS bigint), 0, record, '',
      CAST(NULL AS bigint), ${toTimestamp(now)}, ${batch.id}, CAST(${batch.size} AS bigint)
    FROM ${names.valuesTable(columns, rows)} WHERE ${fence} AND EXISTS (${delivery})
    ON CONFLICT (${names.instance.column}event, endpoint) DO UPDATE SET batch = excluded.batch, batch_size = excluded.batch_size
    WHERE existing.status = 'pending' AND existing.attempts = excluded.attempts AND existing.due = excluded.due`);
}
