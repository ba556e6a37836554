import { newId } from '../../base/ids.ts';
import { sql } from '../../sql/sql.ts';
import type { Memory } from '../data-home.ts';
import type { Database, Reader, Transaction } from '../database.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

const VERSION = sql`SELECT value FROM "$instance_setting" WHERE name = 'definitions'`;

/**
 * Notices when another process, a command beside a running server, has changed an instance's definitions, and reads them into this
 * process's memory again. Each exclusive work writes a new version, which is committed together with its changes.
 */
export class SqliteDefinitions {
  readonly #memory: Memory;
  /** False before the migrations have run and after the file was closed: there is no version to read then. */
  #isInForce = false;
  #hasEnded = false;
  #version = '';
  /** How often the memory was changed, by writes of this process and by refreshes. */
  #changes = 0;
  /** The `data_version` of the writer's connection for which `#version` was found to be current. */
  #checkedDataVersion: unknown;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  start(): void {
    this.#isInForce = true;
  }

  end(): void {
    this.#isInForce = false;
    this.#hasEnded = true;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Of the definitions in this process's memory: another one after each change of them. */
  get version(): string {
    return this.#version;
  }

  /** Called at the start of each group of writes, under the file's lock. The version is read only if another connection has committed. */
  isOutdated(writer: SqliteConnection): boolean {
    if (!this.#isInForce) return false;
    const dataVersionNow = dataVersion(writer);
    if (dataVersionNow === this.#checkedDataVersion) return false;
    const isOutdated = String(writer.get(VERSION)?.['value'] ?? '') !== this.#version;
    // Not remembered while outdated: the next call has to compare again, until the memory was refreshed.
    if (!isOutdated) this.#checkedDataVersion = dataVersionNow;
    return isOutdated;
  }

  /** Reads the definitions again if their version has changed; returns whether it had. */
  async refresh(database: Database): Promise<boolean> {
    if (!this.#isInForce) return false;
    for (;;) {
      const before = this.#changes;
      // The version is read first: at worst, a change that comes after it is read twice.
      const version = await readVersion(database);
      if (version === this.#version) return false;
      const remember = await this.#memory.read(database);
      // A write of this process that was committed meanwhile is in the memory, but perhaps not in what was read.
      if (this.#changes !== before) continue;
      remember();
      // Counted, so that a concurrent refresh that began earlier does not replace this by older definitions.
      this.#changes += 1;
      this.#version = version;
      return true;
    }
  }

  async announce(tx: Transaction): Promise<void> {
    if (!this.#isInForce) return;
    const version = newId();
    await tx.run(sql`
      INSERT INTO "$instance_setting" (name, value) VALUES ('definitions', ${version})
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
    tx.afterCommit(() => {
      this.#changes += 1;
      this.#version = version;
    });
  }
}

async function readVersion(reader: Reader): Promise<string> {
  return String((await reader.get(VERSION))?.['value'] ?? '');
}

const DATA_VERSION = sql`PRAGMA data_version`;

/** A number that changes with each commit of any other connection (https://www.sqlite.org/pragma.html#pragma_data_version). */
function dataVersion(connection: SqliteConnection): unknown {
  return connection.tuples(DATA_VERSION)[0]?.[0];
}

/** An object that identifies the committed state that the reader's connection sees: the same object until that state changes. */
export class SqliteState {
  #state = {};
  #version: unknown;
  /** Whether the version was read in the open view, within which it cannot change. */
  #hasLooked = false;

  now(reader: SqliteConnection): object {
    const version = this.#hasLooked ? this.#version : dataVersion(reader);
    this.#hasLooked = true;
    if (version !== this.#version) this.#state = {};
    this.#version = version;
    return this.#state;
  }

  endView(): void {
    this.#hasLooked = false;
  }

  /** Called when the reader is reopened: versions of different connections cannot be compared. */
  forget(): void {
    this.#version = undefined;
    this.#hasLooked = false;
  }
}
