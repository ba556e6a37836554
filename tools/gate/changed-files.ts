import { git } from '../build/git.ts';
import { root } from '../build/root.ts';

/** Returns the files that were changed since the last commit, also new ones, or by the last commit where nothing was. */
export function changedFiles(): readonly string[] {
  const changed = [
    ...linesOf('diff', '--name-only', 'HEAD'),
    ...linesOf('ls-files', '--others', '--exclude-standard'),
  ];
  return changed.length > 0 ? changed : linesOf('diff', '--name-only', 'HEAD~1', 'HEAD');
}

/** Without git, nothing is known to have changed. */
function linesOf(...args: readonly string[]): readonly string[] {
  return (git(root, ...args) ?? '').split('\n').filter((line) => line !== '');
}
