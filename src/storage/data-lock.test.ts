import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startChild } from '../../test/support/child.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { lockDataDirectory } from './data-home.ts';

test('a data directory has one owner, and is free when that one is killed', async (t) => {
  const folder = temporaryFolder(t);
  const owner = await startChild(t, 'test/engines/hold-lock.ts', ['data', folder]);
  assert.equal(owner.line, 'held');
  assert.equal(lockDataDirectory(folder), undefined);
  const second = await startChild(t, 'test/engines/hold-lock.ts', ['data', folder]);
  assert.equal(second.line, 'refused');
  await owner.kill();
  const lock = lockDataDirectory(folder);
  assert.ok(lock);
  lock.release();
});

test('a released lock can be acquired again, and directories do not share one', (t) => {
  const folder = temporaryFolder(t);
  const first = lockDataDirectory(folder);
  assert.ok(first);
  const other = lockDataDirectory(temporaryFolder(t));
  assert.ok(other);
  other.release();
  first.release();
  const again = lockDataDirectory(folder);
  assert.ok(again);
  again.release();
});

test('a lock needs no room on the disk', (t) => {
  const folder = temporaryFolder(t);
  const lock = lockDataDirectory(folder);
  assert.ok(lock);
  assert.deepEqual(readdirSync(folder), ['server.lock']);
  assert.equal(statSync(join(folder, 'server.lock')).size, 0);
  lock.release();
});

test('a lock that fails for another reason is not reported as held', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'server.lock'), 'nothing of SQLite '.repeat(100));
  assert.throws(() => lockDataDirectory(folder), /file is not a database/);
});
