import { join } from 'node:path';
import { backupName } from '../backups/backup-names.ts';
import { backupFolder, type BackupPlace } from '../backups/backup-place.ts';
import { JobStore, type NewTransfer } from '../backups/job-store.ts';
import { archivesFolder } from '../backups/remove-leftovers.ts';
import { assert } from '../base/assert.ts';
import { newId } from '../base/ids.ts';
import { requireHost, requireSlug, takenHost, takenSlug } from '../instances/require-slug.ts';
import type { Actor } from '../logs/audit-entry.ts';
import { findManaged, findServed, type ManagedInstance } from './managed-instances.ts';
import type { OperatorControl } from './operator-control.ts';
import type { OwnTransfers, UploadedArchive } from './own-transfers.ts';

export interface WholeRequest {
  /** The slug or the id of the instance. */
  readonly name: string;
  readonly actor: Actor;
  /** Whether the client has gone away, which ends the wait and not the work. */
  readonly isGone: () => boolean;
}

/** Copies an instance into a new one, with paused endpoints. Throws bad_request, not_found. */
export async function cloneInstance(
  operator: OperatorControl,
  slug: string,
  { name, actor, isGone }: WholeRequest,
): Promise<ManagedInstance> {
  requireSlug(slug);
  const { id } = await findServed(operator, name);
  // Its row decides when the copy is made; this says it before, with the member.
  if (operator.directory.findBySlug(slug) !== undefined) throw takenSlug(slug);
  await note(operator, actor, { instance: id, slug });
  await runJob(operator, { instance: id, kind: 'clone', backup: slug, place: '', isAuto: false }, isGone);
  // Requests to it may come at once.
  await operator.directory.refresh();
  return findManaged(operator, slug);
}

/** Backs up an instance where the schedule of the operator does, or where the instance keeps its own. Throws bad_request, not_found. */
export async function backUpInstance(
  operator: OperatorControl,
  { name, actor, isGone }: WholeRequest,
): Promise<void> {
  const { id: instance, slug } = await findServed(operator, name);
  const { audit, database, clock, backupPlace: place } = operator;
  const backup = backupName(slug, clock.now());
  await database.write((tx) =>
    audit.append(tx, actor, { action: 'backup.create', target: instance, details: { backup } }),
  );
  await runJob(operator, { instance, kind: 'backup', backup, place, isAuto: false }, isGone);
}

/** An archive that is there until it is removed. */
export interface WrittenArchive {
  readonly place: BackupPlace;
  readonly name: string;
}

/** Writes an instance into an archive on the disk of this machine, as it is now. Throws bad_request, not_found, unavailable. */
export async function archiveInstance(
  operator: OperatorControl,
  name: string,
  { kind, signal }: { readonly kind: 'export' | 'template'; readonly signal: AbortSignal },
): Promise<WrittenArchive> {
  const { id, slug } = await findServed(operator, name);
  const file = `${slug}.${newId()}.chancery`;
  const folder = archivesFolder(operator.backupFolder);
  const job = { instance: id, kind, backup: file, place: folder, isAuto: false } as const;
  await transfersOf(operator).run(job, signal);
  return { place: backupFolder(join(folder, id)), name: file };
}

/** Makes an instance of an archive that `receive` writes to a path, and returns it. Throws bad_request, storage_full, unavailable. */
export async function importInstance(
  operator: OperatorControl,
  archive: Omit<UploadedArchive, 'path'> & { readonly slug: string },
  receive: (path: string) => Promise<void>,
): Promise<ManagedInstance> {
  const { slug, host } = archive;
  requireSlug(slug);
  requireHost(host);
  const { directory } = operator;
  // Before anything of the archive is read; the transaction that shows the instance decides.
  if (directory.findBySlug(slug) !== undefined) throw takenSlug(slug);
  if (host !== null && directory.findByHost(host) !== undefined) throw takenHost(host);
  await transfersOf(operator).importArchive(archive, receive);
  // Requests to it may come at once.
  await directory.refresh();
  return findManaged(operator, slug);
}

function transfersOf({ transfers }: OperatorControl): OwnTransfers {
  assert(transfers !== undefined, 'a server runs the transfers of its clients');
  return transfers;
}

function runJob({ home, clock }: OperatorControl, job: NewTransfer, isGone: () => boolean): Promise<void> {
  return new JobStore(home.background, clock).run(job, isGone);
}

async function note(
  { audit, database }: OperatorControl,
  actor: Actor,
  { instance, slug }: { readonly instance: string; readonly slug: string },
): Promise<void> {
  await database.write((tx) =>
    audit.append(tx, actor, { action: 'instance.clone', target: instance, details: { slug } }),
  );
}
