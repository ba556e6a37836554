import { readFile } from 'node:fs/promises';
import { getRawAsset, isSea } from 'node:sea';
import { build } from '../../base/build.ts';

/** A file of the dashboard, as `files.json` lists it (tools/build/dashboard.ts writes both). */
export interface DashboardFile {
  /** Its path below `/_/`. */
  readonly path: string;
  readonly type: string;
  /** The content codings in which it is there too: the file beside it ends in `.br` or `.gz`. */
  readonly codings: readonly DashboardCoding[];
  /** Of its content. */
  readonly etag: string;
  /** Its name changes with its content, so that it can be kept for ever. */
  readonly isHashed: boolean;
}

export type DashboardCoding = 'br' | 'gzip';

/** The extension of a file in a coding. */
export const codingEndings: Readonly<Record<DashboardCoding, string>> = { br: '.br', gzip: '.gz' };

/**
 * Returns the files that the dashboard is built of, or undefined where none was built. Read at each request: the list is a few kilobytes,
 * and a build while the server runs shows without a start.
 */
export async function listDashboardFiles(): Promise<readonly DashboardFile[] | undefined> {
  const list = await readDashboardFile('files.json');
  // Our own build has written it, and nothing else is beside it.
  return list === undefined ? undefined : (JSON.parse(list.toString('utf8')) as readonly DashboardFile[]);
}

/** Returns the content of a file of the list, or undefined when it is gone. */
export async function readDashboardFile(path: string): Promise<Buffer | undefined> {
  if (isSea()) return Buffer.from(getRawAsset(`dashboard/${path}`));
  try {
    return await readFile(new URL(path, folder));
  } catch (error) {
    // Taken away by a build that is under way, or never there.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The sources have it in the workspace that it is built in, a package beside its bundle. */
const folder = new URL(
  build.form === 'sources' ? '../../../dashboard/dist/' : './dashboard/',
  import.meta.url,
);
