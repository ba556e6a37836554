import assert from 'node:assert/strict';
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { LogMark } from './log-mark.ts';

const secondsAgo = 10;

test('no mark is written while another connection may be copying the log into the file', async (t) => {
  const path = join(temporaryFolder(t), 'data.db');
  writeFileSync(path, 'a');
  const now = Date.now() / 1_000;
  // As if all was copied just now, and is not synced yet.
  utimesSync(path, now + secondsAgo, now + secondsAgo);
  const mark = new LogMark(path);
  const log = { pages: 20, copied: 0 };
  await mark.update(() => log);
  assert.ok(!existsSync(`${path}-mark`));
  utimesSync(path, now - secondsAgo, now - secondsAgo);
  await mark.update(() => log);
  assert.ok(existsSync(`${path}-mark`));
  assert.equal(new LogMark(path).findLoss(log), undefined);
  assert.match(
    new LogMark(path).findLoss({ pages: 0, copied: 0 }) ?? '',
    /^Acknowledged changes are missing/,
  );
});
