import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkSubject } from '../tools/check-subject.ts';
import { temporaryTree } from './support/temporary-tree.ts';

const tool = fileURLToPath(new URL('../tools/subjects.ts', import.meta.url));
const none = '0'.repeat(40);
/** Without the variables of a hook of git, which would lead to the repository of the project. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
const withGit = { skip: spawnSync('git', ['--version']).status !== 0 };

test('a subject is a verb in the imperative and its object', () => {
  const allowed = [
    'Add a command',
    `Add ${'a'.repeat(68)}`,
    'Pass the caller to rules',
    'Need a caller for rules',
    'Embed the picture',
    'Bring back the list',
    'Re-read the settings',
    'Escape U+202E and the like',
  ];
  assert.deepEqual(
    allowed.filter((subject) => checkSubject(subject) !== undefined),
    [],
  );
  const refused = [
    '',
    'Add',
    'Add ',
    `Add ${'a'.repeat(69)}`,
    'Add a command.',
    'add a command',
    'feat: add a command',
    'Adds a command',
    'Added a command',
    'Adding a command',
    'Fixes a test',
  ];
  assert.deepEqual(
    refused.filter((subject) => checkSubject(subject) === undefined),
    [],
  );
});

test('a subject begins with no verb that says nothing, in any of its forms', () => {
  const forms =
    'Say Says Said Let Lets Tell Tells Told Ask Asks Asked Take Takes Took Give Gives Gave Have Has Had';
  for (const verb of forms.split(' '))
    assert.match(checkSubject(`${verb} the name`) ?? '', /says nothing/, verb);
  assert.equal(checkSubject('Assign the name'), undefined);
});

test(
  'the gate reports a commit of the branch whose subject breaks a rule, and none before the base',
  withGit,
  (t) => {
    const { root, base } = repository(t);
    assert.deepEqual(subjects(root, base), { status: 0, output: '' });
    commit(root, 'Added a file');
    const { status, output } = subjects(root, base);
    assert.equal(status, 1);
    assert.match(output, /^[0-9a-f]+ Added a file: begins with Added, which is not in the imperative\n$/);
  },
);

test('the gate passes and says why where it cannot look at commits', withGit, (t) => {
  const { root, base } = repository(t);
  const shallow = join(temporaryTree(t, {}), 'shallow');
  git(root, ['clone', '--quiet', '--depth=1', `file://${root}`, shallow]);
  const clone = subjects(shallow, base);
  assert.equal(clone.status, 0);
  assert.match(clone.output, /^cannot look at the commits: this clone does not reach back to/);
  const folder = subjects(temporaryTree(t, {}), none);
  assert.deepEqual(folder, { status: 0, output: 'cannot look at the commits: there is no git repository\n' });
  const withoutGit = subjects(root, base, { PATH: '' });
  assert.deepEqual(withoutGit, folder);
});

/** A repository whose first commit, the base, breaks the rules, and whose second does not. */
function repository(t: TestContext): { readonly root: string; readonly base: string } {
  const root = temporaryTree(t, {});
  git(root, ['init', '--quiet']);
  commit(root, 'initial import.');
  const base = git(root, ['rev-parse', 'HEAD']).trim();
  commit(root, 'Add a file');
  return { root, base };
}

function commit(root: string, subject: string): void {
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false'];
  git(root, [...author, 'commit', '--quiet', '--allow-empty', '-m', subject]);
}

function git(root: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8', env });
  assert.equal(status, 0, stderr);
  return stdout;
}

function subjects(
  root: string,
  base: string,
  more: NodeJS.ProcessEnv = {},
): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [tool, root, base], {
    encoding: 'utf8',
    env: { ...env, ...more },
  });
  assert.equal(stderr, '');
  return { status, output: stdout };
}
