import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTree } from '../tools/tidy/check-tree.ts';

test('the dashboard imports nothing of the rest of the repository', () => {
  const path = 'dashboard/src/api/ids.ts';
  assert.deepEqual(breaches(path, './client.ts'), []);
  assert.deepEqual(breaches(path, 'pocketbase'), []);
  for (const specifier of ['../../../src/base/ids.ts', '../../../kit/src/verify.ts', 'node:fs'])
    assert.deepEqual(breaches(path, specifier), ['dashboard-import'], specifier);
});

test('nothing imports the dashboard', () => {
  assert.deepEqual(breaches('tools/ids.ts', '../dashboard/src/api/client.ts'), ['dashboard-import']);
});

test('its rooms keep their order, and no screen imports another', () => {
  const path = 'dashboard/src/screens/login/ids.tsx';
  for (const specifier of ['../../api/client.ts', '../../parts/bar.tsx', './form.tsx'])
    assert.deepEqual(breaches(path, specifier), [], specifier);
  for (const specifier of ['../../app/router.tsx', '../setup/setup-screen.tsx'])
    assert.deepEqual(breaches(path, specifier), ['dashboard-import'], specifier);
  assert.deepEqual(breaches('dashboard/src/parts/ids.tsx', '../screens/login/ids.tsx'), ['dashboard-import']);
});

test('its files are in kebab-case and named after what they export', () => {
  const text = `export function Ids() {\n  return <p>don’t / stop</p>;\n}\n`;
  const rulesOf = (path: string): readonly string[] => checkTree([{ path, text }]).map(({ rule }) => rule);
  assert.deepEqual(rulesOf('dashboard/src/parts/ids.tsx'), []);
  assert.deepEqual(rulesOf('dashboard/src/parts/Ids.tsx'), ['file-name', 'file-name']);
  assert.deepEqual(rulesOf('dashboard/src/parts/some-words.tsx'), ['file-name']);
});

/** The rules that a file breaks which imports this and is otherwise in order. */
function breaches(path: string, specifier: string): readonly string[] {
  const text = `import type { X } from '${specifier}';\nexport type Ids = X;\n`;
  return checkTree([{ path, text }]).map(({ rule }) => rule);
}
