import { createReadStream } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { codeOf, syncDirectory } from '../base/process.ts';
import type { ByteRange } from '../files/blob-store.ts';
import { S3Client, type S3ClientOptions } from '../files/s3-client.ts';
import { S3Store } from '../files/s3-store.ts';
import { atPlace } from './place-error.ts';

/** Where backups are kept: a folder, or a bucket. What fails there is thrown as bad_request or storage_full, in words. */
export interface BackupPlace {
  /** Lists the backups, the newest first. */
  list(): Promise<readonly StoredBackup[]>;
  find(name: string): Promise<StoredBackup | undefined>;
  /** Stores the file at `path` of the local disk, which is moved away from there. Once this resolves it survives a failure of the machine. */
  put(name: string, path: string): Promise<void>;
  /** Returns the content, or a range of it; undefined when there is no such backup. */
  read(name: string, range?: ByteRange): Promise<Readable | undefined>;
  remove(name: string): Promise<void>;
}

export interface StoredBackup {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** What names of backups have; nothing else in the place is one. */
const form = /^@?[a-z0-9_-]{1,150}(?:\.[a-z0-9_-]{1,20})?\.(?:zip|chancery)$/;

/** Whether a backup can have this name, which never leads out of a folder. */
export function isBackupName(name: string): boolean {
  return form.test(name);
}

/** Keeps backups in a folder, which is made when the first one is stored. */
export function backupFolder(folder: string): BackupPlace {
  const find = async (name: string): Promise<StoredBackup | undefined> => {
    const state = await unlessMissing(stat(join(folder, name)));
    return state?.isFile() === true ? { name, size: state.size, modifiedMs: state.mtimeMs } : undefined;
  };
  return withReasons({
    find,
    list: async () => {
      const names = (await unlessMissing(readdir(folder))) ?? [];
      const all = await Promise.all(names.filter(isBackupName).map(find));
      return newestFirst(all.filter((one) => one !== undefined));
    },
    put: async (name, path) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await moveInto(path, join(folder, name));
      await syncDirectory(folder);
      await syncDirectory(dirname(folder));
    },
    read: async (name, range) => {
      if ((await find(name)) === undefined) return undefined;
      return createReadStream(join(folder, name), range && { start: range.first, end: range.last });
    },
    remove: async (name) => {
      await rm(join(folder, name), { force: true });
      await syncDirectory(folder);
    },
  });
}

/** Keeps backups in a bucket, under a prefix of names with slashes between them or in the bucket itself. */
export function backupBucket(options: S3ClientOptions, prefix: string): BackupPlace {
  const store = new S3Store(new S3Client(options));
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`);
  return withReasons({
    list: async () => {
      const all: StoredBackup[] = [];
      for await (const { key, ...state } of store.listFolder(prefix)) {
        const name = key.slice(key.lastIndexOf('/') + 1);
        if (isBackupName(name)) all.push({ name, ...state });
      }
      return newestFirst(all);
    },
    find: async (name) => {
      const state = await store.find(keyOf(name));
      return state && { name, size: state.size, modifiedMs: state.modifiedMs };
    },
    put: async (name, path) => {
      const { size } = await stat(path);
      await store.put(keyOf(name), { path, size, type: 'application/zip' });
      await rm(path, { force: true });
    },
    read: (name, range) => store.read(keyOf(name), range),
    remove: (name) => store.remove(keyOf(name)),
  });
}

function withReasons(place: BackupPlace): BackupPlace {
  return {
    list: () => atPlace(() => place.list()),
    find: (name) => atPlace(() => place.find(name)),
    put: (name, path) => atPlace(() => place.put(name, path)),
    read: (name, range) => atPlace(() => place.read(name, range)),
    remove: (name) => atPlace(() => place.remove(name)),
  };
}

/** Moves a file, which may come from another file system, so that it is whole or not there. */
async function moveInto(path: string, target: string): Promise<void> {
  try {
    await syncFile(path);
    await rename(path, target);
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error;
    const partial = `${target}.partial`;
    try {
      await copyFile(path, partial);
      await syncFile(partial);
      await rename(partial, target);
    } finally {
      await rm(partial, { force: true });
    }
    await rm(path, { force: true });
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

function newestFirst(backups: readonly StoredBackup[]): readonly StoredBackup[] {
  return backups.toSorted(
    (one, other) => other.modifiedMs - one.modifiedMs || (one.name < other.name ? 1 : -1),
  );
}

async function unlessMissing<Result>(result: Promise<Result>): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
