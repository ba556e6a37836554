import { join } from 'node:path';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { GuardedRequests } from '../network/guarded-requests.ts';
import type { S3Settings } from '../settings/settings.ts';
import type { BlobStore } from './blob-store.ts';
import { DiskStore } from './disk-store.ts';
import { S3Client } from './s3-client.ts';
import { S3Store } from './s3-store.ts';

export interface InstanceFilesOptions {
  /** Where the instance keeps its data. */
  readonly folder: string;
  /** The way to S3, and the settings by which files are stored there. Without it they never are. */
  readonly remote?: RemoteFiles;
  /** Wraps the store: how crash points are injected. */
  readonly wrapStore?: ((store: BlobStore) => BlobStore) | undefined;
  /** Called after a commit that has noted files to be removed at this time (milliseconds since 1970). */
  readonly onNoted?: (due: number) => void;
  /** Called with the error by which storing a file failed. */
  readonly onFailure?: (error: unknown) => void;
}

export interface RemoteFiles {
  readonly settings: { readonly current: { readonly s3: S3Settings } };
  readonly requests: GuardedRequests;
  readonly clock: Clock;
}

/**
 * The files of one instance.
 *
 *   blob-store      the interface of a store of files; disk-store is a folder, s3-store a bucket
 *   file-removals   the files that are to be removed, as rows that are written with the records; file-sweeper removes them
 *   media-type      the media type of a file, by its bytes
 *   thumb-maker     images in the sizes that fields name
 *   copy-store      copies from one place to another
 */
export class InstanceFiles {
  /** A folder of the local disk for uploads that are not complete yet, or belong to no record yet. */
  readonly uploadFolder: string;
  /** Says after a commit that files are to be removed at this time (milliseconds since 1970). */
  readonly noteDue: (due: number) => void;
  /** The place on disk, whether or not files are kept there now. */
  readonly disk: BlobStore;
  readonly #options: InstanceFilesOptions;
  #remote: { readonly settings: S3Settings; readonly store: BlobStore } | undefined;

  constructor(options: InstanceFilesOptions) {
    const { folder, wrapStore, onNoted } = options;
    this.#options = options;
    this.uploadFolder = uploadFolderIn(folder);
    const disk = new DiskStore(join(folder, 'storage'));
    this.disk = wrapStore?.(disk) ?? disk;
    this.noteDue = onNoted ?? (() => undefined);
  }

  /** Throws the error by which storing a file failed, after it has been noted. */
  fail(error: unknown): never {
    this.#options.onFailure?.(error);
    throw error;
  }

  /** Where files are kept now. */
  get store(): BlobStore {
    const s3 = this.#options.remote?.settings.current.s3;
    if (s3?.enabled !== true) return this.disk;
    // A change of settings makes new ones.
    if (this.#remote?.settings !== s3) this.#remote = { settings: s3, store: this.openS3(s3) };
    return this.#remote.store;
  }

  /** Returns the place that these settings name, whether or not they are in force. */
  openS3(settings: S3Settings): BlobStore {
    const { remote, wrapStore } = this.#options;
    assert(remote !== undefined, 'an instance with S3 settings can send requests');
    const { requests, clock } = remote;
    const store = new S3Store(new S3Client({ settings, requests, clock }));
    return wrapStore?.(store) ?? store;
  }
}

/** The folder for uploads of an instance that keeps its data in this folder. */
export function uploadFolderIn(folder: string): string {
  return join(folder, 'uploads');
}
