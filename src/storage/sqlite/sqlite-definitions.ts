import { newId } from '../../base/ids.ts';
import { sql } from '../../sql/sql.ts';
import type { Memory } from '../data-home.ts';
import { dataVersion } from './data-version.ts';
import type { Database, Reader, Transaction } from '../database.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

const VERSION = sql`SELECT value FROM "$instance_setting" WHERE name = 'definitions'`;

/**
 * What this process remembers of an instance's definitions, and how it finds out that another one has changed them: a command that
 * works beside a server. Each exclusive work writes another version, so that both are committed together.
 */
export class SqliteDefinitions {
  readonly #memory: Memory;
  /** Before the file's schema is there, and after it was closed, there is nothing to look at. */
  #isInForce = false;
  #hasEnded = false;
  #known = '';
  /** How often the memory was changed: by writes of this process, and by what it has read. */
  #changes = 0;
  /** The `data_version` of the writer's connection at which `#known` was right. */
  #seen: unknown;

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

  /** Asked at the start of each group of writes, under the file's lock: nearly always nobody else has written anything. */
  isOutdated(writer: SqliteConnection): boolean {
    if (!this.#isInForce) return false;
    const seen = dataVersion(writer);
    if (seen === this.#seen) return false;
    const isOutdated = String(writer.get(VERSION)?.['value'] ?? '') !== this.#known;
    // Looked at again until the memory has been read again.
    if (!isOutdated) this.#seen = seen;
    return isOutdated;
  }

  /** Reads the definitions again, if they are others; says whether they were. */
  async refresh(database: Database): Promise<boolean> {
    if (!this.#isInForce) return false;
    for (;;) {
      const before = this.#changes;
      // The version first: what changes after it was read is seen, at worst, twice.
      const version = await readVersion(database);
      if (version === this.#known) return false;
      const remember = await this.#memory.read(database);
      // A change of our own that was committed meanwhile is in the memory, and may not be in what was read.
      if (this.#changes !== before) continue;
      remember();
      // Nor may another look that began before this one put what is older over it.
      this.#changes += 1;
      this.#known = version;
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
      this.#known = version;
    });
  }
}

async function readVersion(reader: Reader): Promise<string> {
  return String((await reader.get(VERSION))?.['value'] ?? '');
}
