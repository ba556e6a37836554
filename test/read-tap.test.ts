import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readTap } from '../tools/gate/read-tap.ts';

const tests = `
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
describe('a suite', () => {
  test('fails # 1', () => assert.equal(1, 2));
  test('passes', () => undefined);
  test.skip('is skipped');
});
test('throws', () => { throw new Error('one line'); });
`;

test('the gate ends with what failed and where, as Node tells it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-tap-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'some.test.mjs');
  writeFileSync(file, tests);
  // Without NODE_TEST_CONTEXT, which would make it a part of this run.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', file], { env });
  assert.deepEqual(readTap(String(stdout)), {
    isWhole: true,
    passed: 1,
    skipped: 1,
    failures: [
      { title: 'fails # 1', place: `${file}:5:3`, error: 'Expected values to be strictly equal:' },
      { title: 'throws', place: `${file}:9:1`, error: 'one line' },
    ],
  });
});
