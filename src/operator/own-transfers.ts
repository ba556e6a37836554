import type { NewTransfer } from '../backups/job-store.ts';
import type { WrittenActor } from '../logs/audit-entry.ts';
import type { ArchiveImport } from '../transfer/archive/import-archive.ts';

/** An archive on the disk of this machine, and what is to be made of it. */
export interface UploadedArchive extends Pick<ArchiveImport, 'path' | 'slug' | 'host' | 'passphrase'> {
  readonly as: 'moved' | 'copy' | 'backup';
  readonly actor: WrittenActor;
}

/**
 * What only this process can do for its client: a file of this machine is read or written, or a secret is needed that is stored nowhere. So
 * nothing of it waits in a table, from which another process could take it.
 */
export interface OwnTransfers {
  /**
   * Runs a job at once, or after others of this process. Throws what it fails for, bad_request when the instance has another job, and
   * unavailable when too many wait, or when the client has gone away before it began.
   */
  run(job: NewTransfer, signal: AbortSignal): Promise<void>;
  /** Imports the archive that `receive` writes to the path that it is called with. Throws what either fails for, and unavailable. */
  importArchive(
    archive: Omit<UploadedArchive, 'path'>,
    receive: (path: string) => Promise<void>,
  ): Promise<void>;
}
