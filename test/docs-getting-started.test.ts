// Both engines: whoever follows the page gets the same output on each.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { upsertSuperuser } from '../src/auth/superuser.ts';
import { root } from '../tools/build/root.ts';
import { startService } from './support/service.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const page = readFileSync(join(root, 'docs/getting-started.md'), 'utf8');

test('the files of docs/getting-started.md print what the page shows', async (t) => {
  const service = await startService(t);
  await service.withInstance('default', (instance) =>
    upsertSuperuser(instance, 'you@example.com', 'correct horse'),
  );
  const folder = temporaryFolder(t);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const files = [...page.matchAll(/^```js\n\/\/ (\S+)\n(.*?)^```$/gms)];
  for (const [, name = '', text = ''] of files)
    writeFileSync(join(folder, name), text.replaceAll('http://127.0.0.1:8090', service.url));
  const commands = [...page.matchAll(/^```console\n\$ node (.*?)\n(.*?)^```$/gms)];
  assert.equal(commands.length, files.length);
  for (const [, args = '', shown] of commands) {
    const { stdout } = await promisify(execFile)(process.execPath, args.split(' '), { cwd: folder });
    assert.equal(stdout, shown, args);
  }
});
