import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makePocketbaseDirectory, sourceAccounts, sourceId } from '../support/pocketbase-directory.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { masterKey } from '../support/test-config.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

test('a file that the disk has no room for ends an import with one line, and no part of it stays', async (t) => {
  const fields = [sourceId, { id: 'file1', name: 'file', type: 'file', maxSelect: 1 }];
  const rows = [{ id: 'note00000000001', file: 'large.bin' }];
  const directory = makePocketbaseDirectory(t, {
    tables: [...sourceAccounts([]), { id: 'pbc_9', name: 'notes', fields, rows }],
    files: { 'pbc_9/note00000000001/large.bin': 'x'.repeat(9_000_000) },
  });
  const data = temporaryFolder(t);
  // No file may be longer than 4,000 blocks of 512 or 1,024 bytes, as the shell counts them.
  const limited = 'ulimit -f 4000; exec "$0" "$@"';
  const args = [process.execPath, main, 'import', 'pocketbase', directory, '--data', data];
  const child = spawn('sh', ['-c', limited, ...args], { env: { ...process.env, CHANCERY_KEY: masterKey } });
  const [said] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.equal(child.exitCode, 74);
  assert.match(said, /^chancery: \S+large\.bin cannot be copied to \S+: EFBIG: [^\n]+\n$/);
  const files = readdirSync(data, { recursive: true }).filter((path) => /importing|large/.test(String(path)));
  assert.deepEqual(files, []);
});
