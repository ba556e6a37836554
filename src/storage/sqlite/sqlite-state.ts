import { dataVersion } from './data-version.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

/** An object that stands for the committed state that the reader's connection sees: the same object for as long as that is the same. */
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
