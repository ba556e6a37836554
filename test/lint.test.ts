import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

import { temporaryTree, type Tree } from './support/temporary-tree.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('the linter', () => {
  test('holds the limits of functions, files and parameters, and refuses any', (t) => {
    const long = `export function long(): void {\n${lines(69)}}\n`;
    const tree = {
      'src/fine.ts': `export function fine(a: 1, b: 2, c: 3): void {\n  void [a, b, c];\n${lines(67)}}\n`,
      'src/long.ts': long,
      'test/support/long.ts': long,
      'test/long.test.ts': long,
      'src/file.ts': lines(401),
      'src/parameters.ts': 'export const f = (a: 1, b: 2, c: 3, d: 4) => [a, b, c, d];\n',
      'src/any.ts': 'export let a: any;\n',
      'src/bang.ts': 'export const f = (a?: string): string => a!;\n',
    };
    assert.deepEqual(lint(t, tree), [
      'src/any.ts no-explicit-any',
      'src/bang.ts no-non-null-assertion',
      'src/file.ts max-lines',
      'src/long.ts max-lines-per-function',
      'src/parameters.ts max-params',
      'test/support/long.ts max-lines-per-function',
    ]);
  });

  test('knows types: a promise is awaited, a switch is complete, but test() needs no await', (t) => {
    const asynchronous = 'export async function a(): Promise<void> { await Promise.resolve(); }\n';
    const tree = {
      'src/float.ts': `${asynchronous}export function b(): void { a(); }\n`,
      'src/misuse.ts': `${asynchronous}export const c = [1].filter(async () => { await a(); });\n`,
      'src/switch.ts': `export function d(e: 'f' | 'g'): void { switch (e) { case 'f': break; } }\n`,
      'test/h.test.ts': `import { describe, test } from 'node:test';\ndescribe('i', () => { test('j', () => {}); });\n`,
      'test/k.test.ts': `${asynchronous}a();\n`,
    };
    assert.deepEqual(lint(t, tree), [
      'src/float.ts no-floating-promises',
      'src/misuse.ts no-misused-promises',
      'src/switch.ts switch-exhaustiveness-check',
      'test/k.test.ts no-floating-promises',
    ]);
  });
});

function lines(count: number): string {
  return 'void 0;\n'.repeat(count);
}

/** What oxlint says about a tree under the configuration of the repository, as `path rule`. */
function lint(t: TestContext, tree: Tree): readonly string[] {
  const folder = temporaryTree(t, {
    ...tree,
    '.oxlintrc.json': readFileSync(join(root, '.oxlintrc.json'), 'utf8'),
    'tsconfig.json': readFileSync(join(root, 'tsconfig.json'), 'utf8'),
    'package.json': '{ "type": "module" }',
  });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const linter = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
  const { stdout } = spawnSync(process.execPath, [linter, '--type-aware', '--format', 'unix'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const found = stdout.matchAll(/^(?:\.\/)?([^\s:]+):\d.*\(([a-z-]+)\)\]$/gm);
  return [...new Set([...found].map(([, path, rule]) => `${path} ${rule}`))].toSorted();
}
