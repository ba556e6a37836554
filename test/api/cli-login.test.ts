import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { posts } from '../support/command-stage.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('login notes a service for the commands that follow, readable by its user only, and logout forgets it', async (t) => {
  const service = await startService(t);
  await service.request('/api/collections', { method: 'POST', token: true, body: posts });
  const { email, password } = service.superuser;
  const home = temporaryFolder(t);
  const environment = { HOME: home };
  const login = ['login', '--url', `${service.url}/`, '--email', email, '--password-stdin'];
  const signedIn = await runInProcess(login, { environment, input: `${password}\n` });
  assert.deepEqual([signedIn.code, signedIn.stderr], [0, '']);
  assert.match(
    signedIn.stdout,
    /^Signed in to http:[^ ]+ until \d{4}-\d\d-\d\dT\d\d:\d\dZ\. The token is in the profile default\.\n$/,
  );
  const path = join(home, '.config', 'chancery', 'profiles.json');
  assert.deepEqual([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777], [0o600, 0o700]);
  assert.doesNotMatch(readFileSync(path, 'utf8'), new RegExp(password));

  const list = ['record', 'list', 'posts'];
  assert.equal((await runInProcess(list, { environment })).code, 0);
  assert.equal((await runInProcess(['logout'], { environment })).code, 0);
  assert.match((await runInProcess(list, { environment })).stderr, /There is no data directory data\./);
  const again = await runInProcess(['logout'], { environment });
  assert.deepEqual([again.code, again.stderr], [65, 'chancery: There is no profile default.\n']);
});

test('login asks on a terminal for what it was not told, and shows no password', async (t) => {
  const service = await startService(t);
  const { email, password } = service.superuser;
  const home = temporaryFolder(t);
  const input = new PassThrough();
  const answers = { 'URL of the service: ': service.url, 'E-mail address: ': email, 'Password: ': password };
  const onQuestion = (question: string): void => {
    for (const [asked, answer] of Object.entries(answers)) if (asked === question) input.write(`${answer}\n`);
  };
  const { code, stdout, stderr } = await runInProcess(['login', '--profile', 'work'], {
    environment: { XDG_CONFIG_HOME: home },
    input,
    columns: 80,
    onQuestion,
  });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /The token is in the profile work\./);
  assert.equal(stderr, 'URL of the service: E-mail address: Password: \n');
  assert.ok(existsSync(join(home, 'chancery', 'profiles.json')));
});

test('login with an API key notes the key, and no profile is made of anything that is refused', async (t) => {
  const service = await startService(t);
  const home = temporaryFolder(t);
  const run = (args: readonly string[], input = '') =>
    runInProcess(['login', '--url', service.url, ...args], { environment: { HOME: home }, input });
  const { email } = service.superuser;
  const wrong = await run(['--email', email, '--password-stdin'], 'wrong password');
  assert.deepEqual([wrong.code, wrong.stderr], [77, 'chancery: Failed to authenticate.\n']);
  const noKey = await run(['--token', 'ck_nothing']);
  assert.equal(noKey.code, 77);
  const nobody = await run([]);
  assert.deepEqual(
    [nobody.code, /Cannot prompt without a terminal: give --email/.test(nobody.stderr)],
    [64, true],
  );
  const nowhere = await runInProcess(['login', '--url', service.url], { environment: {} });
  assert.deepEqual(
    [nowhere.code, /neither XDG_CONFIG_HOME nor HOME is set/.test(nowhere.stderr)],
    [64, true],
  );
  assert.equal(existsSync(join(home, '.config')), false);
  const body = { name: 'ci', scopes: ['records:read'], collections: null, expires: '' };
  const { json } = await service.request('/api/keys', { method: 'POST', token: true, body });
  assert.equal((await run(['--token', json.key])).code, 0);
});

test('a login whose profile cannot be written keeps those that are there', async (t) => {
  const service = await startService(t);
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, '');
  const { email, password } = service.superuser;
  const login = ['login', '--url', service.url, '--email', email, '--password-stdin'];
  const ended = await runInProcess(login, { environment: { XDG_CONFIG_HOME: file }, input: password });
  assert.deepEqual(
    [ended.code, /^chancery: EN?[A-Z]+: [^\n]+\n$/.test(ended.stderr)],
    [74, true],
    ended.stderr,
  );
});
