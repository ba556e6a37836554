import { spawnSync } from 'node:child_process';

/** Returns what git prints in a folder, without the last line break; undefined when it fails or is not installed. */
export function git(folder: string, ...args: readonly string[]): string | undefined {
  const { stdout, status } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? stdout.trimEnd() : undefined;
}
