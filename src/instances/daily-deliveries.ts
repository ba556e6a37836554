import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { countDeliveredToday } from '../deliveries/endpoint-hours.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import type { OpenInstances } from './open-instances.ts';

const dayMs = 24 * 3_600_000;
const lookMs = 10_000;

interface Day {
  readonly number: number;
  /** What was delivered on it by some moment, and what this process had counted by then. */
  readonly before: number;
  readonly counted: number;
}

export interface DailyDeliveriesOptions {
  readonly directory: Pick<InstanceDirectory, 'quotasOf'>;
  readonly instances: Pick<OpenInstances, 'borrowOpen'>;
  /** How many deliveries this process has delivered of each instance. */
  readonly counts: () => ReadonlyMap<string, { readonly deliveries: number }>;
  /** Called when webhooks of an instance may be sent again. */
  readonly wake: (instanceId: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Holds the quotas of deliveries a day, in UTC. Webhooks beyond wait for the next day. What is in flight when the quota is reached is still
 * delivered. What other processes have delivered is read every ten seconds.
 */
export class DailyDeliveries {
  readonly #options: DailyDeliveriesOptions;
  readonly #days = new Map<string, Day>();
  readonly #waiting = new Set<string>();
  #poller: Poller | undefined;

  constructor(options: DailyDeliveriesOptions) {
    this.#options = options;
  }

  /** Whether webhooks of an instance have to wait. */
  isUsedUp(id: string): boolean {
    const max = this.#options.directory.quotasOf(id).quotas.deliveriesPerDay;
    if (max === undefined) return false;
    const number = Math.floor(this.#options.clock.now() / dayMs);
    const counted = this.#countedOf(id);
    let day = this.#days.get(id);
    if (day === undefined) {
      day = { number, before: 0, counted };
      const forget = (): boolean => this.#days.delete(id);
      this.#count(id).then((isCounted) => isCounted || forget(), forget);
    } else if (day.number !== number) day = { number, before: 0, counted };
    this.#days.set(id, day);
    const isUsedUp = day.before + counted - day.counted >= max;
    if (isUsedUp) this.#waiting.add(id);
    return isUsedUp;
  }

  /** Reads what was delivered today, by whichever process. Returns false, and changes nothing, where the instance is closed. */
  async #count(id: string): Promise<boolean> {
    const { instances, clock } = this.#options;
    const loan = instances.borrowOpen(id);
    if (loan === undefined) return false;
    try {
      const now = clock.now();
      const number = Math.floor(now / dayMs);
      const stored = await countDeliveredToday(loan.instance.database, now);
      const counted = this.#countedOf(id);
      const day = this.#days.get(id);
      // What this process has delivered a moment ago is not stored yet.
      const own = day?.number === number ? day.before + counted - day.counted : 0;
      this.#days.set(id, { number, before: Math.max(stored, own), counted });
      return true;
    } finally {
      loan.release();
    }
  }

  #countedOf(id: string): number {
    return this.#options.counts().get(id)?.deliveries ?? 0;
  }

  start(): void {
    const { logger } = this.#options;
    const onError = (error: unknown): void =>
      logger.warn('Deliveries of a day could not be counted.', { error });
    this.#poller = new Poller({ intervalMs: lookMs, poll: () => this.look(), onError });
  }

  async stop(): Promise<void> {
    await this.#poller?.stop();
  }

  /** Counts again, and wakes the instances whose quota has room again. */
  async look(): Promise<void> {
    const { directory, wake } = this.#options;
    for (const id of this.#days.keys()) {
      if (directory.quotasOf(id).quotas.deliveriesPerDay === undefined) this.#days.delete(id);
      else await this.#count(id);
    }
    for (const id of this.#waiting)
      if (!this.isUsedUp(id)) {
        this.#waiting.delete(id);
        wake(id);
      }
  }
}
