import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEngineBranches } from '../tools/tidy/engine-branches.ts';
import { sourceFile } from '../tools/tidy/source-file.ts';

const isRefused = (path: string, text: string): boolean =>
  checkEngineBranches([sourceFile({ path, text })]).length > 0;

test('only storage and the dialects tell engines apart', () => {
  for (const code of [
    `export const one = names.engine === 'sqlite' ? 1 : 2;`,
    `export const one = 'sqlite' === names.engine;`,
    `if (engine !== 'postgres') expand();`,
    `switch (database.engine) { default: expand(); }`,
    `export const one = makers[names.engine];`,
  ]) {
    assert.ok(isRefused('src/records/a.ts', code), code);
    for (const path of ['src/storage/a.ts', 'src/filters/functions/a.ts', 'src/records/a.test.ts'])
      assert.ok(!isRefused(path, code), `${path}: ${code}`);
  }
  for (const code of ['const told = { engine: database.engine };', 'interface Told { engine?: string }'])
    assert.ok(!isRefused('src/records/a.ts', code), code);
});
