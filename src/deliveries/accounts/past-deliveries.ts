import { OutdatedDefinitions } from '../../storage/engine-errors.ts';
import type { PendingDelivery } from '../deliveries.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { noteStale } from '../../endpoints/held-records.ts';
import { pastMessage } from '../log/past-events.ts';
import { splitRecordKey } from '../record-order.ts';
import { markReconcile } from '../reconcile-marks.ts';

/** A claimed delivery of an account's endpoint that is sent again. */
export interface PastDelivery {
  readonly instance: WebhookInstance;
  readonly endpoint: Endpoint;
  readonly pending: PendingDelivery;
}

/** Definitions may change again between two tries, but hardly this often. */
const triesMax = 5;

/**
 * Checks what may still be sent of deliveries to accounts. They stay claimed meanwhile, and no other delivery waits: a slow rule delays the
 * endpoints of its own collection alone.
 */
export class PastDeliveries {
  readonly #checks = new Set<Promise<void>>();
  readonly #onMarked: (instanceId: string) => void;

  /** `onMarked` is called when an endpoint is to be reconciled, as a state was withheld from it. */
  constructor(onMarked: (instanceId: string) => void) {
    this.#onMarked = onMarked;
  }

  /** Calls `then` with the delivery as it may be sent, or with the disposition of one that is not sent. */
  check(delivery: PastDelivery, then: (answer: PendingDelivery) => void): void {
    const checked = this.#toSend(delivery)
      .then(then)
      .finally(() => this.#checks.delete(checked));
    this.#checks.add(checked);
  }

  /** Resolves when no check is running. */
  async settled(): Promise<void> {
    while (this.#checks.size > 0) await Promise.all(this.#checks);
  }

  async #toSend(delivery: PastDelivery, tries = 1): Promise<PendingDelivery> {
    const { instance, endpoint, pending } = delivery;
    try {
      const message = await pastMessage(instance, endpoint, pending.key.event);
      if (message !== undefined) return { ...pending, ...message };
      if (endpoint.transitions) await this.#noteWithheld(delivery);
      return { ...pending, disposition: 'withheld' };
    } catch (error) {
      // The definitions have been read again by now.
      if (error instanceof OutdatedDefinitions && tries < triesMax) return this.#toSend(delivery, tries + 1);
      const { eventId: event } = pending;
      const about = { instance: instance.id, endpoint: endpoint.id, event, error };
      instance.logger.warn('Checking whether an account may still view a record failed; retrying.', about);
      return { ...pending, disposition: 'postponed' };
    }
  }

  /** The endpoint lacks this state of the record from now on. A reconcile sends it if the owner may view it again. */
  async #noteWithheld({ instance, endpoint, pending }: PastDelivery): Promise<void> {
    const { database, dueClock } = instance;
    const [collection, record] = splitRecordKey(pending.record);
    await database.write(async (tx) => {
      await noteStale(tx, { endpoint: endpoint.number, collection, record });
      await markReconcile(tx, { endpoints: [endpoint.number], now: dueClock.now() });
      tx.afterCommit(() => this.#onMarked(instance.id));
    });
  }
}
