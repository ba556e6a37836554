import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { DueIndex } from './due-index.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import type { InstanceEntry } from './instance-rows.ts';

/** How fast instances are visited. */
export interface VisitPaces {
  /** Between two instances of a round, and from the start of a round to that of the next. */
  readonly sweepMs: number;
  readonly roundMs: number;
}

const standardPaces: VisitPaces = { sweepMs: 5_000, roundMs: 24 * 3_600_000 };
/** The pause after an instance could not be opened, and after the index could not be read. */
const failedMs = 1_000;
const backOffMs = 60_000;

/** The instances, wherever they are open. */
export interface VisitedInstances {
  isOpen(instanceId: string): boolean;
  readonly hasFreePlace: boolean;
  /** Opens an instance until it is released. */
  borrow(entry: InstanceEntry): Promise<{ release(): void }>;
  /** Closes an instance that is not in use. */
  closeIdle(instanceId: string): void;
}

export interface InstanceVisitsOptions {
  readonly index: Pick<DueIndex, 'countUpgrades' | 'nextUpgrades' | 'noteUpgraded'>;
  readonly directory: Pick<InstanceDirectory, 'all' | 'find' | 'upgradesLeft'>;
  readonly instances: VisitedInstances;
  /** Called for an instance that is open: something may be due in it. */
  readonly onVisit: (instanceId: string) => void;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly paces?: VisitPaces;
}

/**
 * Opens instances in the background, one at a time: after an upgrade each that this version has not opened yet, which migrates it, and then
 * once a day each that is closed, in case the index has missed something.
 */
export class InstanceVisits {
  readonly #options: InstanceVisitsOptions;
  readonly #ended = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** The instance that was visited last, which is closed after the next visit. */
  #last: string | undefined;

  constructor(options: InstanceVisitsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { directory, index } = this.#options;
    directory.upgradesLeft = await index.countUpgrades();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#ended.signal.aborted)
      try {
        await this.#upgradeAll();
        await this.#visitAll();
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        this.#options.logger.warn('Visiting closed instances failed; retrying.', {
          error,
          delayMs: backOffMs,
        });
        await this.#pause(backOffMs).catch(() => undefined);
      }
  }

  /** One round over all instances. */
  async #visitAll(): Promise<void> {
    const { clock, directory, instances, paces: { sweepMs, roundMs } = standardPaces } = this.#options;
    const startMs = clock.monotonic();
    for (const { id, state } of directory.all()) {
      if (state !== 'active' || instances.isOpen(id)) continue;
      await this.#pause(sweepMs);
      // A place that requests may need is worth more.
      if (instances.hasFreePlace) await this.#visit(id);
    }
    this.#closeLast();
    await this.#pause(Math.max(sweepMs, roundMs - (clock.monotonic() - startMs)));
  }

  async #upgradeAll(): Promise<void> {
    const { index, directory, logger, clock } = this.#options;
    if (directory.upgradesLeft === 0) return;
    logger.info(
      'Upgrading instances of an older version: each when it is first opened, the others in turn.',
      {
        instances: directory.upgradesLeft,
      },
    );
    const startMs = clock.monotonic();
    let failed = 0;
    let ids = await index.nextUpgrades('');
    while (ids.length > 0) {
      const upgraded: string[] = [];
      for (const id of ids) {
        if (await this.#visit(id)) upgraded.push(id);
        else failed += 1;
      }
      await index.noteUpgraded(upgraded);
      directory.upgradesLeft -= upgraded.length;
      ids = await index.nextUpgrades(ids.at(-1) ?? '');
    }
    this.#closeLast();
    const seconds = Math.round((clock.monotonic() - startMs) / 1_000);
    if (failed === 0) logger.info('All instances are upgraded.', { seconds });
    else
      logger.warn('Some instances could not be upgraded; the next start tries again.', { failed, seconds });
  }

  /** Returns whether the instance could be opened, or is gone. */
  async #visit(id: string): Promise<boolean> {
    const { directory, instances, onVisit, clock, logger } = this.#options;
    const entry = directory.find(id);
    if (entry === undefined) return true;
    const startMs = clock.monotonic();
    const wasOpen = instances.isOpen(id);
    try {
      const loan = await instances.borrow(entry);
      onVisit(id);
      loan.release();
    } catch (error) {
      this.#ended.signal.throwIfAborted();
      logger.warn('An instance could not be opened in the background.', { instance: id, error });
      await this.#pause(failedMs);
      return false;
    }
    // At most half of the time is spent here.
    await this.#pause(clock.monotonic() - startMs);
    this.#closeLast();
    if (!wasOpen) this.#last = id;
    return true;
  }

  /** Closes the instance that was visited last, unless it is in use: others keep their places. */
  #closeLast(): void {
    if (this.#last !== undefined) this.#options.instances.closeIdle(this.#last);
    this.#last = undefined;
  }

  #pause(delayMs: number): Promise<void> {
    return pause(delayMs, undefined, { signal: this.#ended.signal, ref: false });
  }
}
