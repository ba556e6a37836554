import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTree } from '../tools/tidy/check-tree.ts';

test('the kit for receivers imports nothing but its own files, and its tests what they like', () => {
  assert.deepEqual(breaches('kit/src/verify.ts', './signature.ts'), []);
  const strangers = ['../../src/base/ids.ts', '../test/sign.ts', './sign.test.ts', 'express', 'node:crypto'];
  for (const specifier of strangers)
    assert.deepEqual(breaches('kit/src/verify.ts', specifier), ['kit-import']);
  assert.deepEqual(breaches('kit/src/verify.test.ts', 'node:crypto'), []);
});

test('the product does not import the kit', () => {
  const path = 'src/sending/verify.ts';
  assert.deepEqual(breaches(path, '../../kit/src/verify.ts'), ['import-order']);
  assert.deepEqual(breaches(path, '@chancery/webhooks'), ['package-owner']);
});

test('an example reaches the repository by the names of packages only', () => {
  const path = 'examples/express/receiver.ts';
  for (const specifier of ['@chancery/webhooks/express', './titles.ts', '../titles.ts'])
    assert.deepEqual(breaches(path, specifier), []);
  for (const specifier of ['../../kit/src/verify.ts', '../../src/base/ids.ts'])
    assert.deepEqual(breaches(path, specifier), ['kit-import']);
});

test('the kit has no cycle, and its files are named after what they export', () => {
  const files = [
    { path: 'kit/src/seen.ts', text: `import { verify } from './verify.ts';\nexport const seen = verify;\n` },
    { path: 'kit/src/verify.ts', text: `import { seen } from './seen.ts';\nexport const verify = seen;\n` },
    { path: 'kit/src/sign.ts', text: 'export const other = 1;\n' },
  ];
  assert.deepEqual(
    checkTree(files).map(({ path, rule }) => `${path} ${rule}`),
    ['kit/src/sign.ts file-name', 'kit/src/verify.ts cycle'],
  );
});

/** The rules that a file breaks which imports this and is otherwise in order. */
function breaches(path: string, specifier: string): readonly string[] {
  const text = `import type { X } from '${specifier}';\nexport type Verify = X;\n`;
  return checkTree([{ path, text }]).map(({ rule }) => rule);
}
