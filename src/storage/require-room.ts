import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../base/errors.ts';

/** What stays free on the disk. */
const spareBytes = 64 * 1024 * 1024;

/** Throws storage_full where so much more of an archive would not fit on the disk with this folder. */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(nearestFolder(folder));
  const mib = (count: number): number => Math.ceil(count / 1024 ** 2);
  if (bavail * bsize >= bytes + spareBytes) return;
  throw new AppError(
    'storage_full',
    `The archive needs ${mib(bytes)} MiB on the disk, of which ${mib(bavail * bsize)} MiB are free.`,
    { retryAfter: 30 },
  );
}

/** On PostgreSQL there may be no folder yet. */
function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}
