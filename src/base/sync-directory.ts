import { open } from 'node:fs/promises';

/** Syncs a directory, so that the names of its files outlast a power failure. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
