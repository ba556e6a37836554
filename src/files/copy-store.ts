import { createWriteStream } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { fileDigest, streamDigest } from '../secrets/digest.ts';
import type { BlobStore, ListedBlob } from './blob-store.ts';
import { detectType, headBytesMax } from './media-type.ts';

/** Files under way at the same time: with a store that is far away most of the time is spent waiting. */
const parallelMax = 4;

export interface StoreCopy {
  readonly from: BlobStore;
  readonly to: BlobStore;
  /** A folder of the local disk. */
  readonly folder: string;
  /** Whether files that are there already are compared as well. */
  readonly isComparing: boolean;
  readonly onProgress: (copied: CopiedBlobs) => void;
}

export interface CopiedBlobs {
  readonly files: number;
  readonly bytes: number;
  /** Files that an earlier run has copied. */
  readonly present: number;
}

/**
 * Copies all files from one place to another, where each is read again and compared by its digest. Nothing is removed, and what is there
 * already is not copied again: after a run that was cut off, another goes on. Thumbs are left out, as they are made again.
 */
export async function copyStore(copy: StoreCopy): Promise<CopiedBlobs> {
  await mkdir(copy.folder, { recursive: true, mode: 0o700 });
  const blobs = copy.from.list()[Symbol.asyncIterator]();
  let copied: CopiedBlobs = { files: 0, bytes: 0, present: 0 };
  const stopping = new AbortController();
  const work = async (): Promise<void> => {
    for (
      let next = await blobs.next();
      next.done !== true && !stopping.signal.aborted;
      next = await blobs.next()
    ) {
      const bytes = await copyBlob(copy, next.value);
      copied =
        bytes === undefined
          ? { ...copied, present: copied.present + 1 }
          : { ...copied, files: copied.files + 1, bytes: copied.bytes + bytes };
      copy.onProgress(copied);
    }
  };
  const working = Array.from({ length: parallelMax }, () =>
    work().catch((error: unknown) => {
      stopping.abort();
      throw error;
    }),
  );
  // All are waited for: they write to the disk.
  const failed = (await Promise.allSettled(working)).find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return copied;
}

/** Returns how many bytes were copied; undefined for a file that is there already, or is gone here. */
async function copyBlob(copy: StoreCopy, { key, size }: ListedBlob): Promise<number | undefined> {
  const { from, to, folder } = copy;
  const there = await to.find(key);
  // A file never changes, and is put as a whole.
  if (there?.size === size && (!copy.isComparing || (await isEqual(copy, key)))) return undefined;
  const source = await from.read(key);
  if (source === undefined) return undefined;
  const path = join(folder, newId());
  try {
    await pipeline(source, createWriteStream(path, { mode: 0o600 }));
    const expected = await fileDigest(path);
    const { size: bytes } = await stat(path);
    await to.put(key, { path, size: bytes, type: await typeOf(path, key) });
    if ((await digestOf(to, key)) !== expected)
      throw new AppError('unavailable', `The copy of ${key} differs from its source.`);
    return bytes;
  } finally {
    await rm(path, { force: true });
  }
}

async function isEqual({ from, to }: StoreCopy, key: string): Promise<boolean> {
  const [here, there] = await Promise.all([digestOf(from, key), digestOf(to, key)]);
  return here === there;
}

async function digestOf(store: BlobStore, key: string): Promise<string | undefined> {
  const stream = await store.read(key);
  return stream && streamDigest(stream);
}

export async function typeOf(path: string, key: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytesMax), 0, headBytesMax, 0);
    return await detectType(buffer.subarray(0, bytesRead), key);
  } finally {
    await file.close();
  }
}
