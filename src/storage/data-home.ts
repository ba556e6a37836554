import type { Database } from './database.ts';

/**
 * Where the data of all instances lives: a directory of SQLite files, or a PostgreSQL database. What it opens is migrated.
 */
export interface DataHome {
  /** Instances, and what belongs to the whole service. */
  readonly control: Database;
  /**
   * As `control`, over connections of its own, for what must go on whatever requests do. What it writes changes no `Database.state`, so
   * nothing that is remembered by one may rest on it.
   */
  readonly background: Database;
  /**
   * Makes where an instance's data will be, before anybody is told of the instance: one that is known and has none has lost it, and
   * is not opened. Gives what takes it away again, if the instance does not come to be.
   */
  makeInstance(instanceId: string): Promise<() => Promise<void>>;
  openInstance(instanceId: string, memory: Memory): Promise<Database>;
  /** Where an open instance's requests are logged, apart from its data: what was written last may be lost when the machine fails. */
  openLogs(instanceId: string): Promise<Database>;
  /** Reads an open instance's definitions again if another process has changed them. */
  refresh(instanceId: string): Promise<void>;
  /** From now on looks for definitions that other processes have changed, so that reads do not rest on old ones for long. */
  watch(onError: (error: unknown) => void): void;
  /** False when the last look found nobody: requests are refused then, and another node may do better. */
  isReachable(): boolean;
  /** After every instance was stopped. */
  stop(): Promise<void>;
}

/** What a process remembers of an instance's definitions, for engines on which others can change them. */
export interface Memory {
  /** Reads everything again. What it gives puts that into the memory, at once. */
  readonly read: (reader: Database) => Promise<() => void>;
}
