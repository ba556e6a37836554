import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { atEnd } from './support/at-end.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

test('what a test has begun ends in the opposite order, and its folder is removed last', async (t) => {
  const done: string[] = [];
  let folder = '';
  await t.test('within', (within) => {
    folder = temporaryFolder(within);
    atEnd(within, () => writeFileSync(join(folder, 'written-last'), `${done.push('first')}`));
    atEnd(within, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      done.push('second');
    });
  });
  assert.deepEqual(done, ['second', 'first']);
  assert.equal(existsSync(folder), false);
});
