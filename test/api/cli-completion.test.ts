import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

async function scriptOf(shell: string): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(['completion', shell]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Returns what bash proposes for the last of these words. */
function completed(t: TestContext, script: string, words: readonly string[]): readonly string[] {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'script'), script);
  writeFileSync(join(folder, 'a-file.toml'), '');
  const array = words.map((word) => `'${word}'`).join(' ');
  const program = `set -u; source ./script; COMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; _chancery; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', program], { encoding: 'utf8', cwd: folder });
  assert.equal(stderr, '');
  return stdout.split('\n').filter((line) => line !== '');
}

test('bash completes commands, options and values', async (t) => {
  if (!isInstalled('bash')) return t.skip('bash is not installed here');
  const script = await scriptOf('bash');
  const cases: readonly (readonly [words: string, ...proposed: readonly string[]])[] = [
    ['chancery rec', 'record'],
    ['chancery record ex', 'export'],
    ['chancery record export --form', '--format'],
    ['chancery record export --format nd', 'ndjson'],
    ['chancery serve --log-level w', 'warn'],
    ['chancery serve --config a-', 'a-file.toml'],
    ['chancery --data record rec', 'record'],
    ['chancery --data record list', 'listen'],
    ['chancery record --instance export lis', 'list'],
    ['chancery superuser upsert a@example.com --pass', '--password-stdin'],
    ['chancery listen --for', '--forward'],
    ['chancery listen --forward htt'],
    ['chancery completion nothing'],
  ];
  for (const [words, ...proposed] of cases) {
    const found = completed(t, script, words.split(' '));
    assert.deepEqual(found, proposed, words);
  }
});

test('the scripts of other shells name every command, and are scripts where the shell is installed', async (t) => {
  for (const shell of ['zsh', 'fish']) {
    const script = await scriptOf(shell);
    for (const name of ['record', 'listen', 'config', 'password-stdin', 'log-level'])
      assert.ok(script.includes(name), shell);
    await t.test(shell, (t) => {
      if (!isInstalled(shell)) return t.skip(`${shell} is not installed here`);
      const checked = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' });
      assert.deepEqual([checked.status, checked.stderr], [0, '']);
    });
  }
});

test('a shell that is not supported is refused', async () => {
  const { code, stderr } = await runInProcess(['completion', 'csh']);
  assert.equal(code, 64);
  assert.match(stderr, /Allowed choices are bash, zsh, fish/);
});
