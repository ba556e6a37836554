import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { Poller } from '../base/poller.ts';
import { sql } from '../sql/sql.ts';
import type { DataHome } from '../storage/data-home.ts';
import type { Database, Row, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';

/** An instance in the directory, whether or not its file is open. */
export interface InstanceEntry {
  readonly id: string;
  readonly slug: string;
  /** The host name of this instance, in lower case and without a port; null when it is reached by its slug. */
  readonly host: string | null;
  readonly created: Timestamp;
}

/** Of an instance that is not made empty. */
export interface InstanceOrigin {
  readonly id?: string;
  readonly created?: Timestamp;
  /** Fills it before anybody finds it. Where this rejects, the instance is removed again. */
  readonly fill?: (entry: InstanceEntry) => Promise<void>;
}

/** The instance that exists from the start. */
export const defaultSlug = 'default';

/** How soon a server sees an instance that another process made. */
const refreshIntervalMs = 250;

const SLUG = /^[a-z][a-z0-9-]{1,39}$/;
const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** All instances, in memory. Kept in step with control.db, which the command line changes while a server runs. */
export class InstanceDirectory {
  /** How many instances this version has not opened yet, and therefore not upgraded. Known where they are visited (instance-visits.ts). */
  upgradesLeft = 0;
  readonly #database: Database;
  readonly #home: DataHome;
  readonly #clock: Clock;
  #version = '';
  /** The last position that was read. */
  #position = 0;
  readonly #all: InstanceEntry[] = [];
  readonly #byId = new Map<string, InstanceEntry>();
  readonly #bySlug = new Map<string, InstanceEntry>();
  readonly #byHost = new Map<string, InstanceEntry>();
  #watch: Poller | undefined;

  private constructor(home: DataHome, clock: Clock) {
    this.#database = home.control;
    this.#home = home;
    this.#clock = clock;
  }

  /** Reads the directory; makes the default instance when there is none. */
  static async open(home: DataHome, clock: Clock): Promise<InstanceDirectory> {
    const directory = new InstanceDirectory(home, clock);
    await directory.refresh();
    if (!directory.#bySlug.has(defaultSlug)) {
      await directory.#createDefault();
    }
    return directory;
  }

  async #createDefault(): Promise<void> {
    try {
      await this.create(defaultSlug, null);
    } catch (error) {
      // Another process that opens the same new directory may have been first.
      await this.refresh();
      if (!this.#bySlug.has(defaultSlug)) throw error;
    }
  }

  find(id: string): InstanceEntry | undefined {
    return this.#byId.get(id);
  }

  findBySlug(slug: string): InstanceEntry | undefined {
    return this.#bySlug.get(slug);
  }

  findByHost(host: string): InstanceEntry | undefined {
    return this.#byHost.get(host);
  }

  /** All instances in the order of their creation. A live view: it grows with the directory. */
  all(): readonly InstanceEntry[] {
    return this.#all;
  }

  /** Throws bad_request for a slug or host that is malformed or taken. */
  async create(slug: string, host: string | null, from?: InstanceOrigin): Promise<InstanceEntry> {
    if (!SLUG.test(slug)) {
      throw new AppError(
        'bad_request',
        'A slug has 2 to 40 characters of a-z, 0-9 and -, and begins with a letter.',
      );
    }
    if (host !== null && !HOST.test(host)) {
      throw new AppError(
        'bad_request',
        `${JSON.stringify(host)} is not a host name in lower case without a port.`,
      );
    }
    const { id = newId(), created = toTimestamp(this.#clock.now()), fill } = from ?? {};
    const entry: InstanceEntry = { id, slug, host, created };
    // The file comes before the row: a crash between them leaves an unknown file, and never a row without a file.
    const discard = await this.#home.makeInstance(entry.id);
    try {
      await fill?.(entry);
    } catch (error) {
      await discard();
      throw error;
    }
    try {
      await this.#database.write((tx) => insertEntry(tx, entry));
    } catch (error) {
      // After any other error the row may have been stored, so the file has to stay.
      if (!(error instanceof UniqueViolation)) throw error;
      await discard();
      const conflict = error.columns.includes('host')
        ? `The host ${host} is bound`
        : `The slug ${slug} belongs`;
      throw new AppError('bad_request', `${conflict} to another instance.`, { cause: error });
    }
    await this.refresh();
    return entry;
  }

  /** Reads the instances that were added since the last time. */
  async refresh(): Promise<void> {
    const { names } = this.#database;
    const row = await this.#database.get(
      sql`SELECT value FROM ${names.table('$setting')} WHERE name = 'directory_version'`,
    );
    const version = String(row?.['value'] ?? '');
    if (version === this.#version) return;
    const [counts] = await this.#database.tuples(sql`SELECT count(*) FROM ${names.table('$instance')}`);
    await this.#readBehind(this.#position);
    // Nodes may commit in another order than that of their positions.
    if (this.#all.length < Number(counts?.[0])) await this.#readBehind(0);
    this.#version = version;
  }

  async #readBehind(position: number): Promise<void> {
    const rows = await this.#database.all(sql`
      SELECT position, id, slug, host, created FROM ${this.#database.names.table('$instance')}
      WHERE position > ${position} ORDER BY position`);
    for (const row of rows) {
      this.#position = Math.max(this.#position, Number(row['position']));
      this.#add(toEntry(row));
    }
  }

  #add(entry: InstanceEntry): void {
    if (this.#byId.has(entry.id)) return;
    this.#all.push(entry);
    this.#byId.set(entry.id, entry);
    this.#bySlug.set(entry.slug, entry);
    if (entry.host !== null) this.#byHost.set(entry.host, entry);
  }

  /** Begins to look for changes by other processes. */
  watch(onError: (error: unknown) => void): void {
    this.#watch = new Poller({ intervalMs: refreshIntervalMs, poll: () => this.refresh(), onError });
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }
}

async function insertEntry(tx: Transaction, entry: InstanceEntry): Promise<void> {
  await tx.run(sql`
    INSERT INTO ${tx.names.table('$instance')} (id, slug, host, created)
    VALUES (${entry.id}, ${entry.slug}, ${entry.host}, ${entry.created})`);
  await tx.run(sql`
    INSERT INTO ${tx.names.table('$setting')} (name, value) VALUES ('directory_version', ${entry.id})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
}

function toEntry(row: Row): InstanceEntry {
  const host = row['host'];
  return {
    id: String(row['id']),
    slug: String(row['slug']),
    host: typeof host === 'string' ? host : null,
    created: String(row['created']),
  };
}
