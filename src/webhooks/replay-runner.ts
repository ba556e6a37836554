import type { Database } from '../storage/database.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { storedFilter } from './event-filter.ts';
import { advanceReplay, readRunning, type Replay } from './replays.ts';
import type { WebhookInstance } from './webhook-instance.ts';

/** How long a replay waits for those of its deliveries that are still to be sent, before it looks again. */
const fullMs = 250;
/** How long it waits while its endpoint is paused: it is read again when that is resumed. */
const pausedMs = 60_000;

/** The replays of one instance that are not over, while the instance is this process's. */
export class ReplayRunner {
  #running: readonly Replay[] = [];
  /** When each of them goes on, in milliseconds since 1970. */
  readonly #nextAt = new Map<number, number>();

  /** When the next of them goes on. */
  get nextAt(): number | undefined {
    return this.#running.length === 0 ? undefined : Math.min(...this.#running.map((one) => this.#at(one)));
  }

  async reload(database: Database): Promise<void> {
    this.#running = await readRunning(database);
    this.#nextAt.clear();
  }

  /** Makes deliveries due of those that may go on now. Returns whether there are any. */
  async advance(
    instance: Pick<WebhookInstance, 'database' | 'collections'>,
    endpoints: readonly Endpoint[],
    now: number,
  ): Promise<boolean> {
    const { database, collections } = instance;
    let hasTaken = false;
    for (const replay of this.#running) {
      if (this.#at(replay) > now) continue;
      const of = endpoints.find(({ number }) => number === replay.endpoint);
      if (of === undefined) {
        this.#running = this.#running.filter((one) => one !== replay);
        continue;
      }
      if (of.status !== 'active') {
        this.#nextAt.set(replay.number, now + pausedMs);
        continue;
      }
      const { rate } = replay;
      const allowed = rate === 0 ? Number.MAX_SAFE_INTEGER : rate;
      const { taken, isOver, isFull } = await advanceReplay(
        database,
        { ...replay, of, eventFilter: storedFilter(replay.filter, { collections, now }) },
        { now, allowed },
      );
      hasTaken ||= taken > 0;
      if (isOver) this.#running = this.#running.filter((one) => one !== replay);
      else this.#nextAt.set(replay.number, now + (rate > 0 ? 1_000 : isFull ? fullMs : 0));
    }
    return hasTaken;
  }

  #at({ number }: Replay): number {
    return this.#nextAt.get(number) ?? 0;
  }
}
