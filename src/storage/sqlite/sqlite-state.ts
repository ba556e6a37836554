import { sql } from '../../sql/sql.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { dataVersion } from './sqlite-definitions.ts';

/** The version of the SQLite inside this Node, as `[major, minor, patch]`. */
export function sqliteVersion(): readonly [number, number, number] {
  const connection = new SqliteConnection(':memory:', { isReadOnly: false, synchronous: 'FULL' });
  const text = String(connection.get(sql`SELECT sqlite_version() AS version`)?.['version']);
  connection.close();
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number);
  return [major, minor, patch];
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
