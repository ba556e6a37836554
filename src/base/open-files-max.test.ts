import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFilesMax } from './process.ts';

test('the limit of open files is the same from every source', () => {
  assert.ok(openFilesMax() > 0);
  assert.equal(openFilesMax('/proc/none'), openFilesMax());
});
