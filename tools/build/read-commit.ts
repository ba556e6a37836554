import { git } from './git.ts';
import { root } from './root.ts';

export interface Commit {
  /** Its full name, with `-changed` behind it when the files are not those of the commit. */
  readonly name: string;
  /** When it was made, in ISO 8601 and UTC: the only time that a build may contain, or no two builds would be the same. */
  readonly time: string;
}

/**
 * Returns the commit that is checked out. Outside a repository, such as in a container that builds one, it is what the variables
 * COMMIT and SOURCE_DATE_EPOCH say, or undefined.
 */
export function readCommit(): Commit | undefined {
  const [name, seconds] = git(root, 'log', '-1', '--format=%H %ct')?.split(' ') ?? [];
  if (name === undefined || name === '' || seconds === undefined) return readVariables();
  const isChanged = (git(root, 'status', '--porcelain', '--untracked-files=no') ?? '') !== '';
  const time = new Date(Number(seconds) * 1_000).toISOString();
  return { name: isChanged ? `${name}-changed` : name, time };
}

function readVariables(): Commit | undefined {
  const { COMMIT: name = '', SOURCE_DATE_EPOCH: seconds = '' } = process.env;
  if (!/^[\da-f]{40}(-changed)?$/.test(name) || !/^\d+$/.test(seconds)) return undefined;
  return { name, time: new Date(Number(seconds) * 1_000).toISOString() };
}
