import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { LongTurn } from '../base/turn-meter.ts';
import type { InstanceDirectory } from '../instances/instance-directory.ts';

/** An instance is named in the log at most this often. */
const logEveryMs = 60_000;

/** Logs long turns: a line a minute for each instance that causes some, with how many there were. */
export class LongTurnLog {
  readonly #logger: Logger;
  readonly #directory: Pick<InstanceDirectory, 'find'>;
  /** By instance. */
  readonly #recent = new Map<string, { loggedMs: number; count: number }>();

  constructor(logger: Logger, directory: Pick<InstanceDirectory, 'find'>) {
    this.#logger = logger;
    this.#directory = directory;
  }

  note({ instance, route, ms, instanceMs }: LongTurn): void {
    const nowMs = systemClock.monotonic();
    const before = this.#recent.get(instance);
    if (before !== undefined && nowMs - before.loggedMs < logEveryMs) {
      before.count += 1;
      return;
    }
    this.#recent.set(instance, { loggedMs: nowMs, count: 0 });
    const slug = this.#directory.find(instance)?.slug ?? '';
    const members = { instance: slug, route, ms: Math.round(ms), instanceMs: Math.round(instanceMs) };
    const more = before === undefined || before.count === 0 ? {} : { before: before.count };
    this.#logger.warn('A long turn blocked all instances of its thread.', { ...members, ...more });
    if (this.#recent.size > recentMax) this.#recent.clear();
  }
}

const recentMax = 1_000;
