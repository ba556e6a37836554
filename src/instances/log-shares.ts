import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { measureLog } from '../events/measure-log.ts';
import type { Janitor } from '../dispatch/janitor.ts';
import { readLogUse } from '../logs/read-usage.ts';
import type { Database } from '../storage/database.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import type { OpenInstances } from './open-instances.ts';
import { appendLogEvent, type LogEventKind } from './operator-events.ts';

const lookMs = 2_000;
/**
 * How old the sizes of logs may be. What this process appends is added to them; where instances share a database, other nodes append as
 * well, which matters near the limit.
 */
const measuredMs = 3_600_000;
const measuredNearMs = 60_000;
const nearPart = 0.5;
/** A full log is trimmed down to this part of its limit: at the limit, each write would trim it. */
const trimmedPart = 0.95;
/** The part of the limit at which the operator is warned, and the one below which the next warning may follow. */
const warnedPart = 0.8;
const warnedAgainPart = 0.75;
const retrySeconds = 30;

export interface LogSharesOptions {
  /** Returns how many bytes the logs of all instances may have together; undefined for any number, or while it is unknown. */
  readonly bytesMax: () => number | undefined;
  readonly instances: Pick<OpenInstances, 'openIds' | 'borrowOpen'>;
  readonly directory: Pick<InstanceDirectory, 'find' | 'all'>;
  /** Returns how many bytes this process has appended to the log of each instance. */
  readonly appended: () => ReadonlyMap<string, { readonly bytes: number }>;
  readonly janitor: Pick<Janitor, 'trimBytes' | 'canTrim'>;
  /** The shared data, which has the sizes of logs that are open elsewhere, or nowhere. */
  readonly control: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface MeasuredLog {
  readonly bytes: number;
  /** When it was measured, by the monotonic clock, and how much this process had appended by then. */
  readonly atMs: number;
  readonly appended: number;
}

/**
 * Keeps the logs of all instances together below a limit. Each instance has the same share of it. While they are above the limit, those above
 * their share lose their oldest events, the one with most first, but none that is still needed. An instance that is above its share, and
 * whose oldest event is needed, is refused writes until that has changed. So the log of an instance within its share is never trimmed.
 */
export class LogShares {
  readonly #options: LogSharesOptions;
  readonly #measured = new Map<string, MeasuredLog>();
  #refused: ReadonlySet<string> = new Set();
  #stored: { readonly atMs: number; readonly sizes: ReadonlyMap<string, number> } | undefined;
  #isWarned = false;
  #isNear = false;
  #poller: Poller | undefined;

  constructor(options: LogSharesOptions) {
    this.#options = options;
  }

  /** How many bytes the logs have that are open here, and how many of their instances are refused. */
  get counts(): { readonly bytes: number; readonly refused: number } {
    const open = [...this.#options.instances.openIds()];
    const bytes = open.reduce((sum, id) => sum + this.#sizeOf(id), 0);
    return { bytes, refused: this.#refused.size };
  }

  start(): void {
    const onError = (error: unknown): void =>
      this.#options.logger.warn('The event logs could not be limited.', { error });
    this.#poller = new Poller({ intervalMs: lookMs, poll: () => this.look(), onError });
    void this.#poller.look();
  }

  async stop(): Promise<void> {
    await this.#poller?.stop();
  }

  /** Throws quota_full where the log is full, and this instance may add nothing to it. */
  requireRoom(instanceId: string): void {
    if (this.#refused.has(instanceId)) throw aboveShare();
  }

  /** What the superusers of an instance are told of its log. */
  warningOf(instanceId: string): string | undefined {
    return this.#refused.has(instanceId) ? aboveShareMessage : undefined;
  }

  async look(): Promise<void> {
    const bytesMax = this.#options.bytesMax();
    if (bytesMax === undefined) return;
    const sizes = await this.#readSizes();
    const share = bytesMax / Math.max(1, this.#options.directory.all().length);
    this.#isNear = totalOf(sizes) > bytesMax * nearPart;
    if (totalOf(sizes) > bytesMax) await this.#trim(sizes, { bytesMax, share });
    const total = totalOf(sizes);
    await this.#setRefused(total > bytesMax ? await this.#findBlocked(sizes, share) : new Set());
    await this.#warn(total, bytesMax);
  }

  async #readSizes(): Promise<Map<string, number>> {
    const { directory, clock } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#stored === undefined || nowMs - this.#stored.atMs > measuredNearMs)
      this.#stored = { atMs: nowMs, sizes: await readLogUse(this.#options.control) };
    for (const id of this.#options.instances.openIds()) {
      if (this.#isOutdated(id, nowMs)) await this.#measure(id);
      await nextTurn();
    }
    for (const [id, { atMs }] of this.#measured) if (nowMs - atMs > measuredMs) this.#measured.delete(id);
    const ids = directory.all().map(({ id }) => id);
    return new Map(ids.map((id) => [id, this.#sizeOf(id)]));
  }

  #sizeOf(id: string): number {
    const measured = this.#measured.get(id);
    if (measured === undefined) return this.#stored?.sizes.get(id) ?? 0;
    return measured.bytes + this.#appendedTo(id) - measured.appended;
  }

  #appendedTo(id: string): number {
    return this.#options.appended().get(id)?.bytes ?? 0;
  }

  #isOutdated(id: string, nowMs: number): boolean {
    const measured = this.#measured.get(id);
    const maxMs = this.#options.control.names.isConcurrent && this.#isNear ? measuredNearMs : measuredMs;
    return measured === undefined || nowMs - measured.atMs > maxMs;
  }

  async #measure(id: string): Promise<void> {
    const { instances, clock, logger } = this.#options;
    const loan = instances.borrowOpen(id);
    if (loan === undefined) return;
    try {
      const { database, dueClock } = loan.instance;
      const appended = this.#appendedTo(id);
      const bytes = await measureLog(database, dueClock.now());
      if (bytes !== undefined) this.#measured.set(id, { bytes, atMs: clock.monotonic(), appended });
    } catch (error) {
      logger.debug('The log of an instance could not be measured.', { instance: id, error });
    } finally {
      loan.release();
    }
  }

  /** Trims the logs of those above their share, the largest first, and notes what is left of each. */
  async #trim(
    sizes: Map<string, number>,
    { bytesMax, share }: { readonly bytesMax: number; readonly share: number },
  ): Promise<void> {
    const { janitor, clock, logger } = this.#options;
    const target = bytesMax * trimmedPart;
    const largest = [...sizes].toSorted(([, a], [, b]) => b - a);
    for (const [id, estimated] of largest) {
      if (estimated <= share) return;
      // What it was before may include events that were deleted since, as they were old.
      await this.#measure(id);
      const bytes = this.#sizeOf(id);
      sizes.set(id, bytes);
      const surplus = Math.min(totalOf(sizes) - target, bytes - share);
      if (totalOf(sizes) <= target) return;
      if (surplus <= 0) continue;
      try {
        const left = bytes - (await janitor.trimBytes(id, surplus));
        sizes.set(id, left);
        this.#measured.set(id, { bytes: left, atMs: clock.monotonic(), appended: this.#appendedTo(id) });
      } catch (error) {
        logger.warn('The log of an instance could not be trimmed.', { instance: id, error });
      }
    }
  }

  /** Returns the instances above their share whose oldest event is still needed. One that is not open here is not written to. */
  async #findBlocked(sizes: ReadonlyMap<string, number>, share: number): Promise<ReadonlySet<string>> {
    const { instances, janitor } = this.#options;
    const blocked = new Set<string>();
    for (const [id, bytes] of sizes) {
      const loan = bytes > share ? instances.borrowOpen(id) : undefined;
      if (loan === undefined) continue;
      try {
        if (!(await janitor.canTrim(loan.instance))) blocked.add(id);
      } finally {
        loan.release();
      }
    }
    return blocked;
  }

  async #setRefused(refused: ReadonlySet<string>): Promise<void> {
    const before = this.#refused;
    this.#refused = refused;
    const { logger } = this.#options;
    for (const id of refused)
      if (!before.has(id)) {
        logger.warn('The event log is full: writes of an instance above its share are rejected.', {
          instance: id,
        });
        await this.#tell('log.full', id);
      }
    for (const id of before)
      if (!refused.has(id)) {
        logger.info('The event log has free space again: writes are no longer rejected.', { instance: id });
        await this.#tell('log.recovered', id);
      }
  }

  async #warn(total: number, bytesMax: number): Promise<void> {
    if (total < bytesMax * warnedAgainPart) this.#isWarned = false;
    if (this.#isWarned || total < bytesMax * warnedPart) return;
    this.#isWarned = true;
    this.#options.logger.warn('The event logs use 80 % of their limit.', {
      bytes: total,
      bytesMax,
    });
    await this.#tell('log.warning', '', { bytes: total, bytesMax });
  }

  /** Tells the operator, unless another process has. */
  async #tell(kind: LogEventKind, id: string, data: Readonly<Record<string, number>> = {}): Promise<void> {
    const { control, clock, directory } = this.#options;
    const instance = directory.find(id)?.shownId ?? '';
    const event = { kind, instance, data: { ...data, ...this.#dataOf(id) } };
    await control.write((tx) => appendLogEvent(tx, event, toTimestamp(clock.now())));
  }

  #dataOf(id: string): Readonly<Record<string, number>> {
    return id === '' ? {} : { bytes: this.#sizeOf(id) };
  }
}

function totalOf(sizes: ReadonlyMap<string, number>): number {
  return sizes.values().reduce((sum, bytes) => sum + bytes, 0);
}

const aboveShareMessage =
  'The event log is full, and the instance uses more than its share of it: its oldest events are still to be sent.';

function aboveShare(): AppError {
  const message = aboveShareMessage;
  return new AppError('quota_full', message, {
    details: { webhooks: { code: 'log_share_exceeded', message } },
    retryAfter: retrySeconds,
  });
}
