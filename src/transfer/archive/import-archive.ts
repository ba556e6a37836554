import { existsSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { InstanceFiles } from '../../files/instance-files.ts';
import { createFilled } from '../../instances/create-filled.ts';
import type { InstanceDirectory, InstanceEntry } from '../../instances/instance-directory.ts';
import { storedKeys } from '../../instances/require-own-secrets.ts';
import { areSameKeys, sealKeys, unlockKeys } from '../../secrets/locked-keys.ts';
import { type MasterKey, readKeyCheck, SecretError } from '../../secrets/master-key.ts';
import { deriveKeys, type InstanceKeys, sealerOf } from '../../secrets/seal.ts';
import { SettingsStore } from '../../settings/settings-store.ts';
import { sql } from '../../sql/sql.ts';
import type { DataHome, Memory } from '../../storage/data-home.ts';
import type { Database } from '../../storage/database.ts';
import { type Manifest, refusedArchive } from './archive-format.ts';
import { type EmptyInstance, fillInstance } from './fill-instance.ts';
import { Archive } from './read-archive.ts';

export interface ArchiveImport {
  readonly path: string;
  /** That of the archive unless given. */
  readonly slug: string | undefined;
  readonly host: string | null;
  readonly passphrase?: string | undefined;
  /** Makes another instance, beside the one that the archive is of: with an id of its own, and with endpoints that are paused. */
  readonly isCopy?: boolean | undefined;
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
 * Makes an instance of an archive, with the id that it had unless it is to be a copy. Nobody finds it before it is whole, and nothing is left of one that fails. Throws
 * bad_request for an archive that cannot be used here.
 */
export async function importArchive(
  { home, directory, masterKey, folder, clock }: ImportTarget,
  { path, slug, host, passphrase, isCopy = false, onProgress }: ArchiveImport,
): Promise<InstanceEntry> {
  const archive = await Archive.open(path);
  try {
    const { instance } = archive.manifest;
    const keys = await keysOf(archive.manifest, { home, masterKey, passphrase });
    await requireRoom(folder, archive.bytes);
    const id = isCopy ? newId() : instance.id;
    const files = new InstanceFiles({ folder: join(folder, id) });
    const isDerived = areSameKeys(keys, deriveKeys(masterKey, id));
    return await createFilled(
      { home, directory, clock },
      {
        id,
        created: isCopy ? toTimestamp(clock.now()) : instance.created,
        key: isDerived ? '' : sealKeys(masterKey, id, keys),
        slug: slug ?? instance.slug,
        host,
        fill: () => fill(archive, { home, id, files, keys, isCopy, onProgress }),
        discard: () => rm(join(folder, id, 'storage'), { recursive: true, force: true }),
      },
    );
  } finally {
    archive.close();
  }
}

interface Filling extends Pick<ImportTarget, 'home'>, Pick<ArchiveImport, 'isCopy' | 'onProgress'> {
  readonly id: string;
  readonly files: InstanceFiles;
  readonly keys: InstanceKeys;
}

async function fill(archive: Archive, { home, id, files, keys, isCopy, onProgress }: Filling): Promise<void> {
  const [database, logs] = [await home.openInstance(id, noMemory), await home.openLogs(id)];
  const { disk: store, uploadFolder } = files;
  const requireTables = (): Promise<void> => requireOwnFiles(database, keys);
  try {
    await fillInstance(archive, {
      database,
      logs,
      store,
      uploadFolder,
      requireTables,
      ...(onProgress && { onProgress }),
    });
    if (isCopy === true) await pauseEndpoints(database);
  } finally {
    await logs.stop();
    await database.stop();
  }
}

/** Files are written to the disk: a bucket is another service's, or another instance's. */
async function requireOwnFiles(database: Database, keys: InstanceKeys): Promise<void> {
  const { s3 } = await new SettingsStore(sealerOf(keys)).read(database);
  if (!s3.enabled) return;
  throw refusedArchive(
    'the instance keeps its files in S3, where an import cannot write yet. Bring them to the disk first (chancery files copy), then export again.',
  );
}

/** A copy would send every change, and all that waits, to the receivers of the instance that it is a copy of. */
async function pauseEndpoints(database: Database): Promise<void> {
  const { names } = database;
  const reason = 'The instance is a copy of another one.';
  await database.write((tx) =>
    tx.run(sql`
      UPDATE ${names.table('$endpoint')} SET status = 'paused', status_reason = ${reason}
      WHERE ${names.instance.condition} AND deleted = '' AND status <> 'paused'`),
  );
}

/** Returns what the instance seals with. Throws bad_request where nothing given opens that. */
async function keysOf(
  { instance: { id }, key }: Manifest,
  {
    home,
    masterKey,
    passphrase,
  }: Pick<ImportTarget, 'home' | 'masterKey'> & Pick<ArchiveImport, 'passphrase'>,
): Promise<InstanceKeys> {
  if (key.kind === 'master' && key.check !== (await readKeyCheck(home.control)))
    throw refusedArchive(
      'its secrets are sealed with another master key. Start with the master key of the service that made it, or export it with a passphrase.',
    );
  if (key.kind === 'passphrase' && passphrase === undefined)
    throw refusedArchive('it needs the passphrase that it was exported with.');
  try {
    if (key.kind === 'passphrase') return await unlockKeys(key, passphrase ?? '');
    return storedKeys(masterKey, { id, key: key.sealed });
  } catch (error) {
    if (!(error instanceof SecretError)) throw error;
    throw refusedArchive(
      key.kind === 'passphrase' ? 'the passphrase is another one.' : 'its keys are damaged.',
      error,
    );
  }
}
