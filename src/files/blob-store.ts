import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

/**
 * Where an instance keeps the bytes of its files. A file has a key of three names: the id of the collection, that of the record, and its
 * own name, which is never reused. What is made of a file, its thumbs, lies in a folder beside it.
 *
 *   `<collection id>/<record id>/<name>`
 *   `<collection id>/<record id>/thumbs_<name>/<size>_<name>`
 *
 * A stored file never changes. Which files there should be is decided by the records that name them (file-removals.ts).
 */
export interface BlobStore {
  /**
   * Stores the file at `path` of the local disk, which is complete; it may be moved away from there. Once this resolves, the file survives a
   * failure of the machine. Throws storage_full.
   */
  put(key: string, source: BlobSource): Promise<void>;
  /** Returns the size and age of a file; undefined when there is none. */
  find(key: string): Promise<BlobState | undefined>;
  /** Returns the bytes of a file or of a range; undefined when there is no such file. The caller destroys a stream that it does not read to its end. */
  read(key: string, range?: ByteRange): Promise<Readable | undefined>;
  /** Removes a file and its thumbs, if they exist. */
  remove(key: string): Promise<void>;
  /** Removes all files whose keys begin with a name or two of them. */
  removeAll(folder: string): Promise<void>;
  /** Lists all files, without their thumbs, in any order. */
  list(): AsyncIterable<ListedBlob>;
}

export interface BlobSource {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Media type, as it was found from the bytes. */
  readonly type: string;
}

export interface BlobState {
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Media type, where the store has kept that of `put`. */
  readonly type?: string;
}

/** The first and the last byte, counted from 0. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

export interface ListedBlob {
  readonly key: string;
  readonly size: number;
}

/** Reads bytes of a file into memory; undefined when there is no such file. */
export async function readBytes(
  store: Pick<BlobStore, 'read'>,
  key: string,
  range?: ByteRange,
): Promise<Buffer | undefined> {
  const stream = await store.read(key, range);
  return stream && buffer(stream);
}

/** The key of the folder with the thumbs of a file. */
export function thumbsFolder(key: string): string {
  const at = key.lastIndexOf('/') + 1;
  return `${key.slice(0, at)}thumbs_${key.slice(at)}`;
}

/** Whether a text may be a part of a key: the name of a file or a folder on any system, and never a way out of its folder. */
export function isBlobName(part: string): boolean {
  if (part === '' || part === '.' || part === '..') return false;
  return !/[/\\\0]/.test(part) && Buffer.byteLength(part) <= 255;
}
