import { join } from 'node:path';
import type { BlobStore } from './blob-store.ts';
import { DiskStore } from './disk-store.ts';

export interface InstanceFilesOptions {
  /** Where the instance keeps its data. */
  readonly folder: string;
  /** Wraps the store: how crash points are injected. */
  readonly wrapStore?: ((store: BlobStore) => BlobStore) | undefined;
  /** Called after a commit that has noted files to be removed at this time (milliseconds since 1970). */
  readonly onNoted?: (due: number) => void;
}

/**
 * The files of one instance.
 *
 *   blob-store      what a place for files must do; disk-store is a folder
 *   file-removals   the files that are to be removed, as rows that are written with the records; file-sweeper removes them
 */
export class InstanceFiles {
  /** A folder of the local disk for uploads that are not complete yet, or belong to no record yet. */
  readonly uploadFolder: string;
  /** Says after a commit that files are to be removed at this time (milliseconds since 1970). */
  readonly noteDue: (due: number) => void;
  readonly #disk: BlobStore;

  constructor({ folder, wrapStore, onNoted }: InstanceFilesOptions) {
    this.uploadFolder = join(folder, 'uploads');
    const disk = new DiskStore(join(folder, 'storage'));
    this.#disk = wrapStore?.(disk) ?? disk;
    this.noteDue = onNoted ?? (() => undefined);
  }

  /** Where files are kept now. */
  get store(): BlobStore {
    return this.#disk;
  }
}
