import type { Clock } from '../base/clock.ts';
import { idAlphabet, randomText } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { SettingsStore } from '../settings/settings-store.ts';
import { sql } from '../sql/sql.ts';
import type { Database, InlineColumn } from '../storage/database.ts';

/**
 * The log of one instance's requests, for its superusers. The audit log has a map of its own (audit-entry.ts).
 *
 *   request ──► note (memory) ──► write, once a second ──► table ──► list-logs
 *
 * No request waits for this: it is noted once it is answered. A limited number of entries a second is kept whole; of the rest only
 * the number is. Entries that cannot be written are counted as well, and fail no request. The table is kept apart from the
 * instance's data, and the last writes may be lost when the machine fails: no answer depends on them.
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
    await this.trim();
    return this.#open();
  }

  /** Deletes what is too old, and the oldest entries beyond the limit. */
  async trim(): Promise<void> {
    await this.#write();
    await trimLog(await this.#open(), this.#keep());
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
      .catch((error: unknown) => this.#options.logger.warn('Clearing the request log failed.', { error }));
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
      this.#options.logger.warn(`Requests could not be logged; retrying in ${seconds} s.`, { error });
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
  return [newLogId(at, count), toTimestamp(at), level, message, JSON.stringify(data)];
}

/** Returns an id of 15 characters that sorts by time: milliseconds, a counter of this log, and random characters, as nodes share a log. */
function newLogId(epochMs: number, count: number): string {
  const order = count.toString(36).padStart(3, '0');
  return epochMs.toString(36).padStart(9, '0') + order + randomText(3, idAlphabet);
}

/** Values of {@link logColumns}; ids sort in order of time. */
type LogRow = readonly [id: string, created: string, level: number, message: string, dataJson: string];

const logColumns: readonly InlineColumn[] = [
  ['id', 'text'],
  ['created', 'text'],
  ['level', 'number'],
  ['message', 'text'],
  ['data', 'text'],
];

async function appendToLog(database: Database, rows: readonly LogRow[]): Promise<void> {
  const { names } = database;
  await database.write((tx) =>
    tx.run(sql`
      INSERT INTO ${names.table('$log')} (${names.instance.column}id, created, level, message, data)
      SELECT ${names.instance.value}id, created, CAST(level AS integer), message, data FROM ${names.valuesTable(logColumns, rows)}`),
  );
}

/** Deletes rows created before this time, and all but the newest `rowsMax`. */
async function trimLog(
  database: Database,
  { before, rowsMax }: { readonly before: string; readonly rowsMax?: number },
): Promise<void> {
  const { names } = database;
  const table = names.table('$log');
  const isOld = sql`created < ${before}`;
  const oldRows = await database.tuples(
    sql`SELECT 1 FROM ${table} WHERE ${names.instance.condition} AND ${isOld} LIMIT 1`,
  );
  // Looks first: a DELETE that finds nothing would cost every batch another transaction.
  if (oldRows.length > 0)
    await database.write((tx) =>
      tx.run(sql`DELETE FROM ${table} WHERE ${names.instance.condition} AND ${isOld}`),
    );
  if (rowsMax === undefined) return;
  const [last] = await database.tuples(
    sql`SELECT id FROM ${table} WHERE ${names.instance.condition} ORDER BY id DESC LIMIT 1 OFFSET ${rowsMax}`,
  );
  if (last === undefined) return;
  const id = String(last[0]);
  await database.write((tx) =>
    tx.run(sql`DELETE FROM ${table} WHERE ${names.instance.condition} AND id <= ${id}`),
  );
}

async function clearLog(database: Database): Promise<void> {
  const { names } = database;
  await database.write((tx) =>
    tx.run(sql`DELETE FROM ${names.table('$log')} WHERE ${names.instance.condition}`),
  );
}

/** Levels of severity, by the numbers that the SDKs use. */
export const logLevels = { info: 0, warn: 4, error: 8 } as const;

/** One request as its superusers find it in the log. Never holds a body, nor a header that could be a credential. */
export interface LogEntry {
  /** When it was answered: milliseconds since 1970. */
  readonly at: number;
  readonly level: number;
  readonly message: string;
  /** Members in the order of their names. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns the level of an answer: refusals are warnings, failures of the service are errors. */
export function levelOf(status: number): number {
  return status >= 500 ? logLevels.error : status >= 400 ? logLevels.warn : logLevels.info;
}

/** Limits of an instance's log. Instances share no log, but they share memory and time. */
export const logLimits = {
  /** The oldest rows beyond this are deleted, regardless of `maxDays`. */
  rowsMax: 100_000,
  /** Entries in memory until the next write; further requests are only counted. */
  bufferedMax: 200,
  /** Places among these that are reserved for refusals and failures, and for failures alone. */
  keptForRefusals: 40,
  keptForFailures: 10,
  /** How long an entry may wait to be written. */
  writeDelayMs: 1_000,
  /** Pause after a failed write. */
  pauseMs: 10_000,
  /** Length in UTF-16 units of a URL, and of each other text that came with a request. */
  urlLengthMax: 2_000,
  textLengthMax: 500,
} as const;
/** Cuts a text to the length allowed in the log. A surrogate that is cut in half is replaced, as not every engine accepts it in JSON. */
export function cutText(text: string, lengthMax: number): string {
  return text.length > lengthMax ? text.slice(0, lengthMax).toWellFormed() : text;
}

const secretWords = 'token|secret|passw|key|code|otp|auth|credential|signature|session';
/** Matches names of parameters with a secret value: names that contain any of the words. */
const secretName = new RegExp(secretWords, 'i');
/**
 * Matches record tokens (JWT), with what precedes them in the same word, and API keys. Each word is looked through from its
 * beginning only, and only where two more follow: otherwise every `-ey` in a long word would read the rest of it again.
 */
const secretText = /(?<![\w-])(?=[\w-]+\.[\w-]+\.)[\w-]*?\bey[\w-]+\.[\w-]+\.[\w-]*|\bc[kp]_\w+/gi;
/** Matches a parameter with a secret name inside a value, as in a URL. */
const secretParameter = new RegExp(String.raw`[?&](?=\w+=)\w*(?:${secretWords})`, 'i');

const masked = '***';

/** Masks credentials in a URL, or in a path with its query. */
export function maskUrl(url: string): string {
  const at = url.indexOf('?');
  if (at < 0) return url.replace(secretText, masked);
  const path = url.slice(0, at).replace(secretText, masked);
  const parameters = url.slice(at + 1).split('&');
  return `${path}?${parameters.map(maskParameter).join('&')}`;
}

function maskParameter(text: string): string {
  const at = text.indexOf('=');
  if (at < 0) return isSecretValue(decoded(text)) ? masked : text;
  const name = text.slice(0, at);
  const isSecret = secretName.test(decoded(name)) || isSecretValue(decoded(text.slice(at + 1)));
  return isSecret ? `${name}=${masked}` : text;
}

/** Whether a value is secret under any name: a token or a key, or a URL that has a secret parameter itself. */
function isSecretValue(value: string): boolean {
  return value.search(secretText) >= 0 || secretParameter.test(value);
}

/** Decodes as the server does, so that encoding cannot hide a name. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
