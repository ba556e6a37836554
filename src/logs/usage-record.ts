import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import type { Database } from '../storage/database.ts';
import { addUsage, type UsageCounts, usageLimits, type UsageSum, usageSums } from './add-usage.ts';

/** Returns what was counted for each instance since the process began. */
export type UsageSource = () => ReadonlyMap<string, { readonly [Name in UsageSum]?: number }>;

export interface UsageRecordOptions {
  readonly control: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sources: readonly UsageSource[];
  /** Returns how many realtime connections each instance has. */
  readonly connections?: () => ReadonlyMap<string, number>;
  /** Measures the instances that are used here but those that were measured in this hour. */
  readonly measure?: (except: ReadonlySet<string>) => Promise<ReadonlyMap<string, UsageCounts>>;
  /** Called once an hour. */
  readonly rollUp?: (nowMs: number) => Promise<void>;
}

const writeMs = 60_000;

/** Adds what instances use in this process to the table that all processes share, once a minute, and once more at the end. */
export class UsageRecord {
  readonly #options: UsageRecordOptions;
  /** What each source had counted when it was last written. */
  readonly #written = new Map<UsageSource, Map<string, UsageCounts>>();
  #hour = -1;
  /** The instances that were measured in this hour. */
  readonly #measured = new Set<string>();
  #poller: Poller | undefined;

  constructor(options: UsageRecordOptions) {
    this.#options = options;
  }

  start(): void {
    const { logger } = this.#options;
    const onError = (error: unknown): void =>
      logger.warn('Usage of instances could not be recorded; retrying.', { error });
    this.#poller = new Poller({ intervalMs: writeMs, poll: () => this.write(), onError });
  }

  async stop(): Promise<void> {
    await this.#poller?.look();
    await this.#poller?.stop();
  }

  /** Writes what was counted since the last time. Where that fails, it is counted the next time. */
  async write(): Promise<void> {
    const { control, clock, connections, measure, rollUp } = this.#options;
    const nowMs = clock.now();
    const usage = new Map<string, UsageCounts>();
    const counted = this.#options.sources.map((source) => this.#addNew(source, usage));
    for (const [id, realtimeConnections] of connections?.() ?? []) add(usage, id, { realtimeConnections });
    const hour = Math.floor(nowMs / usageLimits.hourMs);
    if (hour !== this.#hour) this.#measured.clear();
    const gauges = await measure?.(this.#measured);
    for (const [id, one] of gauges ?? []) add(usage, id, one);
    if (usage.size > 0) await addUsage(control, usage, nowMs);
    for (const { source, counts } of counted) this.#written.set(source, counts);
    for (const id of gauges?.keys() ?? []) this.#measured.add(id);
    if (hour !== this.#hour) await rollUp?.(nowMs);
    this.#hour = hour;
  }

  #addNew(
    source: UsageSource,
    usage: Map<string, UsageCounts>,
  ): { readonly source: UsageSource; readonly counts: Map<string, UsageCounts> } {
    const before = this.#written.get(source);
    const counts = new Map<string, UsageCounts>();
    for (const [id, now] of source()) {
      // A copy: the source goes on counting in its own.
      counts.set(id, { ...now });
      const fresh = differences(now, before?.get(id) ?? {});
      if (Object.keys(fresh).length > 0) add(usage, id, fresh);
    }
    return { source, counts };
  }
}

function differences(now: UsageCounts, before: UsageCounts): UsageCounts {
  // Object.keys widens the names to strings.
  const names = Object.keys(usageSums) as readonly UsageSum[];
  const members = names.map((name) => [name, (now[name] ?? 0) - (before[name] ?? 0)] as const);
  return Object.fromEntries(members.filter(([, count]) => count > 0));
}

function add(usage: Map<string, UsageCounts>, id: string, counts: UsageCounts): void {
  usage.set(id, { ...usage.get(id), ...counts });
}
