import { join } from 'node:path';
import type { BlobStore } from './blob-store.ts';
import { DiskStore } from './disk-store.ts';

/**
 * The files of one instance.
 *
 *   blob-store   what a place for files must do; disk-store is a folder
 */
export class InstanceFiles {
  /** A folder of the local disk for uploads that are not complete yet, or belong to no record yet. */
  readonly uploadFolder: string;
  readonly #disk: BlobStore;

  /** `folder` is where the instance keeps its data. */
  constructor(folder: string) {
    this.uploadFolder = join(folder, 'uploads');
    this.#disk = new DiskStore(join(folder, 'storage'));
  }

  /** Where files are kept now. */
  get store(): BlobStore {
    return this.#disk;
  }
}
