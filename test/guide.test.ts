import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { applyDiff } from './support/apply-diff.ts';
import { notInSample } from './support/sample.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What the type checker, `npm run generate` and the tests read or write. */
const copied = [
  'examples/react',
  'src',
  'test',
  'tools',
  'bench',
  'spec',
  'docs',
  'kit',
  'dashboard',
  'package.json',
  'tsconfig.json',
];

/** Every section of the page with diffs: what it adds, how many files of which folder it may touch, and its diffs. */
const sections = ['docs/adding.md', 'docs/adding-screens.md']
  .map((page) => readFileSync(join(root, page), 'utf8'))
  .join('\n')
  .split(/^## /m)
  .map((text) => ({
    title: text.slice(0, text.indexOf('\n')),
    bounds: boundsOf(text),
    diff: [...text.matchAll(/^```diff\n(.*?)^```$/gms)].map(([, diff = '']) => diff).join(''),
  }))
  .filter(({ diff }) => diff !== '');

/** How many files of which folders it says that its diffs touch at most. */
function boundsOf(text: string): ReadonlyMap<string, number> {
  const [, line = ''] = /^At most (.*)\.$/m.exec(text) ?? [];
  return new Map(
    [...line.matchAll(/(\d+) files? of `((?:dashboard\/)?src\/)`/g)].map(([, count, folder = '']) => [
      folder,
      Number(count),
    ]),
  );
}

function read(path: string): string | undefined {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined;
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || path.startsWith('test/browser/');
}

for (const { title, bounds, diff } of sections) {
  test(`the diffs of "${title}" fit, and touch no more files than it says`, () => {
    assert.ok(bounds.size > 0, 'it says: At most … files of `src/`.');
    const paths = [...applyDiff(diff, read).keys()];
    assert.ok(paths.some(isTest), 'it has a test');
    for (const folder of ['src/', 'dashboard/src/']) {
      const touched = paths.filter((path) => path.startsWith(folder) && !isTest(path));
      assert.ok(touched.length <= (bounds.get(folder) ?? 0), touched.join(' '));
    }
  });
}

test(
  'with all that the guide adds, the types are right and the tests of the examples pass',
  notInSample,
  (t) => {
    assert.ok(sections.length >= 3);
    const changed = applyDiff(sections.map(({ diff }) => diff).join(''), read);
    const folder = mkdtempSync(join(tmpdir(), 'chancery-guide-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    for (const path of copied) cpSync(join(root, path), join(folder, path), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const [path, text] of changed) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    run(folder, join(root, 'node_modules/.bin/tsc'), ['--noEmit']);
    // The tests compare every answer with the description.
    run(folder, process.execPath, ['tools/generate.ts', '--without-tests']);
    run(folder, join(root, 'node_modules/.bin/tsc'), ['-p', 'dashboard']);
    run(folder, process.execPath, ['--test', ...[...changed.keys()].filter(isTest)]);
  },
);

function run(folder: string, command: string, args: readonly string[]): void {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const env = { ...environment, CHANCERY_TEST_ENGINE: 'sqlite' };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' });
  assert.equal(status, 0, `${args.join(' ')}\n${stdout}${stderr}`);
}
