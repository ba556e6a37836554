import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../base/code-of.ts';
import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { chosenTexts } from '../fields/chosen-texts.ts';
import type { Field } from '../fields/field.ts';
import { hasColumn } from '../fields/field.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Omissions } from './omissions.ts';
import type { ImportedRecord } from './record-reader.ts';

/** Files of records: `STORAGE/<collection id>/<record id>/<name>`, as the source has them. */
export interface FileCopying {
  /** Where they are. */
  readonly from: string;
  /** Where they go; undefined to look only. */
  readonly to: string | undefined;
  readonly collection: Collection;
  readonly omissions: Omissions;
}

export interface CopiedFiles {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Copies the files that records name, with what the source says of each (`.attrs`); thumbs are made anew when they are asked for. A
 * copy that is complete is not made again. A file that is missing, or no plain file in its place, is told of.
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
    // So that the names are on the disk before the records that name them are.
    for (const folder of folders) await syncFolder(folder);
  }
  return { files, bytes };
}

function namesOf({ options }: Field, stored: StoredValue): readonly string[] {
  // A file's options always have it (file-field.ts).
  return chosenTexts.read(stored, options as typeof options & { readonly maxSelect: number }) ?? [];
}

/** Why there is no such file to copy: names come from the source, and could be ways out of it. */
async function problemOf(root: string, parts: readonly string[]): Promise<string | undefined> {
  if (!parts.every(isName)) return 'Its name is no name of a file.';
  let path = root;
  for (const [index, part] of parts.entries()) {
    path = join(path, part);
    const found = await lstat(path).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (found === undefined) return 'It is not there.';
    const isRight = index === parts.length - 1 ? found.isFile() : found.isDirectory();
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
/** Always the same, so that what a run leaves that was killed goes with the next. */
const PASSING = '.importing';

/** Under another name until it is complete and synced. */
async function copyFile(from: string, to: string): Promise<void> {
  // Not through a link that has been put there since it was looked at, and without waiting for what never ends.
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
      // A disk that is full says no name by itself.
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
