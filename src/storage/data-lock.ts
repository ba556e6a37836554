import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './engine-errors.ts';

/** Held for as long as a server owns a data directory. The system itself lets go of it when the process dies, however it dies. */
export interface DataLock {
  release(): void;
}

/**
 * Locks a data directory for one server, or answers undefined when another process holds it. Node has no file locks of its
 * own; SQLite's are the system's, so an exclusive transaction on a file made for nothing else is one. Throws when the system
 * refuses the file.
 */
export function lockDataDirectory(directory: string): DataLock | undefined {
  const database = new DatabaseSync(join(directory, 'server.lock'), { timeout: 0 });
  try {
    // Nothing is ever written, so no journal is needed, and one in a file could not be begun on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}
