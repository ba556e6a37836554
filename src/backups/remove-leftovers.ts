import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../base/process.ts';

/** The folders of a machine with files of transfers, beside the folders with backups: no instance has such an id. */
const folders = { partial: '.partial', archives: '.archives' } as const;

/** Where the file of a transfer is that is not whole, or is read only once. */
export function partialPath(folder: string, { id }: { readonly id: string }): string {
  return join(folder, folders.partial, id);
}

/** The folder with archives that somebody downloads. */
export function archivesFolder(folder: string): string {
  return join(folder, folders.archives);
}

/** One that is written is younger, and one that is read longer is open and can be removed. */
const leftAfterMs = 86_400_000;

/** Removes what processes of this machine have left of transfers in which they were killed. */
export async function removeLeftovers(folder: string, nowMs: number): Promise<void> {
  for (const name of Object.values(folders)) {
    const entries = await readdir(join(folder, name), { withFileTypes: true, recursive: true }).catch(
      ifMissing,
    );
    for (const entry of entries ?? []) {
      const path = join(entry.parentPath, entry.name);
      const state = entry.isFile() ? await stat(path).catch(ifMissing) : undefined;
      if (state !== undefined && state.mtimeMs < nowMs - leftAfterMs) await rm(path, { force: true });
    }
  }
}

function ifMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}
