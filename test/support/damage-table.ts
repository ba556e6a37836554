import { closeSync, openSync, readdirSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The data file of the only instance in a data directory. */
export function onlyDataFile(data: string): string {
  const [id = ''] = readdirSync(join(data, 'instances'));
  return join(data, 'instances', id, 'data.db');
}

/** Overwrites the first page of a table, or of an index, on the disk. Returns what writes the page as it was. */
export function damagePageOf(file: string, name: string): () => void {
  const { root, size } = findPage(file, name);
  const at = (root - 1) * size;
  const page = Buffer.alloc(size);
  const descriptor = openSync(file, 'r+');
  readSync(descriptor, page, 0, size, at);
  writeSync(descriptor, Buffer.alloc(size, 0xa5), 0, size, at);
  closeSync(descriptor);
  return () => {
    const again = openSync(file, 'r+');
    writeSync(again, page, 0, size, at);
    closeSync(again);
  };
}

/** Adds an index on the column `title` whose entries are those of another column: only who compares both notices. Returns what mends it. */
export function addIndexOfOtherColumn(file: string, table: string): () => void {
  const index = `${table}_of_other_column`;
  const run = (statements: string): void => {
    const database = new DatabaseSync(file, { timeout: 10_000, defensive: false });
    database.exec(statements);
    database.close();
  };
  run(`
    CREATE INDEX ${index} ON ${table} (updated);
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = 'CREATE INDEX ${index} ON ${table} (title)' WHERE name = '${index}';`);
  return () => run(`REINDEX ${index}`);
}

/** Folds the write-ahead log into the file first, or the page of the log would be read in its place. */
function findPage(file: string, name: string): { readonly root: number; readonly size: number } {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  try {
    const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {};
    if (busy !== 0) throw new Error('expected a log that nobody reads');
    const row = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name);
    const { page_size: size } = database.prepare('PRAGMA page_size').get() ?? {};
    return { root: Number(row?.['rootpage']), size: Number(size) };
  } finally {
    database.close();
  }
}
