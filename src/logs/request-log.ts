import type { Clock } from '../base/clock.ts';
import { idAlphabet, randomText } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { SettingsStore } from '../settings/settings-store.ts';
import type { Database } from '../storage/database.ts';
import { logLevels, type LogEntry } from './log-entry.ts';
import { logLimits } from './log-limits.ts';
import { appendToLog, clearLog, trimLog, type LogRow } from './log-table.ts';

/**
 * The log of one instance's requests, for its superusers. The map of this folder:
 *
 *   request ──► note (memory) ──► write, once a second ──► log-table ──► list-logs
 *
 * No request waits for this: it is noted once it is answered. A limited number of entries a second is kept whole; of the rest only
 * the number is. Entries that cannot be written are counted as well, and fail no request. The table is kept apart from the
 * instance's data, and the last writes may be lost when the machine fails: no answer depends on them.
 *
 *   log-entry    one request, and how serious it is
 *   mask-url     removes credentials from URLs
 *   log-limits   the limits
 */
export class RequestLog {
  readonly #options: RequestLogOptions;
  #entries: LogEntry[] = [];
  /** Requests since the last write that were not noted. */
  #missed = 0;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<Database> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #untilCount = 0;
  #count = 0;
  #isStopped = false;
  /** True when the log was cleared since logging was turned off. */
  #hasForgotten = false;

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  /** True when an entry of this level is to be noted. Counts it when only room is missing. Called for every request. */
  wants(level: number): boolean {
    const { maxDays, minLevel } = this.#options.settings.current.logs;
    if (maxDays === 0) this.#forgetOnce();
    if (maxDays === 0 || level < minLevel) return false;
    if (this.#entries.length < roomFor(level)) return true;
    this.#missed += 1;
    return false;
  }

  note(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#hasForgotten = false;
    if (this.#timer === undefined && !this.#isStopped) this.#writeAfter(logLimits.writeDelayMs);
  }

  /** Returns the log's database after writing all noted entries and deleting old ones. */
  async table(): Promise<Database> {
    await this.#write();
    const database = await this.#open();
    await trimLog(database, this.#keep());
    return database;
  }

  /** Deletes all entries. */
  async clear(): Promise<void> {
    await this.#writing;
    await this.#clearNow();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#write();
    const database = await this.#opening?.catch(() => undefined);
    await database?.stop();
  }

  /** Clears the log once when logging is turned off, so that nothing is left from before. */
  #forgetOnce(): void {
    if (this.#hasForgotten || this.#isStopped) return;
    this.#hasForgotten = true;
    this.#writing = this.#writing
      .then(() => this.#clearNow())
      .catch((error: unknown) => this.#options.logger.warn('The log could not be taken away.', { error }));
  }

  async #clearNow(): Promise<void> {
    this.#entries = [];
    this.#missed = 0;
    await clearLog(await this.#open());
  }

  #writeAfter(delayMs: number): void {
    this.#timer = setTimeout(() => void this.#write(), delayMs).unref();
  }

  /** Writes noted entries, one batch after the other. Never rejects: entries that cannot be written are counted. */
  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return (this.#writing = this.#writing.then(() => this.#writeNoted()));
  }

  async #writeNoted(): Promise<void> {
    const entries = this.#entries;
    const missed = this.#missed;
    if (entries.length === 0 && missed === 0) return;
    this.#entries = [];
    this.#missed = 0;
    let lost = entries.length + missed;
    try {
      const rows = [...entries, ...this.#remarkOn(missed)].map((entry) => toRow(entry, this.#nextCount()));
      const database = await this.#open();
      await appendToLog(database, rows);
      lost = 0;
      await this.#trimAfter(database, rows.length);
    } catch (error) {
      this.#missed += lost;
      const seconds = logLimits.pauseMs / 1_000;
      this.#options.logger.warn(`Requests could not be logged; trying again in ${seconds} s.`, { error });
      if (this.#timer === undefined && !this.#isStopped) this.#writeAfter(logLimits.pauseMs);
    }
  }

  /** Counts per instance: superusers see the ids, which must not reveal how busy other instances are. */
  #nextCount(): number {
    return (this.#count = (this.#count + 1) % 36 ** 3);
  }

  #remarkOn(missed: number): readonly LogEntry[] {
    if (missed === 0) return [];
    const message = `${missed} more requests were not logged.`;
    return [{ at: this.#options.clock.now(), level: logLevels.warn, message, data: { missed, type: 'log' } }];
  }

  /** Deletes old rows after every write. The number of rows is checked only after many writes, because that reads all of them. */
  async #trimAfter(database: Database, written: number): Promise<void> {
    this.#untilCount -= written;
    const isCountDue = this.#untilCount <= 0;
    if (isCountDue) this.#untilCount = logLimits.rowsMax / 10;
    const { before, rowsMax } = this.#keep();
    await trimLog(database, isCountDue ? { before, rowsMax } : { before });
  }

  #keep(): { readonly before: string; readonly rowsMax: number } {
    const { clock, settings } = this.#options;
    const before = clock.now() - settings.current.logs.maxDays * dayMs;
    return { before: toTimestamp(before), rowsMax: logLimits.rowsMax };
  }

  /** Opens the database on first use, so that an instance without requests has no log file. */
  #open(): Promise<Database> {
    return (this.#opening ??= this.#options.open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    }));
  }
}

export interface RequestLogOptions {
  readonly open: () => Promise<Database>;
  readonly settings: Pick<SettingsStore, 'current'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const dayMs = 86_400_000;

/** Returns the number of places for entries of this level: a flood must not crowd out refusals, nor refusals failures. */
function roomFor(level: number): number {
  const { bufferedMax, keptForRefusals, keptForFailures } = logLimits;
  if (level >= logLevels.error) return bufferedMax;
  return bufferedMax - keptForFailures - (level >= logLevels.warn ? 0 : keptForRefusals);
}

function toRow({ at, level, message, data }: LogEntry, count: number): LogRow {
  return { id: newLogId(at, count), created: toTimestamp(at), level, message, data: JSON.stringify(data) };
}

/** Returns an id of 15 characters that sorts by time: milliseconds, a counter of this log, and random characters, as nodes share a log. */
function newLogId(epochMs: number, count: number): string {
  const order = count.toString(36).padStart(3, '0');
  return epochMs.toString(36).padStart(9, '0') + order + randomText(3, idAlphabet);
}
