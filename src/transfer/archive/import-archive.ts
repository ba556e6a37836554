import { existsSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { InstanceFiles } from '../../files/instance-files.ts';
import { createFilled } from '../../instances/create-filled.ts';
import type { InstanceDirectory, InstanceEntry } from '../../instances/instance-directory.ts';
import { areSameKeys, sealKeys, unlockKeys } from '../../secrets/locked-keys.ts';
import { type MasterKey, readKeyCheck, SecretError } from '../../secrets/master-key.ts';
import type { DataHome, Memory } from '../../storage/data-home.ts';
import { type ArchivedKey, refusedArchive } from './archive-format.ts';
import { deriveKeys } from '../../secrets/seal.ts';
import { type EmptyInstance, fillInstance } from './fill-instance.ts';
import { Archive } from './read-archive.ts';

export interface ArchiveImport {
  readonly path: string;
  /** That of the archive unless given. */
  readonly slug: string | undefined;
  readonly host: string | null;
  readonly passphrase?: string | undefined;
  readonly onProgress?: EmptyInstance['onProgress'] | undefined;
}

/** Where an archive is imported. */
export interface ImportTarget {
  readonly home: DataHome;
  readonly directory: InstanceDirectory;
  readonly masterKey: MasterKey;
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
  { home, directory, masterKey, folder, clock }: ImportTarget,
  { path, slug, host, passphrase, onProgress }: ArchiveImport,
): Promise<InstanceEntry> {
  const archive = await Archive.open(path);
  try {
    const { instance, key } = archive.manifest;
    const sealedKey = await keyFor(instance.id, key, { home, masterKey, passphrase });
    await requireRoom(folder, archive.bytes);
    const { id, created } = instance;
    const files = new InstanceFiles({ folder: join(folder, id) });
    return await createFilled(
      { home, directory, clock },
      {
        id,
        created,
        key: sealedKey,
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

/** Returns the key of the instance as it is stored here. Throws bad_request where nothing given opens its secrets. */
async function keyFor(
  id: string,
  key: ArchivedKey,
  {
    home,
    masterKey,
    passphrase,
  }: Pick<ImportTarget, 'home' | 'masterKey'> & Pick<ArchiveImport, 'passphrase'>,
): Promise<string> {
  if (key.kind === 'master') {
    if (key.check === (await readKeyCheck(home.control))) return key.sealed;
    throw refusedArchive(
      'its secrets are sealed with another master key. Start with the master key of the service that made it, or export it with a passphrase.',
    );
  }
  if (passphrase === undefined) throw refusedArchive('it needs the passphrase that it was exported with.');
  try {
    const keys = await unlockKeys(key, passphrase);
    return areSameKeys(keys, deriveKeys(masterKey, id)) ? '' : sealKeys(masterKey, id, keys);
  } catch (error) {
    if (error instanceof SecretError) throw refusedArchive('the passphrase is another one.', error);
    throw error;
  }
}
