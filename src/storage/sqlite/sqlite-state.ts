import { dataVersion } from './data-version.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

/** What a reader's connection sees, as one object for as long as it is the same. */
export class SqliteState {
  #state = {};
  #version: unknown;
  /** In the view that is open: within one the file stays what it is. */
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

  /** Another connection counts from another number. */
  forget(): void {
    this.#version = undefined;
    this.#hasLooked = false;
  }
}
