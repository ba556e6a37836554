import { OutdatedDefinitions } from '../../storage/engine-errors.ts';
import type { PendingDelivery } from '../deliveries.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { pastMessage } from '../log/past-events.ts';

/** A claimed delivery of an account's endpoint that is sent again. */
export interface PastDelivery {
  readonly instance: WebhookInstance;
  readonly endpoint: Endpoint;
  readonly pending: PendingDelivery;
}

/**
 * Finds out what may still be sent of deliveries to accounts. They hold their places meanwhile, and nobody else waits: a slow rule holds up the
 * endpoints of its own collection alone.
 */
export class PastDeliveries {
  readonly #checks = new Set<Promise<void>>();

  /** Calls `then` with the delivery as it may be sent, or with the fate of one that is not sent. */
  check(delivery: PastDelivery, then: (answer: PendingDelivery) => void): void {
    const checked = toSend(delivery)
      .then(then)
      .finally(() => this.#checks.delete(checked));
    this.#checks.add(checked);
  }

  /** Resolves when nothing is asked any more. */
  async settled(): Promise<void> {
    while (this.#checks.size > 0) await Promise.all(this.#checks);
  }
}

/** Definitions may change again between two tries, but hardly this often. */
const triesMax = 5;

async function toSend(delivery: PastDelivery, tries = 1): Promise<PendingDelivery> {
  const { instance, endpoint, pending } = delivery;
  try {
    const message = await pastMessage(instance, endpoint.owner, pending.key.event);
    return message === undefined ? { ...pending, disposition: 'withheld' } : { ...pending, ...message };
  } catch (error) {
    // They are read again by now.
    if (error instanceof OutdatedDefinitions && tries < triesMax) return toSend(delivery, tries + 1);
    const { eventId: event } = pending;
    const about = { instance: instance.id, endpoint: endpoint.id, event, error };
    instance.logger.warn(
      'Whether an account may still view a record could not be found out; trying again.',
      about,
    );
    return { ...pending, disposition: 'postponed' };
  }
}
