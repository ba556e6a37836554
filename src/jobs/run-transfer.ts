import { createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { build } from '../base/build.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { Instance } from '../instances/instance.ts';
import { AuditLog } from '../logs/audit-log.ts';
import { type DataDirectory, onInstance } from '../open-data-directory.ts';
import type { UploadedArchive } from '../operator/own-transfers.ts';
import { isArchiveMac } from '../secrets/archive-mac.ts';
import { type Manifest, refusedArchive, signedText } from '../transfer/archive/archive-format.ts';
import { exportInstance } from '../transfer/archive/export-instance.ts';
import { importArchive } from '../transfer/archive/import-archive.ts';
import { autoPrefix } from '../backups/backup-names.ts';
import { partialPath } from '../backups/remove-leftovers.ts';
import type { BackupPlace } from '../backups/backup-place.ts';
import { openNamedPlace, openOwnPlace } from '../backups/open-backup-place.ts';
import { atPlace, toPlaceError } from '../backups/place-error.ts';
import { S3Failure } from '../files/s3-client.ts';
import { verifyArchive } from '../transfer/archive/verify-archive.ts';
import { JobStore, type TransferJob } from '../backups/job-store.ts';
import type { Transaction } from '../storage/database.ts';

export interface TransferParts {
  readonly data: DataDirectory;
  readonly config: Config;
  readonly clock?: Clock;
  /** Opens the secrets of a backup, in place of the master key. */
  readonly passphrase?: string | undefined;
  readonly onProgress?: ((progress: { readonly what: string; readonly count: number }) => void) | undefined;
  /** Ends the work, which then throws the reason and leaves nothing behind. */
  readonly signal: AbortSignal;
}

export interface TransferResult {
  /** The size of the backup, or of the archive. */
  readonly bytes: number;
}

/**
 * Makes, restores or verifies a backup. Not for the thread of a server: it takes processor time for as long as the instance is large.
 * Throws bad_request for what cannot be done, and leaves nothing behind.
 */
export async function runTransfer(whole: TransferParts, job: TransferJob): Promise<TransferResult> {
  const { data, signal, onProgress } = whole;
  const parts: TransferParts = {
    ...whole,
    onProgress: (progress) => {
      signal.throwIfAborted();
      onProgress?.(progress);
    },
  };
  await data.directory.refresh();
  const entry = data.directory.findShown(job.instance);
  if (entry === undefined) throw new AppError('not_found', 'The instance was deleted.');
  if (job.kind === 'backup' || job.kind === 'export' || job.kind === 'template')
    return backUp(parts, job, entry);
  if (job.kind === 'clone') return clone(parts, job, entry);
  const place = await onCurrent(data, entry, async (instance) => placeOf(parts, job, instance));
  return withLocal(parts, { place, job }, async (path) => {
    if (job.kind === 'verify') await verify(parts, path);
    else await restore(parts, { job, entry, path });
    return { bytes: (await stat(path)).size };
  });
}

async function backUp(parts: TransferParts, job: TransferJob, entry: InstanceEntry): Promise<TransferResult> {
  const { data, clock = systemClock, passphrase, onProgress } = parts;
  const { home, masterKey } = data;
  return onCurrent(data, entry, async (instance) => {
    const place = placeOf(parts, job, instance);
    if ((await place.find(job.backup)) !== undefined)
      throw new AppError('bad_request', `There is a backup ${job.backup} already.`);
    return withPartial(parts, job, async (path) => {
      const to = createWriteStream(path, { flags: 'wx', mode: 0o600 });
      const isTemplate = job.kind === 'template';
      const common = { instance, home, masterKey, clock, passphrase, isTemplate, version: build.version };
      await exportInstance({ ...common, to, ...(onProgress && { onProgress }) });
      const { size: bytes } = await stat(path);
      await data.home.background.write((tx) => requireGoingOn(parts, job, tx));
      await place.put(job.backup, path);
      const keep =
        job.place === ''
          ? instance.settings.current.backups.cronMaxKeep
          : parts.config.backups.schedule?.keep;
      if (job.isAuto && keep !== undefined) await removeOld(place, keep);
      return { bytes };
    });
  });
}

/** The copy goes through an archive, which is removed at the end. */
async function clone(parts: TransferParts, job: TransferJob, entry: InstanceEntry): Promise<TransferResult> {
  const { data, config, clock = systemClock, onProgress } = parts;
  const { home, masterKey } = data;
  return withPartial(parts, job, async (path) => {
    await onCurrent(data, entry, (instance) => {
      const to = createWriteStream(path, { flags: 'wx', mode: 0o600 });
      const common = { instance, home, masterKey, clock, version: build.version, to };
      return exportInstance({ ...common, ...(onProgress && { onProgress }) });
    });
    const target = { data, folder: config.files.folder, clock };
    const alongside = (tx: Transaction): Promise<void> => requireGoingOn(parts, job, tx);
    await importArchive(target, { path, slug: job.backup, host: null, as: 'copy', alongside, onProgress });
    return { bytes: (await stat(path)).size };
  });
}

/** Makes an instance of an archive that a client of the operator API has sent, and audits that. Throws bad_request, storage_full. */
export async function importUploaded(
  { data, config, clock = systemClock }: TransferParts,
  { actor, ...archive }: UploadedArchive,
  logger: Logger,
): Promise<TransferResult> {
  const { home, directory } = data;
  await directory.refresh();
  const { size: bytes } = await stat(archive.path);
  const audit = new AuditLog({ id: '', database: home.control, clock, auditDays: 0, logger });
  await importArchive(
    { data, folder: config.files.folder, clock },
    {
      ...archive,
      alongside: (tx, { shownId: target, slug }) =>
        audit.append(tx, actor, { action: 'instance.import', target, details: { slug } }),
    },
  );
  return { bytes };
}

/** Removes the oldest of the backups that a schedule has made. */
async function removeOld(place: BackupPlace, keep: number): Promise<void> {
  const old = (await place.list()).filter(({ name }) => name.startsWith(autoPrefix));
  for (const { name } of old.slice(keep)) await place.remove(name);
}

interface Restoring {
  readonly job: TransferJob;
  readonly entry: InstanceEntry;
  readonly path: string;
}

async function restore(parts: TransferParts, { job, entry, path }: Restoring): Promise<void> {
  const { data, config, clock = systemClock, passphrase, onProgress } = parts;
  const { folder } = config.files;
  const restored = await importArchive(
    { data, folder, clock },
    {
      path,
      slug: entry.slug,
      host: null,
      passphrase,
      as: { replaced: entry },
      requireManifest: (manifest) => requireOwnManifest(data, manifest, job),
      alongside: (tx) => requireGoingOn(parts, job, tx),
      onProgress,
    },
  );
  await onCurrent(data, restored, ({ audit, database }) =>
    database.write((tx) =>
      audit.append(tx, 'operator', { action: 'backup.restore', details: { backup: job.backup } }),
    ),
  );
}

/**
 * Throws bad_request where the archive is of another instance, or was not made by a service with this master key. Superusers may upload
 * files: what is restored has not passed the checks that a request passes, so nobody else's hands may have made it.
 */
function requireOwnManifest({ masterKey }: DataDirectory, manifest: Manifest, job: TransferJob): void {
  if (manifest.instance.shownId !== job.instance)
    throw refusedArchive('it is of another instance. The operator can import it beside this one.');
  if (job.place !== '' || isArchiveMac(masterKey, signedText(manifest), manifest.mac)) return;
  throw refusedArchive('it was not made by this service, or was altered.');
}

async function verify({ data }: TransferParts, path: string): Promise<void> {
  const manifest = await verifyArchive(path);
  const isOurs = isArchiveMac(data.masterKey, signedText(manifest), manifest.mac);
  if (!isOurs) throw refusedArchive('it was not made by a service with this master key.');
}

/** Throws conflict where another process has given the job up, and the reason for which it is to end. */
async function requireGoingOn(
  { data: { home, dueClock }, signal }: TransferParts,
  job: TransferJob,
  tx: Transaction,
): Promise<void> {
  signal.throwIfAborted();
  await new JobStore(home.background, dueClock).requireHeld(tx, job);
}

function placeOf(
  { config, data, clock = systemClock }: TransferParts,
  { place }: TransferJob,
  instance: Instance,
): BackupPlace {
  const parts = { places: config.backups, requests: data.requests, clock };
  return place === '' ? openOwnPlace(instance, parts) : openNamedPlace(place, instance.shownId, parts);
}

/** Brings a backup to the local disk for as long as it is needed. */
async function withLocal<Result>(
  parts: TransferParts,
  { place, job }: { readonly place: BackupPlace; readonly job: TransferJob },
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  const content = await place.read(job.backup);
  if (content === undefined) throw new AppError('not_found', `There is no backup ${job.backup}.`);
  return withPartial(parts, job, async (path) => {
    try {
      await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }), {
        signal: parts.signal,
      });
    } catch (error) {
      parts.signal.throwIfAborted();
      const failure = toPlaceError(error);
      if (failure instanceof AppError) throw failure;
      throw new AppError('bad_request', 'The backup could not be read to its end.', { cause: error });
    }
    return work(path);
  });
}

/** A file that is not whole. It goes when the work is over. */
async function withPartial<Result>(
  { config }: TransferParts,
  job: TransferJob,
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  const path = partialPath(config.backups.folder, job);
  await atPlace(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }));
  try {
    return await work(path);
  } catch (error) {
    if (!(error instanceof S3Failure)) throw toPlaceError(error);
    throw new AppError('bad_request', `Files in S3: ${error.reason}`, { cause: error });
  } finally {
    await rm(path, { force: true });
  }
}

/** Runs work on an instance whose settings another process may have changed. */
async function onCurrent<Result>(
  data: DataDirectory,
  entry: InstanceEntry,
  work: (instance: Instance) => Promise<Result>,
): Promise<Result> {
  try {
    return await onInstance(data, entry, async (instance) => {
      await instance.refresh();
      return work(instance);
    });
  } finally {
    // Where it is deleted or replaced, nothing is to keep it open.
    data.instances.retire(entry.id);
    await data.instances.closed(entry.id);
  }
}
