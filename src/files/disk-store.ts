import { constants, createReadStream, open as openWithCallback, type Stats } from 'node:fs';
import { lstat, mkdir, open, opendir, realpath, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { assert } from '../base/assert.ts';
import { codeOf, syncDirectory } from '../base/process.ts';
import { toDiskError } from '../storage/engine-errors.ts';
import {
  type BlobSource,
  type BlobState,
  type BlobStore,
  type ByteRange,
  isBlobName,
  type ListedBlob,
  thumbsFolder,
} from './blob-store.ts';

const movesMax = 3;

/** Twice as much as Node reads at once: a large file takes a sixth less of the processor. So much is in memory for each client. */
const pieceBytes = 128 * 1024;

const openDescriptor = promisify(openWithCallback);

/** Files in a folder, which several nodes may share. Nothing in it that is a link is followed. */
export class DiskStore implements BlobStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(key: string, { path }: BlobSource): Promise<void> {
    const to = this.#pathOf(key);
    try {
      await syncFile(path);
      await this.#move(path, to);
      await syncDirectory(dirname(to));
    } catch (error) {
      throw toDiskError(error);
    }
  }

  async find(key: string): Promise<BlobState | undefined> {
    const stats = await this.#stat(key);
    return stats && { size: stats.size, modifiedMs: Math.floor(stats.mtimeMs) };
  }

  async read(key: string, range?: ByteRange): Promise<Readable | undefined> {
    if ((await this.#stat(key)) === undefined) return undefined;
    // Neither follows a link that was put there since, nor blocks on a pipe.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const path = this.#pathOf(key);
    const fd = await unlessMissing(openDescriptor(path, flags));
    if (fd === undefined) return undefined;
    // A stream of a FileHandle takes a third more of the processor.
    const bounds = range === undefined ? {} : { start: range.first, end: range.last };
    return createReadStream(path, { fd, highWaterMark: pieceBytes, ...bounds });
  }

  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key);
    await rm(path, { force: true });
    // Of a file that an import has copied.
    await rm(`${path}.attrs`, { force: true });
    await rm(this.#pathOf(thumbsFolder(key)), { recursive: true, force: true });
    await removeIfEmpty(dirname(path));
  }

  async removeAll(folder: string): Promise<void> {
    await rm(this.#pathOf(folder), { recursive: true, force: true });
  }

  async *list(): AsyncIterable<ListedBlob> {
    for await (const collection of entriesOf(this.#root))
      for await (const record of entriesOf(join(this.#root, collection)))
        for await (const name of entriesOf(join(this.#root, collection, record))) {
          if (name.endsWith('.attrs')) continue;
          const key = `${collection}/${record}/${name}`;
          const stats = await this.#stat(key);
          if (stats !== undefined) yield { key, size: stats.size };
        }
  }

  /** Returns the stats of a plain file in plain folders; undefined for everything else. */
  async #stat(key: string): Promise<Stats | undefined> {
    const path = this.#pathOf(key);
    const stats = await unlessMissing(lstat(path));
    if (stats?.isFile() !== true) return undefined;
    // A link in the place of a folder leads elsewhere.
    const [real, root] = await Promise.all([unlessMissing(realpath(path)), realpath(this.#root)]);
    return real === join(root, key) ? stats : undefined;
  }

  #pathOf(key: string): string {
    const parts = key.split('/');
    // What a client sends is checked before: a key that leads elsewhere is a fault of ours.
    assert(parts.every(isBlobName), 'a key is made of names');
    return join(this.#root, ...parts);
  }

  async #move(from: string, to: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#makeFolder(dirname(to));
      try {
        return await rename(from, to);
      } catch (error) {
        // The folder was empty, and a removal of another file has just removed it.
        if (codeOf(error) !== 'ENOENT' || attempt === movesMax) throw error;
      }
    }
  }

  /** Makes a folder and those above it, and makes their entries durable. */
  async #makeFolder(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let child = folder; child !== dirname(first); child = dirname(child))
      await syncDirectory(dirname(child));
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(codeOf(error) ?? '')) throw error;
  }
}

/** Returns undefined for a missing file or folder. */
async function unlessMissing<Result>(result: Promise<Result>): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** The names in a folder, one by one; none where there is no such folder. */
async function* entriesOf(path: string): AsyncIterable<string> {
  const folder = await unlessMissing(opendir(path));
  if (folder !== undefined) for await (const { name } of folder) yield name;
}
