import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './engine-errors.ts';

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
