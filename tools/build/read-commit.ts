import { spawnSync } from 'node:child_process';
import { root } from './root.ts';

export interface Commit {
  /** Its full name, with `-changed` behind it when the files are not those of the commit. */
  readonly name: string;
  /** When it was made, in ISO 8601 and UTC: the only time that a build may contain, or no two builds would be the same. */
  readonly time: string;
}

/** Returns the commit that is checked out; undefined outside a repository, such as in an archive of the sources. */
export function readCommit(): Commit | undefined {
  const [name, seconds] = git('log', '-1', '--format=%H %ct').split(' ');
  if (name === undefined || seconds === undefined) return undefined;
  const isChanged = git('status', '--porcelain', '--untracked-files=no') !== '';
  const time = new Date(Number(seconds) * 1_000).toISOString();
  return { name: isChanged ? `${name}-changed` : name, time };
}

function git(...args: readonly string[]): string {
  const { stdout, status } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
}
