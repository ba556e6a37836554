// Both engines: an import writes tables.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommandOver, startCommand } from '../support/start-command.ts';
import { makeBlogDirectory, password } from '../support/pocketbase-blog.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceDates,
  sourceId,
} from '../support/pocketbase-directory.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('the command says what it would do, does it, and says what it did', async (t) => {
  const data = temporaryFolder(t);
  const run = (...args: readonly string[]) => runCommandOver(data, ['import', 'pocketbase', ...args]);
  const directory = makeBlogDirectory(t);
  const lines = [
    '  users: 2 of 2 records',
    '  _superusers: 1 of 1 records',
    '  posts: 2 of 2 records, 1 files (7 bytes)',
    '  _externalAuths: 1 of 1 records',
    'Nothing is left out.',
    '',
  ].join('\n');
  const link = join(temporaryFolder(t), 'link');
  symlinkSync(directory, link);
  const dry = await run(link, '--dry-run');
  assert.deepEqual([dry.code, dry.stderr], [0, '']);
  assert.equal(dry.stdout, `Would import 4 collections with 6 records.\n${lines}`);
  const real = await run(directory);
  assert.deepEqual([real.code, real.stderr], [0, '']);
  assert.equal(real.stdout, `Imported 4 collections with 6 records.\n${lines}`);
  const again = await run(directory);
  assert.deepEqual([again.code, again.stdout], [65, '']);
  assert.match(again.stderr, /^chancery: [^\n]+imported already\.\n$/);
  const unknown = await run(directory, '--instance', 'acme');
  assert.match(unknown.stderr, /^chancery: There is no instance acme\.\n$/);
  assert.notEqual((await run()).code, 0);
});

test('a dry run makes no data directory, and neither does an import that is refused', async (t) => {
  const folder = temporaryFolder(t);
  const directory = makeBlogDirectory(t);
  for (const data of [join(folder, 'data'), temporaryFolder(t)]) {
    const run = (...args: readonly string[]) =>
      runInProcess(['import', 'pocketbase', ...args, '--data', data]);
    const dry = await run(directory, '--dry-run');
    assert.deepEqual([dry.code, dry.stderr], [0, '']);
    assert.match(dry.stdout, /^Would import 4 collections with 6 records\.\n/);
    const refused = [[folder], [directory, '--instance', 'acme'], [directory, '--key-file', 'none']];
    const codes = await Promise.all(refused.map(async (args) => (await run(...args)).code));
    assert.deepEqual(codes, [65, 65, 69]);
    assert.deepEqual(existsSync(data) ? readdirSync(data) : [], []);
    assert.equal((await run(directory)).code, 0);
  }
  assert.deepEqual(readdirSync(folder), ['data']);
});

test('what is left out, and what is to look at, is said in lines that a terminal only prints', async (t) => {
  const fields = [sourceId, { id: 'date1', name: 'due', type: 'date' }, ...sourceDates];
  const rows = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => ({ id: letter.repeat(15), due: 'x' }));
  const evil = { id: 'pbc_v', name: 'v\u001B[2J\u202E', type: 'view', fields: [] };
  const tables = [...sourceAccounts([]), { id: 'pbc_9', name: 'notes', fields, rows }, evil];
  const settings = JSON.stringify({ superuserIPs: ['192.0.2.1'] });
  const directory = makePocketbaseDirectory(t, { tables, settings });
  const { stdout } = await runCommandOver(temporaryFolder(t), [
    'import',
    'pocketbase',
    directory,
    '--dry-run',
  ]);
  const gone = `DELETE FROM _collections WHERE type = 'view'; DROP TABLE notes`;
  const name = `UPDATE _collections SET name = 'n' || char(27, 155, 8238) WHERE name = 'notes'`;
  const refused = makePocketbaseDirectory(t, { tables, sql: `${name}; ${gone}` });
  const { stderr } = await runCommandOver(temporaryFolder(t), ['import', 'pocketbase', refused]);
  assert.match(
    stderr,
    /^chancery: [^\n]+ has a collection "n\\u001b\\u009b\\u202e" and no table of that name with ids\.\n$/,
  );
  const left = stdout.slice(stdout.indexOf('Left out:\n'));
  const examples = 'aaaaaaaaaaaaaaa, bbbbbbbbbbbbbbb, ccccccccccccccc, ddddddddddddddd, eeeeeeeeeeeeeee, …';
  assert.equal(
    left,
    [
      'Left out:',
      '  v\\u001b[2J\\u202e: the collection: Must be in a valid format.',
      `  notes: due (6 times): It is no date. [${examples}]`,
      'To look at:',
      '  the settings: superuserIPs: From now on superusers are let in from 192.0.2.1 only: see that these are addresses that you come from.',
      '',
    ].join('\n'),
  );
});

test('a server that is running goes on with what a command has imported beside it, and never fails meanwhile', async (t) => {
  const service = await startService(t);
  const signIn = (): Promise<number> => {
    const body = { identity: 'ann@example.com', password };
    const path = '/api/collections/users/auth-with-password';
    return service.request(path, { method: 'POST', body }).then(({ status }) => status);
  };
  // It has seen them, as they are before.
  assert.equal(await signIn(), 400);
  const { json } = await service.request('/api/settings', { token: true });
  assert.equal(json.meta.appName, 'Acme');
  const importing = await startCommand(t, service.data, ['import', 'pocketbase', makeBlogDirectory(t)]);
  const seen = new Set<number>();
  while (!importing.hasEnded) {
    const answers = await Promise.all([
      service.request('/api/collections/users/records?filter=verified=true&expand=x'),
      service.request('/api/collections/posts/records'),
      service.request('/api/collections/posts/records', { method: 'POST', body: { title: 'x' } }),
      service.request('/api/collections/users/records/annaannaannaann', {
        method: 'PATCH',
        body: { name: 'x' },
      }),
    ]);
    for (const { status } of answers) seen.add(status);
  }
  const { code, stderr } = await importing.ended;
  assert.deepEqual([code, stderr], [0, '']);
  assert.deepEqual(
    [...seen].filter((status) => ![200, 400, 403, 404, 503].includes(status)),
    [],
  );
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
  // A write knows at once; so does who asks for a collection that was not there.
  assert.equal(await signIn(), 200);
  assert.equal((await service.request('/api/collections/posts/records')).json.totalItems, 1);
  const { superuser } = service;
  const path = '/api/collections/_superusers/auth-with-password';
  const body = { identity: superuser.email, password: superuser.password };
  const signedIn = await service.request(path, { method: 'POST', body });
  const settings = await service.request('/api/settings', { token: String(signedIn.json.token) });
  assert.equal(settings.json.meta.appName, 'Blog');
});
