import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import { CollectionStore } from '../../collections/collection-store.ts';
import { restoreViews } from '../../definitions/restore-views.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import type { BlobStore } from '../../files/blob-store.ts';
import { InstanceFiles } from '../../files/instance-files.ts';
import { createFilled } from '../../instances/create-filled.ts';
import { type InstanceEntry, readRows, type UnshownInstance } from '../../instances/instance-rows.ts';
import { storedKeys } from '../../instances/require-own-secrets.ts';
import { writeMissingSecrets } from '../../instances/system-collections.ts';
import { areSameKeys, sealKeys, unlockKeys } from '../../secrets/locked-keys.ts';
import type { GuardedRequests } from '../../network/guarded-requests.ts';
import { type MasterKey, readKeyCheck, SecretError } from '../../secrets/master-key.ts';
import { deriveKeys, type InstanceKeys, type Sealer, sealerOf } from '../../secrets/seal.ts';
import { SettingsStore } from '../../settings/settings-store.ts';
import { sql } from '../../sql/sql.ts';
import type { Database, Transaction } from '../../storage/database.ts';
import { type Manifest, refusedArchive } from './archive-format.ts';
import { requireRoom } from '../../storage/require-room.ts';
import { fillInstance } from './fill-instance.ts';
import { FillingProgress, type ResumedImport } from './filling-progress.ts';
import type { Archive } from './read-archive.ts';
import { openUpgraded } from './open-upgraded.ts';
import { goOnBehindLost } from './take-over.ts';
import type { InstanceDirectoryHome } from '../../instances/leave-place.ts';
import { takePlace } from './take-place.ts';
import { hexDigest } from '../../secrets/digest.ts';
import { type DataHome, noMemory } from '../../storage/data-home.ts';

export interface ArchiveImport {
  readonly path: string;
  /** That of the archive unless given. */
  readonly slug: string | undefined;
  readonly host: string | null;
  readonly passphrase?: string | undefined;
  /** What the archive is to this service. */
  readonly as: ArchiveUse;
  /** Throws where the archive is not the one that is expected. Called before anything is written. */
  readonly requireManifest?: ((manifest: Manifest) => void) | undefined;
  /** Run in the transaction that shows the instance, and in the one that begins to replace another; where it throws, the import is undone. */
  readonly alongside?: ((tx: Transaction, instance: UnshownInstance) => Promise<void>) | undefined;
  /**
   * Whether an import that was cut off goes on where it was when the same archive is imported under the same slug. What is there of it can be
   * removed instead, to begin again.
   */
  readonly resumes?: 'goes on' | 'begins again' | undefined;
  /** Called with what an earlier run had stored, where this one has gone on with it. */
  readonly onResumed?: ((resumed: ResumedImport) => void) | undefined;
  /** Called with what is being imported, and how much of all is done, from 0 to 1. */
  readonly onProgress?: ((progress: ArchiveImportProgress) => void) | undefined;
}

export interface ArchiveImportProgress {
  readonly what: string;
  readonly count: number;
  readonly share: number;
}

/**
 * `moved`: the instance itself, which was exported where it is not used any more · `copy`: another instance beside it, with an id of its own, and
 * with endpoints that are paused · `backup`: the instance as it was, where what came later is lost · a `replaced` one: the same, and the backup takes
 * the place of that instance. A template becomes a new instance, as which of the first two it is imported.
 */
export type ArchiveUse = 'moved' | 'copy' | 'backup' | { readonly replaced: InstanceEntry };

/** Where an archive is imported. */
export interface ImportTarget {
  readonly data: InstanceDirectoryHome & {
    readonly masterKey: MasterKey;
    readonly requests: GuardedRequests;
  };
  readonly clock: Clock;
  /** The folder with a folder for the files of each instance. */
  readonly folder: string;
}

/**
 * Makes an instance of an archive, with the id that it had unless it is to be another one. Nobody finds it before it is whole, and nothing is
 * left of one that fails. Throws bad_request for an archive that cannot be used here.
 */
export async function importArchive(
  target: ImportTarget,
  { path, slug, host, passphrase, as, requireManifest, alongside, resumes, ...reports }: ArchiveImport,
): Promise<InstanceEntry> {
  const { data, folder, clock } = target;
  const { home, directory, masterKey } = data;
  const { archive, close } = await openUpgraded(path, async (original) => {
    requireManifest?.(original.manifest);
    await requireRoom(folder, original.bytes);
  });
  try {
    const { instance, template: isTemplate = false } = archive.manifest;
    if (isTemplate && as !== 'moved' && as !== 'copy')
      throw refusedArchive('it is a template, which has no records.');
    const isSame = !isTemplate && (as === 'moved' || as === 'backup');
    const place = slug ?? instance.slug;
    const begun = resumes === undefined || isSame ? undefined : await findBegun(home.control, place);
    const id = isSame ? instance.id : (begun ?? newId());
    const source = resumes && hexDigest(JSON.stringify([archive.manifest, as]));
    const keys = isTemplate
      ? deriveKeys(masterKey, id)
      : await keysOf(archive.manifest, { home, masterKey, passphrase });
    const isOther = isTemplate || as === 'copy';
    const isDerived = areSameKeys(keys, deriveKeys(masterKey, id));
    const replaced = typeof as === 'object' ? as.replaced : undefined;
    const unshown: UnshownInstance = {
      id,
      shownId: isSame ? instance.shownId : id,
      created: isOther ? toTimestamp(clock.now()) : instance.created,
      key: isDerived ? '' : sealKeys(masterKey, id, keys),
      slug: place,
      host,
      labels: isOther ? {} : instance.labels,
    };
    const ofImport = alongside && ((tx: Transaction): Promise<void> => alongside(tx, unshown));
    return await createFilled(
      { home, directory, clock },
      {
        ...unshown,
        isNew: !isSame && begun === undefined,
        isResumable: resumes !== undefined,
        canResume:
          source === undefined || resumes !== 'goes on' ? undefined : () => isBegun(home, { id, source }),
        replaced: replaced?.id,
        populate: () => fill(target, { archive, id, keys, as, source, alongside: ofImport, ...reports }),
        discard: () => rm(join(folder, id, 'storage'), { recursive: true, force: true }),
        ...(ofImport && { alongside: ofImport }),
      },
    );
  } finally {
    await close();
  }
}

/** Returns the id of an instance that was to get this slug, by an import that was cut off; undefined where there is none. */
async function findBegun(control: Database, slug: string): Promise<string | undefined> {
  const rows = await readRows(control, sql`state = 'filling'`);
  return rows.find((row) => row.isResumable && row.slug === slug)?.id;
}

async function isBegun(
  home: DataHome,
  { id, source }: { readonly id: string; readonly source: string },
): Promise<boolean> {
  if (!(await home.hasInstance(id))) return false;
  const database = await home.openInstance(id, noMemory);
  try {
    return await FillingProgress.isBegun(database, source);
  } finally {
    await database.stop();
  }
}

interface Filling extends Pick<ArchiveImport, 'as' | 'onProgress' | 'onResumed'> {
  readonly alongside: ((tx: Transaction) => Promise<void>) | undefined;
  /** Identifies the archive, where the import can go on. */
  readonly source: string | undefined;
  readonly archive: Archive;
  readonly id: string;
  readonly keys: InstanceKeys;
}

async function fill(
  { data, folder, clock }: ImportTarget,
  { archive, id, keys, as, source, alongside, onProgress, onResumed }: Filling,
): Promise<void> {
  const { home, requests } = data;
  const [database, logs] = [await home.openInstance(id, noMemory), await home.openLogs(id)];
  const settings = new SettingsStore(sealerOf(keys));
  const files = new InstanceFiles({ folder: join(folder, id), remote: { settings, requests, clock } });
  const openStore = async (): Promise<BlobStore> => {
    settings.remember(await settings.read(database));
    if (as === 'copy') requireFilesOnDisk(settings);
    return files.store;
  };
  const now = toTimestamp(clock.now());
  try {
    const progress = source === undefined ? undefined : await FillingProgress.open(database, source);
    await fillInstance(archive, {
      database,
      logs,
      progress,
      openStore,
      uploadFolder: files.uploadFolder,
      onProgress: (progress) => onProgress?.({ ...progress, share: archive.share }),
    });
    await restoreViews(database);
    if (archive.manifest.template === true) await makeTokenSecrets(database, sealerOf(keys));
    else if (as === 'copy') await pauseEndpoints(database);
    else if (as === 'backup') await goOnBehindLost(database, now);
    else if (as !== 'moved') await takePlace(data, { replaced: as.replaced.id, database, now, alongside });
    await progress?.end(database);
    if (progress?.resumed !== undefined) onResumed?.(progress.resumed);
  } finally {
    await logs.stop();
    await database.stop();
  }
}

/** Two instances that keep their files in one bucket would remove each other's. */
function requireFilesOnDisk({ current }: SettingsStore): void {
  if (!current.s3.enabled) return;
  throw refusedArchive(
    'the instance keeps its files in S3, and a copy would share its bucket. Bring them to the disk first (chancery files copy), then export again.',
  );
}

/** A template has none: each instance that is made of it signs its own tokens. */
async function makeTokenSecrets(database: Database, sealer: Sealer): Promise<void> {
  const collections = await CollectionStore.load(database);
  await database.write(async (tx) => {
    for (const { id, type } of collections.all())
      if (type === 'auth') await writeMissingSecrets(tx, id, sealer);
  });
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
  }: Pick<ImportTarget['data'], 'home' | 'masterKey'> & Pick<ArchiveImport, 'passphrase'>,
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
