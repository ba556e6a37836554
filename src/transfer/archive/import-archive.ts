import { existsSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { InstanceFiles } from '../../files/instance-files.ts';
import { createFilled } from '../../instances/create-filled.ts';
import type { InstanceDirectory, InstanceEntry } from '../../instances/instance-directory.ts';
import { readKeyCheck } from '../../secrets/master-key.ts';
import type { DataHome, Memory } from '../../storage/data-home.ts';
import { refusedArchive } from './archive-format.ts';
import { type EmptyInstance, fillInstance } from './fill-instance.ts';
import { Archive } from './read-archive.ts';

export interface ArchiveImport {
  readonly path: string;
  /** That of the archive unless given. */
  readonly slug: string | undefined;
  readonly host: string | null;
  readonly onProgress?: EmptyInstance['onProgress'] | undefined;
}

/** Where an archive is imported. */
export interface ImportTarget {
  readonly home: DataHome;
  readonly directory: InstanceDirectory;
  readonly clock: Clock;
  /** The folder with a folder for the files of each instance. */
  readonly folder: string;
}

/** What stays free on the disk. */
const spareBytes = 64 * 1024 * 1024;

/** Throws storage_full, before anything is written, where the content would not fit. */
async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(nearestFolder(folder));
  const mib = (count: number): number => Math.ceil(count / 1024 ** 2);
  if (bavail * bsize >= bytes + spareBytes) return;
  throw new AppError(
    'storage_full',
    `The archive needs ${mib(bytes)} MiB on the disk, of which ${mib(bavail * bsize)} MiB are free.`,
  );
}

/** On PostgreSQL there may be no folder yet. */
function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}

/** Nothing is remembered of an instance that nobody has opened. */
const noMemory: Memory = { read: () => Promise.resolve(() => undefined) };

/**
 * Makes an instance of an archive, with the id that it had. Nobody finds it before it is whole, and nothing is left of one that fails. Throws
 * bad_request for an archive that cannot be used here.
 */
export async function importArchive(
  { home, directory, folder, clock }: ImportTarget,
  { path, slug, host, onProgress }: ArchiveImport,
): Promise<InstanceEntry> {
  const archive = await Archive.open(path);
  try {
    const { instance, key } = archive.manifest;
    if (key.kind === 'master' && key.check !== (await readKeyCheck(home.control)))
      throw refusedArchive(
        'its secrets are sealed with another master key. Start with the master key of the service that made it.',
      );
    await requireRoom(folder, archive.bytes);
    const { id, created } = instance;
    const files = new InstanceFiles({ folder: join(folder, id) });
    return await createFilled(
      { home, directory, clock },
      {
        id,
        created,
        slug: slug ?? instance.slug,
        host,
        fill: () => fill(archive, { home, id, files, onProgress }),
        discard: () => rm(join(folder, id, 'storage'), { recursive: true, force: true }),
      },
    );
  } finally {
    archive.close();
  }
}

async function fill(
  archive: Archive,
  {
    home,
    id,
    files,
    onProgress,
  }: Pick<ImportTarget, 'home'> &
    Pick<ArchiveImport, 'onProgress'> & { readonly id: string; readonly files: InstanceFiles },
): Promise<void> {
  const [database, logs] = [await home.openInstance(id, noMemory), await home.openLogs(id)];
  const { disk: store, uploadFolder } = files;
  try {
    await fillInstance(archive, { database, logs, store, uploadFolder, ...(onProgress && { onProgress }) });
  } finally {
    await logs.stop();
    await database.stop();
  }
}
