import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { countDelivered } from '../deliveries/endpoint-hours.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import type { OpenInstances } from './open-instances.ts';

const dayMs = 24 * 3_600_000;
const lookMs = 10_000;

interface Day {
  readonly number: number;
  /** What was delivered on it before this process counted, and what this process had counted by then. */
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

/** Holds the quotas of deliveries a day, in UTC. Webhooks beyond wait for the next day. What is in flight when the quota is reached is still delivered. */
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
    const counted = this.#options.counts().get(id)?.deliveries ?? 0;
    let day = this.#days.get(id);
    if (day === undefined) {
      day = { number, before: 0, counted };
      void this.#count(id).catch(() => undefined);
    } else if (day.number !== number) day = { number, before: 0, counted };
    this.#days.set(id, day);
    const isUsedUp = day.before + counted - day.counted >= max;
    if (isUsedUp) this.#waiting.add(id);
    return isUsedUp;
  }

  /** Reads what was delivered today before this process began. */
  async #count(id: string): Promise<void> {
    const { instances, clock, counts } = this.#options;
    const loan = instances.borrowOpen(id);
    if (loan === undefined) return void this.#days.delete(id);
    try {
      const number = Math.floor(clock.now() / dayMs);
      const counted = counts().get(id)?.deliveries ?? 0;
      const all = await countDelivered(loan.instance.database, number * dayMs);
      this.#days.set(id, { number, before: all, counted });
    } finally {
      loan.release();
    }
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

  /** Wakes the instances whose quota has room again. */
  look(): Promise<void> {
    for (const id of this.#waiting)
      if (!this.isUsedUp(id)) {
        this.#waiting.delete(id);
        this.#options.wake(id);
      }
    return Promise.resolve();
  }
}
