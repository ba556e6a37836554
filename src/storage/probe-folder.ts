import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { toDiskError } from './engine-errors.ts';

/** More than one page of a file, so that it needs room of its own. */
const probeBytes = 64 * 1024;

/** Writes and syncs a small file in a folder, and removes it. Rejects while the disk takes none. */
export async function probeFolder(folder: string): Promise<void> {
  const path = join(folder, `.probe-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = await open(path, 'w', 0o600);
    try {
      await file.writeFile(Buffer.alloc(probeBytes, 1));
      await file.datasync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw toDiskError(error);
  } finally {
    await rm(path, { force: true });
  }
}
