import { git } from './build/git.ts';

export interface Commit {
  readonly hash: string;
  readonly subject: string;
}

/** Returns the commits of the current branch since `base`, or why they cannot be read: without git, or in a clone without `base`. */
export function readSubjects(root: string, base: string): readonly Commit[] | { readonly reason: string } {
  if (git(root, 'rev-parse', '--git-dir') === undefined) return { reason: 'there is no git repository' };
  // A shallow clone may begin after the base. The commits in it could then be any, also older ones.
  if (git(root, 'cat-file', '-e', `${base}^{commit}`) === undefined)
    return { reason: `this clone does not reach back to ${base.slice(0, 8)}` };
  const log = git(root, 'log', '--no-merges', '--format=%h %s', `${base}..HEAD`);
  if (log === undefined) return { reason: 'git log failed' };
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ hash: line.slice(0, line.indexOf(' ')), subject: line.slice(line.indexOf(' ') + 1) }));
}
