import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { eventually } from '../support/eventually.ts';
import { serveMain } from '../support/main-process.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Gives a command a terminal. */
const hasScript = spawnSync('script', ['--version']).status === 0;

test('a server on an empty directory says where it listens, answers there and writes JSON lines only', async (t) => {
  const { process: server, url } = await serveMain(t, temporaryFolder(t));
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal((await fetch(`${url}/api/health`)).status, 200);
  assert.equal((await fetch(`${url}/api/health/ready`)).status, 200);
  for (const line of server.logLines()) {
    assert.equal(typeof line['msg'], 'string');
    assert.equal(line['level'], 30);
    assert.match(String(line['time']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }
  assert.equal(server.stderr, '');
});

test('it tells how to make the first superuser, and no more once there is one', async (t) => {
  const data = temporaryFolder(t);
  const first = await serveMain(t, data);
  const { msg } = await first.process.waitForLog(/There is no superuser yet/);
  assert.ok(String(msg).includes(`superuser upsert EMAIL PASSWORD --data ${data}`), String(msg));
  first.process.kill('SIGTERM');
  await first.process.ended;

  // What is printed is what is run.
  const [, command = ''] = String(msg).split('npx chancery ');
  const args = command.replace('EMAIL', 'a@example.com').replace('PASSWORD', 'correct-horse').split(' ');
  const made = await runInProcess(args);
  assert.deepEqual(made, { code: 0, stdout: 'Superuser a@example.com created.\n', stderr: '' });

  const second = await serveMain(t, data);
  const pb = new PocketBase(second.url);
  await pb.collection('_superusers').authWithPassword('a@example.com', 'correct-horse');
  second.process.kill('SIGTERM');
  const { code, stdout } = await second.process.ended;
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /superuser/);
});

test('with --strict-hosts it tells of no request that would be answered with 404', async (t) => {
  const { process: server, url } = await serveMain(t, temporaryFolder(t), { flags: ['--strict-hosts'] });
  assert.equal((await fetch(`${url}/api/setup`, { method: 'POST' })).status, 404);
  server.kill('SIGTERM');
  const { code, stdout } = await server.ended;
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /superuser|api.setup/);
});

test('what it prints beside that makes the first superuser from elsewhere', async (t) => {
  const { process: server, url } = await serveMain(t, temporaryFolder(t));
  const { msg } = await server.waitForLog(/over HTTP, once and within 30 minutes/);
  const [, path = '', fields = ''] = /: curl (\S+)((?: --data-urlencode \w+=\w+)+)$/.exec(String(msg)) ?? [];
  assert.equal(path, `${url}/api/setup`);
  const line = server.stdout.split('\n').find((text) => text.includes('/api/setup'));
  assert.ok(line?.includes(fields), 'it can be pasted from the log as it is');
  // A password of digits, which a form for records would take for a number.
  const account = fields.replace('EMAIL', 'a@example.com').replaceAll('PASSWORD', '0123456789');
  const body = new URLSearchParams(account.trim().replaceAll(/ ?--data-urlencode /g, '&'));
  assert.equal((await fetch(path, { method: 'POST', body })).status, 204);
  const pb = new PocketBase(url);
  await pb.collection('_superusers').authWithPassword('a@example.com', '0123456789');
});

test('the directory and the key in it are for nobody else on the machine', async (t) => {
  const data = join(temporaryFolder(t), 'new', 'place');
  await serveMain(t, data);
  assert.equal((await stat(data)).mode & 0o077, 0);
  assert.equal((await stat(join(data, 'instances'))).mode & 0o077, 0);
  assert.equal((await stat(join(data, 'master.key'))).mode & 0o177, 0);
});

test('what a server makes is its owner’s alone, also in a folder that is open to others', async (t) => {
  const data = temporaryFolder(t);
  chmodSync(data, 0o755);
  await serveMain(t, data);
  const paths = readdirSync(data, { recursive: true, encoding: 'utf8' });
  for (const name of ['control.db', 'control.db-wal', 'data.db', 'master.key'])
    assert.ok(
      paths.some((path) => basename(path) === name),
      `${name} among ${paths.join(', ')}`,
    );
  const open = paths.filter((path) => (statSync(join(data, path)).mode & 0o077) !== 0);
  assert.deepEqual(open, []);
});

test(
  'on a terminal a start is told to people: where the API is, where the data is, and how to begin',
  { skip: !hasScript && 'script(1) is not installed' },
  async (t) => {
    const data = join(temporaryFolder(t), 'data');
    // `exec`, because a shell that waits for it would end with 130 on Ctrl-C, whatever the server ends with.
    const main = ['exec', process.execPath, 'src/main.ts', '--port', '0', '--data', data].join(' ');
    const terminal = spawn('script', ['-qefc', main, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, SHELL: '/bin/sh' },
    });
    t.after(() => terminal.kill('SIGKILL'));
    let shown = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
    await eventually('it is ready', () => shown.includes('Ready in'));
    const [, url = ''] = /^ {2}API {8}(http:\S+)\/api\/\r$/m.exec(shown) ?? [];
    assert.equal((await fetch(`${url}/api/health`)).status, 200);
    assert.ok(shown.includes(`Data       ${data} (SQLite)`), shown);
    assert.match(shown, /superuser upsert EMAIL PASSWORD/);
    assert.match(shown, /curl http:\S+\/api\/setup --data-urlencode token=/);
    assert.doesNotMatch(shown, /"level"/);
    // Ctrl-C, as a terminal sends it.
    terminal.stdin.write('\u0003');
    const [code] = await once(terminal, 'exit');
    assert.equal(code, 0);
    assert.match(shown, /SIGINT: stopping/);
  },
);
