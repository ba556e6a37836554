import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Database, Reader } from './database.ts';
import { isBusy } from './engine-errors.ts';
import type { InstanceSnapshot } from './snapshot.ts';
import type { StorageCounts } from './storage-counts.ts';
import type { StorageFault, StorageHealth } from './storage-health.ts';

/**
 * Where the data of all instances lives: a directory of SQLite files, or a PostgreSQL database. Databases are migrated when opened.
 */
export interface DataHome {
  /** The list of instances, and what belongs to the whole service. */
  readonly control: Database;
  /**
   * As `control`, over connections of its own, for work that must not wait for connections that requests hold. Its writes change no
   * `Database.state`, so nothing that is cached by state may depend on them.
   */
  readonly background: Database;
  /** Of all databases here but the logs of requests. */
  readonly counts: StorageCounts;
  /**
   * Creates the place for an instance's data, before the instance is registered: a registered instance without data has lost it and
   * is not opened. Returns a function that removes the place again if the registration fails.
   */
  makeInstance(instanceId: string): Promise<() => Promise<void>>;
  /** Whether there is any data of an instance, whole or not. */
  hasInstance(instanceId: string): Promise<boolean>;
  /** Removes the data of an instance for good. Can be repeated after an interruption. */
  removeInstance(instanceId: string): Promise<void>;
  openInstance(instanceId: string, memory: Memory, checks?: OpeningChecks): Promise<Database>;
  /** Opens the request log of an open instance, apart from its data: the last entries may be lost when the machine fails. */
  openLogs(instanceId: string): Promise<Database>;
  /** Runs work that reads an instance as it is now, whatever is written meanwhile. It may take hours. */
  readAtOneMoment<Result>(
    instanceId: string,
    work: (snapshot: InstanceSnapshot) => Promise<Result>,
  ): Promise<Result>;
  /** Reads an open instance's definitions again if another process has changed them. */
  refresh(instanceId: string): Promise<void>;
  /** Begins to poll for definitions that other processes have changed, so that reads do not rest on old ones for long. */
  watch(onError: (error: unknown) => void): void;
  /** What has failed, and whether it does so still. */
  readonly health: StorageHealth;
  openDamageSearch(): DamageSearch;
  /** Undefined where the disk is the database server's. */
  readonly reserve: Reserve | undefined;
  /** Why data that an instance needs cannot be written now, or not be read as it was; undefined while all is well. */
  fault(instance?: string): StorageFault | undefined;
  /** Whether a newer version has changed the schema so that this process can no longer work on it. */
  readonly isOutdated: boolean;
  /** Called after every instance was stopped. */
  stop(): Promise<void>;
}

/** Searches the stored data for damage that no request has met. */
export interface DamageSearch {
  /**
   * Searches the data of an instance, or with '' the shared data, at low priority. Returns the damage in words of the engine;
   * nothing when all is whole. `isWhole` where it is to miss nothing, however long that takes; undefined where that is impossible.
   */
  find(place: string, how: { readonly isWhole: boolean }): Promise<readonly string[] | undefined>;
  /** Ends a running search, which then rejects. */
  stop(): Promise<void>;
}

/** Disk space set aside for the work that frees space once the disk is full. */
export interface Reserve {
  /** Allocates it, and again when it was used up: for one thread of the process that owns the directory. */
  start(): void;
  /**
   * Runs a work for an instance while the reserve is free, and restores the reserve afterwards. One work at a time. Another writer
   * waits for `whole` first, or would use it up.
   */
  lend<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result>;
  /** Resolves when no work has the reserve; undefined while none has. */
  readonly whole: Promise<void> | undefined;
}

/** What an engine whose files can be removed or exchanged checks when it opens an instance's data. */
export interface OpeningChecks {
  /** Called with a warning for the operator when acknowledged changes are missing. */
  readonly onLoss: (loss: string) => void;
  /** Rejects with an AppError, whose cause is logged for the operator, when the data is another instance's. */
  readonly requireOwn: (reader: Reader) => Promise<void>;
}

/** A process's memory of an instance's definitions, which an engine refreshes when another process has changed them. */
export interface Memory {
  /** Reads all definitions again. Returns a function that replaces the memory by them, synchronously. */
  readonly read: (reader: Database) => Promise<() => void>;
}

/** Nothing is remembered of an instance that nobody uses. */
export const noMemory: Memory = { read: () => Promise.resolve(() => undefined) };

/** Held for as long as a server owns a data directory. The operating system releases it when the process dies, however it dies. */
export interface DataLock {
  release(): void;
}

/**
 * Locks a data directory for one server; returns undefined when another process holds the lock. Node has no API for file locks,
 * but SQLite takes those of the operating system: an exclusive transaction on a file made for nothing else is one. Throws when
 * the system refuses the file.
 */
export function lockDataDirectory(directory: string): DataLock | undefined {
  const database = new DatabaseSync(join(directory, 'server.lock'), { timeout: 0 });
  try {
    // Nothing is ever written, so no journal file is needed; on a full disk one could not be created.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}
