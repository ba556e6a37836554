import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkNames, walkOf } from '../tools/walk/walk-of.ts';

/**
 * How many files and functions of src/ each may run through at most: as many as when this was last measured. A walk that grows has become
 * harder to follow: see `npm run walk`, and put together what is read together. One that shrinks lowers its bar. Files that also run without a
 * request, or as the dispatcher is woken, may be left out of a count, so it is at most this; how many functions settle a
 * delivery or wake a client depends on what else is due then, so those two have a bar for files alone. What a
 * commit does a moment later, as syncing, may or may not be counted: bars of writes have room for it.
 */
const most: Readonly<Record<string, Bar>> = {
  create: { files: 108, functions: 430 },
  upload: { files: 123, functions: 540 },
  list: { files: 64, functions: 248 },
  'list with fields': { files: 70, functions: 272 },
  view: { files: 54, functions: 185 },
  update: { files: 107, functions: 425 },
  'delete with cascade': { files: 88, functions: 325 },
  delivery: { files: 137 },
  'realtime event': { files: 128 },
};

interface Bar {
  readonly files: number;
  readonly functions?: number;
}

test('every walk has a bar', () => {
  assert.deepEqual(Object.keys(most), walkNames);
});

for (const [name, { files: filesMax, functions: functionsMax = Infinity }] of Object.entries(most))
  test(`the walk of ${name} grows neither in files nor in functions`, async () => {
    const files = await walkOf(name);
    const count = files.reduce((sum, { functions }) => sum + functions.length, 0);
    const paths = files.map(({ path }) => path).join(' ');
    assert.ok(files.length <= filesMax, `${files.length} files, at most ${filesMax}: ${paths}`);
    assert.ok(count <= functionsMax, `${count} functions, at most ${functionsMax}, in ${paths}`);
  });
