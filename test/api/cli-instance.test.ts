import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, test } from 'node:test';
import PocketBase from 'pocketbase';
import { eventually } from '../support/eventually.ts';
import { runInProcess, type CommandResult } from '../support/run-in-process.ts';
import { serveInProcess } from '../support/serve-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const email = 'root@acme.example';
const password = 'correct horse';

describe('instance', () => {
  test('create makes one with or without a host, list shows all of them', async (t) => {
    const run = commandsOf(temporaryFolder(t));
    const plain = await run('create', 'acme');
    assert.match(plain.stdout, /^Instance acme created with the id [a-z0-9]{15}\.\n$/);
    const hosted = await run('create', 'beta', '--host', 'Beta.Example');
    assert.equal(hosted.code, 0);
    const { code, stdout } = await run('list');
    assert.equal(code, 0);
    const rows = stdout.trimEnd().split('\n');
    assert.deepEqual(
      rows.map((row) => row.split('  ').slice(1)),
      [['default'], ['acme'], ['beta', 'beta.example']],
    );
    assert.ok(plain.stdout.includes(rows[1]?.split('  ')[0] ?? '?'));
  });

  test('create refuses slugs and hosts that are malformed or taken', async (t) => {
    const run = commandsOf(temporaryFolder(t));
    await run('create', 'acme', '--host', 'acme.example');
    const slug = /A slug has 2 to 40 characters of a-z, 0-9 and -, and begins with a letter/;
    const host = /is not a host name in lower case without a port/;
    const cases: readonly (readonly [RegExp, ...string[]])[] = [
      [slug, 'a'],
      [slug, 'Acme'],
      [slug, '9lives'],
      [slug, 'a_b'],
      [slug, 'a/b'],
      [slug, ''],
      [slug, 'a'.repeat(41)],
      [host, 'beta', '--host', 'beta.example:8080'],
      [host, 'beta', '--host', 'beta_example'],
      [host, 'beta', '--host', 'http://beta.example'],
      [/The slug acme belongs to another instance/, 'acme'],
      [/The slug default belongs to another instance/, 'default'],
      [/The host acme\.example is bound to another instance/, 'beta', '--host', 'ACME.example'],
    ];
    const ended = await Promise.all(cases.map(([, ...args]) => run('create', ...args)));
    for (const [index, [says]] of cases.entries()) assertRefused(ended[index]!, says);
    const { stdout } = await run('list');
    assert.equal(stdout.trimEnd().split('\n').length, 2);
  });

  test('a slug may have 2 and 40 characters', async (t) => {
    const run = commandsOf(temporaryFolder(t));
    assert.equal((await run('create', 'ab')).code, 0);
    assert.equal((await run('create', `a${'-9'.repeat(19)}z`)).code, 0);
  });

  test('a running server notices a new instance, by its slug and by its host', async (t) => {
    const data = temporaryFolder(t);
    const run = commandsOf(data);
    const { url } = await serveInProcess(t, data);
    assert.equal(await statusOf(`${url}/i/acme/api/health`), 404);

    await run('create', 'acme');
    await eventually(
      'it is there by its slug',
      async () => (await statusOf(`${url}/i/acme/api/health`)) === 200,
    );

    // An unbound host means the default instance, so being there is told by who can sign in.
    await run('create', 'beta', '--host', 'beta.example');
    await runInProcess(['superuser', 'upsert', email, password, '--instance', 'beta', '--data', data]);
    const body = JSON.stringify({ identity: email, password });
    await eventually(
      'it is there by its host',
      async () => (await postAt(url, 'beta.example', body)) === 200,
    );
    assert.equal(await postAt(url, 'other.example', body), 400);
  });

  test('--instance picks the instance, and what is in one is in no other', async (t) => {
    const data = temporaryFolder(t);
    await commandsOf(data)('create', 'acme');
    const superuser = (...args: readonly string[]): Promise<CommandResult> =>
      runInProcess(['superuser', ...args, '--data', data]);
    await superuser('upsert', email, password, '--instance', 'acme');
    await superuser('upsert', 'root@example.com', password);
    assert.equal((await superuser('list', '--instance', 'acme')).stdout, `${email}\n`);
    assert.equal((await superuser('list')).stdout, 'root@example.com\n');

    const { url } = await serveInProcess(t, data);
    const [acme, other] = [new PocketBase(`${url}/i/acme`), new PocketBase(url)];
    await acme.collection('_superusers').authWithPassword(email, password);
    await assert.rejects(other.collection('_superusers').authWithPassword(email, password));
    await other.collection('_superusers').authWithPassword('root@example.com', password);
    await acme.collections.create({ name: 'only_here', type: 'base' });
    await assert.rejects(other.collections.getOne('only_here'), { status: 404 });
    // The same token, at the other instance, is a stranger's.
    other.authStore.save(acme.authStore.token, acme.authStore.record);
    await assert.rejects(other.collections.getList(), { status: 401 });
  });
});

function commandsOf(data: string): (...args: readonly string[]) => Promise<CommandResult> {
  return (...args) => runInProcess(['instance', ...args, '--data', data]);
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(url)).status;
}

/** The status of a sign-in that is sent to the server's address but names another host. */
function postAt(url: string, host: string, body: string): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const headers = { host, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const path = '/api/collections/_superusers/auth-with-password';
    request({ hostname, port, path, method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end(body);
  });
}

function assertRefused({ code, stdout, stderr }: CommandResult, says: RegExp): void {
  assert.match(stderr, /^chancery: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.deepEqual({ code, stdout }, { code: 65, stdout: '' });
}
