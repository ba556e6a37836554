import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../base/process.ts';
import { AppError } from '../../base/errors.ts';
import type { Collection } from '../../collections/collection.ts';
import { chosenTexts } from '../../fields/chosen-texts.ts';
import { type Field, hasColumn } from '../../fields/field.ts';
import type { StoredValue } from '../../fields/field-type.ts';
import type { Omissions } from './omissions.ts';
import type { ImportedRecord } from './record-reader.ts';

/** Files of records: `STORAGE/<collection id>/<record id>/<name>`, as the source has them. */
export interface FileCopying {
  /** The storage directory of the source. */
  readonly from: string;
  /** The storage directory of the instance; undefined only counts the files. */
  readonly to: string | undefined;
  readonly collection: Collection;
  readonly omissions: Omissions;
}

export interface CopiedFiles {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Copies the files that records name, with their metadata (`.attrs`). Thumbs are not copied, as they are generated on request. A
 * complete copy is not repeated. A file that is missing or is not a plain file is reported.
 */
export async function copyFiles(
  records: Iterable<ImportedRecord>,
  { from, to, collection, omissions }: FileCopying,
): Promise<CopiedFiles> {
  const stored = collection.fields.filter(hasColumn);
  const fields = stored.flatMap((field, at) => (field.type === 'file' ? [{ field, at }] : []));
  const root = fields.length === 0 ? undefined : await realpath(from).catch(() => undefined);
  let files = 0;
  let bytes = 0;
  if (fields.length === 0) return { files, bytes };
  for (const { id, values } of records) {
    const folders = new Set<string>();
    for (const { field, at } of fields)
      for (const name of namesOf(field, values[at] ?? null)) {
        const place = join(collection.id, id, name);
        const why =
          root === undefined ? 'It is not there.' : await problemOf(root, [collection.id, id, name]);
        if (why !== undefined || root === undefined) {
          omissions.add({ of: collection.name, what: `a file of ${field.name}`, why: why ?? '', record: id });
          continue;
        }
        files += 1;
        bytes += (await lstat(join(root, place))).size;
        if (to === undefined) continue;
        await copyFile(join(root, place), join(to, place));
        if ((await problemOf(root, [collection.id, id, `${name}.attrs`])) === undefined)
          await copyFile(join(root, `${place}.attrs`), join(to, `${place}.attrs`));
        folders.add(dirname(join(to, place)));
      }
    // The directory entries must be on the disk before the records that name the files.
    for (const folder of folders) await syncFolder(folder);
  }
  return { files, bytes };
}

function namesOf({ options }: Field, stored: StoredValue): readonly string[] {
  // The cast holds: options of a file field always have `maxSelect` (file-field.ts).
  return chosenTexts.read(stored, options as typeof options & { readonly maxSelect: number }) ?? [];
}

/** Returns why there is no such file to copy. Names come from the source and could be links or paths that lead out of it. */
async function problemOf(root: string, parts: readonly string[]): Promise<string | undefined> {
  if (!parts.every(isName)) return 'Its name is no name of a file.';
  let path = root;
  for (const [index, part] of parts.entries()) {
    path = join(path, part);
    const stats = await lstat(path).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (stats === undefined) return 'It is not there.';
    const isRight = index === parts.length - 1 ? stats.isFile() : stats.isDirectory();
    if (!isRight) return 'It is no plain file in a plain folder.';
  }
  return undefined;
}

function isName(part: string): boolean {
  return (
    part !== '' && part !== '.' && part !== '..' && !/[/\\\0]/.test(part) && Buffer.byteLength(part) <= 255
  );
}

const chunkBytes = 1024 * 1024;
/** Name of a copy in progress. It is always the same, so that the next run replaces what a killed run has left. */
const PASSING = '.importing';

/** Copies a file under a temporary name, and renames it once it is complete and synced. */
async function copyFile(from: string, to: string): Promise<void> {
  // Neither follows a link that was put there since the check, nor blocks on a pipe.
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await source.stat();
    const present = await lstat(to).catch(() => undefined);
    if (present?.isFile() === true && present.size === size) return;
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    const passing = join(dirname(to), PASSING);
    await rm(passing, { force: true });
    const target = await open(passing, 'wx', 0o600);
    try {
      await copyBytes(source, target);
      await target.sync();
    } catch (error) {
      await rm(passing, { force: true });
      // The error of a full disk names no file.
      const reason = error instanceof Error ? error.message : String(error);
      throw new AppError('bad_request', `${from} cannot be copied to ${to}: ${reason}.`, { cause: error });
    } finally {
      await target.close();
    }
    await rename(passing, to);
  } finally {
    await source.close();
  }
}

async function copyBytes(source: FileHandle, target: FileHandle): Promise<void> {
  const buffer = Buffer.allocUnsafe(chunkBytes);
  for (;;) {
    const { bytesRead } = await source.read(buffer, 0, chunkBytes);
    if (bytesRead === 0) return;
    await target.writeFile(buffer.subarray(0, bytesRead));
  }
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}
