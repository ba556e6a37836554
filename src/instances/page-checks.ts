import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { DamageSearch, DataHome } from '../storage/data-home.ts';
import { StorageDamage } from '../storage/engine-errors.ts';

/** A process that is restarted every day still completes checks. */
const firstMsMax = 10 * 60_000;
/** How often damaged places are checked again: the file may have been restored, or the disk only have failed for a moment. */
const againMsMax = 60_000;
/** Checks of a damaged place take no more than a tenth of the time. */
const againFactor = 10;

export interface PageChecksOptions {
  readonly home: Pick<DataHome, 'health' | 'openDamageSearch'>;
  /** The ids of all instances. */
  readonly instances: () => readonly string[];
  /** How often everything is checked; 0 for never. */
  readonly intervalMs: number;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
}

/**
 * Checks all stored data for damage, one instance after the other, again and again. Damage is reported as if a request had met it. A damaged
 * place is checked more often, until it is whole.
 */
export class PageChecks {
  readonly #options: PageChecksOptions;
  readonly #search: DamageSearch;
  readonly #ended = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(options: PageChecksOptions) {
    this.#options = options;
    this.#search = options.home.openDamageSearch();
    const { intervalMs } = options;
    const rounds = intervalMs === 0 ? Promise.resolve() : this.#lookRoundByRound(intervalMs);
    this.#running = Promise.allSettled([rounds, this.#lookAgain()]);
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#search.stop();
    await this.#running;
  }

  async #lookRoundByRound(intervalMs: number): Promise<void> {
    const { home, instances, clock, logger } = this.#options;
    await this.#pause(Math.min(intervalMs, firstMsMax));
    for (;;) {
      const startMs = clock.monotonic();
      const ids = instances();
      for (const place of ['', ...ids]) await this.#check(place, { isWhole: false });
      const tookMs = clock.monotonic() - startMs;
      home.health.checkedAt = clock.now();
      const seconds = Math.round(tookMs / 1_000);
      logger.info('All stored data was checked.', { instances: ids.length, seconds });
      await this.#pause(Math.max(0, intervalMs - tookMs));
    }
  }

  async #lookAgain(): Promise<void> {
    const { home, intervalMs, clock, logger } = this.#options;
    let tookMs = 0;
    for (;;) {
      const leastMs = intervalMs === 0 ? againMsMax : Math.min(againMsMax, intervalMs);
      await this.#pause(Math.max(leastMs, tookMs * againFactor));
      const startMs = clock.monotonic();
      for (const place of home.health.damagedPlaces) {
        if (!(await this.#check(place, { isWhole: true }))) continue;
        home.health.noteWhole(place);
        logger.info('Damaged data was found intact again.', place === '' ? {} : { instance: place });
      }
      tookMs = clock.monotonic() - startMs;
    }
  }

  /** Returns whether all was checked, and is whole. */
  async #check(place: string, how: { readonly isWhole: boolean }): Promise<boolean> {
    const { health } = this.#options.home;
    try {
      const problems = await this.#search.find(place, how);
      this.#ended.signal.throwIfAborted();
      if (problems === undefined) return false;
      health.checks[problems.length === 0 ? 'whole' : 'damaged'] += 1;
      if (problems.length > 0) health.note(place, new StorageDamage(problems));
      return problems.length === 0;
    } catch (error) {
      this.#ended.signal.throwIfAborted();
      health.checks.failed += 1;
      this.#options.logger.warn('Checking stored data failed.', {
        ...(place !== '' && { instance: place }),
        error,
      });
      return false;
    }
  }

  #pause(delayMs: number): Promise<void> {
    return pause(delayMs, undefined, { signal: this.#ended.signal, ref: false });
  }
}
