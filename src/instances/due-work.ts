import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import type { DueIndex, DueTimes } from './due-index.ts';
import { InstanceVisits, type VisitedInstances, type VisitPaces } from './instance-visits.ts';
import type { InstanceDirectory } from './instance-directory.ts';

/** Upkeep is in no hurry: files are removed every ten minutes, logs are trimmed every hour. */
const upkeepIntervalMs = 30_000;
const commandIntervalMs = 1_000;

export interface DueWorkOptions {
  readonly index: DueIndex;
  readonly directory: Pick<InstanceDirectory, 'all' | 'find' | 'upgradesLeft'>;
  readonly instances: VisitedInstances;
  /** Called with the time (milliseconds since 1970) at which webhooks of an instance are due. */
  readonly onWebhooks: (instanceId: string, due: number) => void;
  /** Called for an instance that a command may have changed. */
  readonly onChanged: (instanceId: string) => Promise<void>;
  /** Called when upkeep of an instance is due. */
  readonly onUpkeep: (instanceId: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly paces?: VisitPaces;
}

/** Wakes the instances of a data directory that are not open when something is due in them. */
export class DueWork {
  readonly visits: InstanceVisits;
  readonly #options: DueWorkOptions;
  /** When upkeep of instances is due, in milliseconds since 1970. */
  readonly #upkeep = new Map<string, number>();
  #pollers: readonly Poller[] = [];

  constructor(options: DueWorkOptions) {
    this.#options = options;
    this.visits = new InstanceVisits({ ...options, onVisit: (id) => this.#wake(id) });
  }

  /** Notes what is due in an instance that was closed. */
  noteClosed(instanceId: string, { upkeep }: DueTimes): void {
    if (upkeep === undefined) this.#upkeep.delete(instanceId);
    else this.#upkeep.set(instanceId, upkeep);
  }

  async start(): Promise<void> {
    const { index, directory, onWebhooks, logger } = this.#options;
    for (const [id, { webhooks, upkeep }] of await index.read()) {
      if (directory.find(id) === undefined) continue;
      if (webhooks !== undefined) onWebhooks(id, webhooks);
      if (upkeep !== undefined) this.#upkeep.set(id, upkeep);
    }
    const onError = (error: unknown): void =>
      logger.warn('Looking for work in closed instances failed; retrying.', { error });
    const upkeep = { intervalMs: upkeepIntervalMs, poll: () => Promise.resolve(this.#lookForUpkeep()) };
    const commands = { intervalMs: commandIntervalMs, poll: () => this.#lookForCommands() };
    this.#pollers = [upkeep, commands].map((one) => new Poller({ ...one, onError }));
    for (const poller of this.#pollers) await poller.look();
    await this.visits.start();
  }

  async stop(): Promise<void> {
    for (const poller of this.#pollers) await poller.stop();
    await this.visits.stop();
  }

  #lookForUpkeep(): void {
    const now = this.#options.clock.now();
    for (const [id, due] of this.#upkeep) {
      if (due > now) continue;
      this.#upkeep.delete(id);
      this.#options.onUpkeep(id);
    }
  }

  async #lookForCommands(): Promise<void> {
    for (const id of await this.#options.index.adopt()) {
      // A command has deleted it, or works on what is left.
      if (this.#options.directory.find(id) === undefined) continue;
      await this.#options.onChanged(id);
      this.#wake(id);
    }
  }

  #wake(id: string): void {
    this.#options.onWebhooks(id, 0);
    this.#options.onUpkeep(id);
  }
}
