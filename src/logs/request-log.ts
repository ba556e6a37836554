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
 * The requests of one instance, for its superusers.
 *
 *   request ──► note (memory) ──► write, once a second ──► log-table ──► list-logs
 *
 * A request waits for none of this: it is noted when it was answered. So many a second are kept whole; of more than that only
 * the number is. What cannot be written is counted as well, and nobody is refused for it. The table is apart from the
 * instance's data, and what was written last may be lost when the machine fails: no answer rests on it.
 *
 *   log-entry    one request, and how serious it is
 *   mask-url     what of a URL is not for the log
 *   log-limits   how much there may be
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
  /** Whether all was taken away since nothing is to be logged any more. */
  #hasForgotten = false;

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  /** Whether an entry of this level is to be noted; one that is, but for which there is no room, is counted. Asked with every request. */
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

  /** Where the entries are, with all that was noted before, and without what is too old. */
  async table(): Promise<Database> {
    await this.#write();
    const database = await this.#open();
    await trimLog(database, this.#keep());
    return database;
  }

  /** Forgets everything. */
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

  /** Whoever wants no log wants none that is left from before. */
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

  /** One after the other. Never rejects: what could not be written is counted. */
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

  /** Of this instance alone: its superusers are shown ids, which must not tell how much others are asked. */
  #nextCount(): number {
    return (this.#count = (this.#count + 1) % 36 ** 3);
  }

  #remarkOn(missed: number): readonly LogEntry[] {
    if (missed === 0) return [];
    const message = `${missed} more requests were not logged.`;
    return [{ at: this.#options.clock.now(), level: logLevels.warn, message, data: { missed, type: 'log' } }];
  }

  /** Age is looked at with every write; how many there are takes a look at all of them, and is asked when it may have changed by much. */
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

  /** Only when there is something to write or to read: an instance nobody asks has no such file. */
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

/** Whoever asks for very much must not hide what was refused meanwhile, nor refusals what has failed. */
function roomFor(level: number): number {
  const { bufferedMax, keptForRefusals, keptForFailures } = logLimits;
  if (level >= logLevels.error) return bufferedMax;
  return bufferedMax - keptForFailures - (level >= logLevels.warn ? 0 : keptForRefusals);
}

function toRow({ at, level, message, data }: LogEntry, count: number): LogRow {
  return { id: newLogId(at, count), created: toTimestamp(at), level, message, data: JSON.stringify(data) };
}

/** 15 characters, as ids have, in the order of time: milliseconds, which one of this log it is, and chance where several write. */
function newLogId(epochMs: number, count: number): string {
  const order = count.toString(36).padStart(3, '0');
  return epochMs.toString(36).padStart(9, '0') + order + randomText(3, idAlphabet);
}
