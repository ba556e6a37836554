import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { localRun } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { runInProcess, type CommandOptions, type CommandResult } from '../support/run-in-process.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function jsonOf({ code, stdout, stderr }: CommandResult): Readonly<Record<string, unknown>> {
  assert.equal(code, 0, stderr);
  // `--json` prints an object.
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}

test('whoami names the service, the profile, the account, its scopes and until when', async (t) => {
  const service = await startService(t);
  const { url, superuser } = service;
  const environment = { HOME: temporaryFolder(t) };
  const whoami = (...args: readonly string[]): Promise<CommandResult> =>
    runInProcess(['whoami', '--json', ...args], { environment });
  const login = ['login', '--profile', 'work', '--url', url, '--email', superuser.email, '--password-stdin'];
  await runInProcess(login, { environment, input: superuser.password });
  const { id, expires, instance, version, ...signedIn } = jsonOf(await whoami());
  const account = { place: url, profile: 'work', kind: 'superuser', email: superuser.email };
  assert.deepEqual(signedIn, { ...account, scopes: ['everything'] });
  assert.match(String(expires), /^20\d\d-.*Z$/);
  for (const member of [id, instance]) assert.match(String(member), /^\w{15}$/);
  assert.equal(typeof version, 'string');
  assert.equal(jsonOf(await whoami('--url', url))['profile'], 'work');

  const { key } = await makeKey(service, ['records:read'], { collections: ['users'] });
  const byKey = jsonOf(await whoami('--url', url, '--token', key));
  assert.deepEqual(
    ['profile', 'kind', 'scopes', 'collections', 'expires'].map((name) => byKey[name]),
    ['', 'API key', ['records:read'], ['_pb_users_auth_'], 'never'],
  );
  const operator = await makeOperatorKey(service, ['usage:read'], { expires: '2099-01-01' });
  const byOperator = jsonOf(await whoami('--url', url, '--token', operator.key));
  assert.deepEqual(
    ['kind', 'id', 'scopes', 'expires'].map((name) => byOperator[name]),
    ['operator key', operator.id, ['usage:read'], '2099-01-01 00:00:00.000Z'],
  );
  const here = jsonOf(await (await localRun(service.data))(['whoami', '--json']));
  assert.deepEqual([here['kind'], here['scopes']], ['operator', ['everything']]);
});

test('whoami names an account of a user, whose collection may hide it', async (t) => {
  const service = await startService(t);
  const { url } = service;
  const user = { email: 'ada@example.com', password: '12345678', passwordConfirm: '12345678' };
  const made = await service.request('/api/collections/users/records', {
    method: 'POST',
    token: true,
    body: user,
  });
  assert.equal(made.status, 201, made.text);
  const path = '/api/collections/users/auth-with-password';
  const body = { identity: user.email, password: user.password };
  const { token } = (await service.request(path, { method: 'POST', body })).json;
  const whoami = ['whoami', '--json', '--url', url, '--token', token];
  const seen = jsonOf(await runInProcess(whoami));
  assert.deepEqual([seen['kind'], seen['email'], seen['collection']], ['user', user.email, 'users']);
  await service.request('/api/collections/users', { method: 'PATCH', token: true, body: { viewRule: null } });
  const hidden = await runInProcess(whoami);
  assert.deepEqual([jsonOf(hidden)['kind'], jsonOf(hidden)['id']], ['user', made.json.id]);
});

test('whoami without a token, with one that is none, or without a service fails with what to do', async (t) => {
  const { url } = await startService(t);
  for (const [args, code, says] of [
    [['--url', url], 77, /There is no token for http.*chancery login/],
    [['--url', url, '--token', 'nonsense'], 77, /./],
    [['--url', url, '--token', 'ck_nonsense'], 77, /./],
    [['--url', url, '--token', 'co_nonsense'], 77, /./],
    [['--url', 'http://127.0.0.1:9', '--token', 'ck_x'], 69, /cannot be reached/],
    [['--profile', 'none'], 64, /There is no profile none/],
    [['--data', join(temporaryFolder(t), 'none')], 69, /There is no data directory/],
  ] as const) {
    const ended = await runInProcess(['whoami', ...args]);
    assert.deepEqual([ended.code, ended.stdout], [code, ''], `${args.join(' ')}: ${ended.stderr}`);
    assert.match(ended.stderr, says);
    assert.match(ended.stderr, /^chancery: [^\n]+\n$/);
  }
});

test('open prints the URL of the dashboard, and starts a browser only where somebody sees it', async (t) => {
  const folder = temporaryFolder(t);
  const target = join(folder, 'opened');
  writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > '${target}'\n`);
  chmodSync(join(folder, 'xdg-open'), 0o755);
  const url = 'https://records.example.com/$(id);&x';
  const open = (args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> =>
    runInProcess(['open', '--url', url, ...args], options);
  const screen = { columns: 80, environment: { PATH: folder, DISPLAY: ':0' } };
  const dashboard = `${url}/_/\n`;
  for (const [args, options] of [
    [['--print'], screen],
    [[], { environment: screen.environment }],
    [[], { ...screen, environment: { ...screen.environment, CI: '1' } }],
    [[], { ...screen, environment: { ...screen.environment, SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' } }],
    [[], { ...screen, environment: { PATH: folder } }],
  ] as const) {
    const { code, stdout, stderr } = await open(args, options);
    assert.deepEqual([code, stdout, stderr], [0, dashboard, '']);
  }
  assert.equal(existsSync(target), false);
  if (process.platform !== 'linux') return t.skip('another program opens URLs here');
  const absent = await open([], { ...screen, environment: { PATH: join(folder, 'none'), DISPLAY: ':0' } });
  assert.deepEqual([absent.code, absent.stdout], [0, dashboard]);
  assert.match(absent.stderr, /No browser could be started/);
  const opened = await open(['--instance', 'acme'], screen);
  assert.deepEqual([opened.code, opened.stderr], [0, '']);
  // The URL is one argument, whatever a shell would make of it.
  await eventually(
    'the browser was started',
    () => existsSync(target) && readFileSync(target, 'utf8') !== '',
  );
  assert.equal(readFileSync(target, 'utf8'), `1\n${url}/i/acme/_/\n`);
});

test('open names the server of this machine by its options', async () => {
  for (const [environment, url] of [
    [{}, 'http://127.0.0.1:8090/_/'],
    [{ CHANCERY_HOST: '0.0.0.0', CHANCERY_PORT: '80' }, 'http://localhost:80/_/'],
    [{ CHANCERY_HOST: '::1' }, 'http://[::1]:8090/_/'],
  ] as const) {
    const { code, stdout } = await runInProcess(['open', '--print'], { environment });
    assert.deepEqual([code, stdout], [0, `${url}\n`]);
  }
  const free = await runInProcess(['open'], { environment: { CHANCERY_PORT: '0' } });
  assert.deepEqual([free.code, free.stdout], [64, '']);
  const wrong = await runInProcess(['open', '--url', 'javascript:alert(1)']);
  assert.deepEqual([wrong.code, wrong.stdout], [64, '']);
});
