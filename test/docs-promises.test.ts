import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import packageJson from '../package.json' with { type: 'json' };
import { git } from '../tools/build/git.ts';
import { root } from '../tools/build/root.ts';

const page = readFileSync(join(root, 'docs/promises.md'), 'utf8');
const heading = '| promise | shown by | latest figure | date | commit |';
const columns = 5;
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const promises = rows.filter(([first = '']) => first !== 'promise' && !/^-+$/.test(first));

/** What a first argument of these commands may be, as their programs read it. */
const argumentsOf: Readonly<Record<string, RegExp>> = {
  bench: namesIn('bench/main.ts', /^ {4}'?([\w-]+)'?(?:: \w+)?,$|^ {2}'?([\w-]+)'?(?:: \w+)?,$/gm),
  faults: namesIn('test/faults/main.ts', /^ {2}(\w+): main\w*,$/gm),
};

/** Matches the names that a program lists. */
function namesIn(path: string, pattern: RegExp): RegExp {
  const matches = readFileSync(join(root, path), 'utf8').matchAll(pattern);
  const names = [...matches].map(([, one, other]) => one ?? other ?? '');
  assert.ok(names.length > 5, path);
  return new RegExp(`^(?:${names.join('|')})$`);
}

/** Returns why a command of the page cannot be run; undefined if it can. */
function problemOf(command: string): string | undefined {
  const [, script = '', rest = ''] = /^npm (?:run )?([\w:]+)(?: -- (.+))?$/.exec(command) ?? [];
  if (!Object.hasOwn(packageJson.scripts, script)) return 'no such script';
  const [first = '', ...others] = rest.split(' ');
  const known = argumentsOf[script];
  if (known !== undefined && !known.test(first)) return `no such argument: ${first}`;
  const only = others[others.indexOf('--only') + 1] ?? '';
  if (others.includes('--only') && !hasLine(first, only)) return `no such line: ${only}`;
  const paths = rest.split(' ').filter((word) => word.startsWith('test/') || word.startsWith('src/'));
  if (script === 'test' && paths.length === 0) return 'no test';
  const missing = paths.find((path) => !existsSync(join(root, path)));
  return missing === undefined ? undefined : `no such file: ${missing}`;
}

/** Whether the benchmark of this name has such a line. */
function hasLine(name: string, line: string): boolean {
  return new RegExp(`\\b${line}\\b`).test(readFileSync(join(root, 'bench', `${name}.ts`), 'utf8'));
}

test('every promise has a command that can be run, a figure, a date and a commit', () => {
  assert.ok(promises.length > 40, String(promises.length));
  assert.equal(
    rows.filter(([first]) => first === 'promise').every((row) => `| ${row.join(' | ')} |` === heading),
    true,
    heading,
  );
  const wrong: string[] = [];
  for (const row of promises) {
    const [promise = '', shown = '', figure = '', date = '', commit = ''] = row;
    const report = (problem: string): void => void wrong.push(`${promise}: ${problem}`);
    if (row.length !== columns) report(`${row.length} cells`);
    const commands = [...shown.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command);
    if (commands.length === 0) report('no command');
    for (const command of commands) {
      const problem = problemOf(command);
      if (problem !== undefined) report(`${command}: ${problem}`);
    }
    if (figure === '') report('no figure');
    if (!/^\d{4}-\d{2}-\d{2}$/.test(date) || Number.isNaN(Date.parse(date))) report(`no date: ${date}`);
    if (!/^[0-9a-f]{8}$/.test(commit)) report(`no commit: ${commit}`);
  }
  assert.deepEqual(wrong, []);
});

test('every commit of a promise is one of this repository', (t) => {
  if (git(root, 'rev-parse', '--is-shallow-repository') !== 'false') return t.skip('no whole repository');
  const commits = new Set(promises.map((row) => row.at(-1) ?? ''));
  const missing = [...commits].filter(
    (commit) => git(root, 'merge-base', '--is-ancestor', commit, 'HEAD') === undefined,
  );
  return assert.deepEqual(missing, []);
});

test('a command that cannot be run is noticed', () => {
  for (const [command, problem] of [
    ['npm run nothing', 'no such script'],
    ['npm run bench -- nothing', 'no such argument: nothing'],
    ['npm run bench -- webhooks --only nothing', 'no such line: nothing'],
    ['npm run faults -- nothing --rounds 2', 'no such argument: nothing'],
    ['npm test -- test/nothing.test.ts', 'no such file: test/nothing.test.ts'],
    ['npm test', 'no test'],
    ['node bench/main.ts', 'no such script'],
  ] as const)
    assert.equal(problemOf(command), problem, command);
  assert.equal(problemOf('npm run bench -- webhooks --only latency'), undefined);
});
