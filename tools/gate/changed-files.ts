import { spawnSync } from 'node:child_process';
import { root } from '../build/root.ts';

/** Returns the files that were changed since the last commit, also new ones, or by the last commit where nothing was. */
export function changedFiles(): readonly string[] {
  const changed = [
    ...git('diff', '--name-only', 'HEAD'),
    ...git('ls-files', '--others', '--exclude-standard'),
  ];
  return changed.length > 0 ? changed : git('diff', '--name-only', 'HEAD~1', 'HEAD');
}

/** Without git, nothing is known to have changed. */
function git(...args: readonly string[]): readonly string[] {
  const { stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return (stdout ?? '').split('\n').filter((line) => line !== '');
}
