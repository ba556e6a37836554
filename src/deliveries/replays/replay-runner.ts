import type { Database } from '../../storage/database.ts';
import { advanceBackfill } from './backfills.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import { storedFilter } from '../log/event-filter.ts';
import { type ReplayStepResult, readRunning, type Replay } from './replay-store.ts';
import { ReconcileWatch, type WatchContext } from './reconcile-watch.ts';
import { advanceReconcile } from './reconciles.ts';
import { advanceReplay } from './replays.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

/** How long a replay waits for its pending deliveries before the next step. */
const fullMs = 250;
/** How long it waits while its endpoint is paused: resuming reloads it. */
const pausedMs = 60_000;
/** The delay after a failed step. */
const failedMs = 5_000;

type RunnerInstance = Pick<
  WebhookInstance,
  'id' | 'database' | 'collections' | 'endpoints' | 'records' | 'events' | 'clock' | 'logger'
>;

/** The running replays and backfills of an instance that this process owns. */
export class ReplayRunner {
  #running: readonly Replay[] = [];
  /** When the next step of each is due, in milliseconds since 1970. */
  readonly #nextAt = new Map<number, number>();
  /** Absent while there is nothing to be reconciled, as in most instances. */
  #reconciles: ReconcileWatch | undefined = new ReconcileWatch();

  /** When the first step is due. */
  get nextAt(): number | undefined {
    const nextAt = this.#reconciles?.nextAt;
    const all = [...this.#running.map((one) => this.#at(one)), ...(nextAt === undefined ? [] : [nextAt])];
    return all.length === 0 ? undefined : Math.min(...all);
  }

  /** Notes that events were committed, or that anything may have changed: reconciles may begin. */
  note(what: 'log' | 'all'): void {
    this.#reconciles?.note(what);
  }

  async reload(database: Database): Promise<void> {
    this.#reconciles ??= new ReconcileWatch();
    this.#reconciles.reload();
    await this.#read(database);
  }

  async #read(database: Database): Promise<void> {
    this.#running = await readRunning(database);
    this.#nextAt.clear();
  }

  /** Begins reconciles, and makes the steps that are due. Returns the numbers of the endpoints for which deliveries became due. */
  async advance(
    instance: RunnerInstance,
    { endpoints, safeEnd, now }: Omit<WatchContext, 'running'>,
  ): Promise<ReadonlySet<number>> {
    await this.#beginReconciles(instance, { endpoints, safeEnd, now });
    const due = new Set<number>();
    for (const replay of this.#running) {
      if (this.#at(replay) > now) continue;
      const endpoint = endpoints.find(({ number }) => number === replay.endpoint);
      if (endpoint === undefined) {
        this.#end(replay, now);
        continue;
      }
      if (endpoint.status !== 'active') {
        this.#nextAt.set(replay.number, now + pausedMs);
        continue;
      }
      const advanced = await advanceOne(instance, { replay, endpoint }, now);
      if (advanced.count > 0) due.add(endpoint.number);
      if (advanced.isOver) this.#end(replay, now);
      else this.#nextAt.set(replay.number, now + delayOf(replay, advanced));
    }
    return due;
  }

  async #beginReconciles(
    instance: RunnerInstance,
    { endpoints, safeEnd, now }: Omit<WatchContext, 'running'>,
  ): Promise<void> {
    if (this.#reconciles === undefined && !endpoints.some(({ transitions }) => transitions)) return;
    this.#reconciles ??= new ReconcileWatch();
    const active = new Set(endpoints.flatMap((one) => (one.status === 'active' ? [one.number] : [])));
    const reconciles = this.#running.filter(
      ({ scope, endpoint }) => scope === 'reconcile' && active.has(endpoint),
    );
    const watch = { endpoints, safeEnd, now, running: new Set(reconciles.map(({ endpoint }) => endpoint)) };
    if (await this.#reconciles.advance(instance, watch)) await this.#read(instance.database);
    if (this.#reconciles.isIdle) this.#reconciles = undefined;
  }

  #end(replay: Replay, now: number): void {
    this.#running = this.#running.filter((one) => one !== replay);
    this.#reconciles?.noteOver(now);
  }

  #at({ number }: Replay): number {
    return this.#nextAt.get(number) ?? 0;
  }
}

interface Running {
  readonly replay: Replay;
  readonly endpoint: Endpoint;
}

/** Makes the next step of a replay. A failed step is retried; other deliveries of the endpoint are sent meanwhile. */
async function advanceOne(
  instance: RunnerInstance,
  { replay, endpoint }: Running,
  now: number,
): Promise<ReplayStepResult & { readonly hasFailed?: boolean }> {
  const { rate, scope, filter } = replay;
  const step = { now, allowed: rate === 0 ? Number.MAX_SAFE_INTEGER : rate };
  try {
    if (scope === 'backfill') return await advanceBackfill(instance, { replay, endpoint }, step);
    if (scope === 'reconcile') return await advanceReconcile(instance, { replay, endpoint }, step);
    const { database, collections } = instance;
    const eventFilter = storedFilter(filter, { collections, now });
    return await advanceReplay(database, { ...replay, scope, of: endpoint, eventFilter }, step);
  } catch (error) {
    const about = { instance: instance.id, replay: replay.id, error, delayMs: failedMs };
    instance.logger.error('A step of a replay failed; retrying.', about);
    return { count: 0, isOver: false, isFull: false, hasFailed: true };
  }
}

/** How long a replay waits after a step. With a rate, it takes no more than that on the average of a second. */
function delayOf(
  { rate }: Replay,
  { count, isFull, hasFailed = false }: ReplayStepResult & { readonly hasFailed?: boolean },
): number {
  if (hasFailed) return failedMs;
  if (isFull) return fullMs;
  return rate === 0 ? 0 : Math.ceil((count * 1_000) / rate);
}
