import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, test } from 'node:test';
import PocketBase from 'pocketbase';
import { readConfig } from '../../src/config/config.ts';
import { addUsage } from '../../src/logs/add-usage.ts';
import { openDataDirectory } from '../../src/open-data-directory.ts';
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
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((row) => row.split('\t'));
    assert.deepEqual(
      rows.map(([, slug, state, host]) => [slug, state, host]),
      [
        ['default', 'active', ''],
        ['acme', 'active', ''],
        ['beta', 'active', 'beta.example'],
      ],
    );
    assert.ok(plain.stdout.includes(rows[1]?.[0] ?? '?'));
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

  test('update, label, suspend, resume, delete and restore change one beside a running server', async (t) => {
    const data = temporaryFolder(t);
    const run = commandsOf(data);
    const { url } = await serveInProcess(t, data);
    const says = async (args: readonly string[], text: RegExp): Promise<void> => {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 0, stderr);
      assert.match(stdout, text);
    };
    const answers = (what: string, path: string, status: number): Promise<unknown> =>
      eventually(what, async () => (await statusOf(`${url}${path}`)) === status);
    await says(['create', 'acme'], /created/);
    await answers('it is there', '/i/acme/api/collections', 401);
    await says(['update', 'acme', '--slug', 'store'], /^Instance acme updated: slug store, no host\.\n$/);
    await answers('it has its new slug', '/i/store/api/collections', 401);
    assert.equal(await statusOf(`${url}/i/acme/api/health`), 404);
    await says(['update', 'store', '--host', 'Store.Example'], /, host store\.example\.\n$/);
    await says(['update', 'store', '--host', 'none'], /, no host\.\n$/);
    await says(['label', 'store', 'plan=pro', 'customer=4711'], /^plan=pro\ncustomer=4711\n$/);
    await says(['label', 'store', 'plan='], /^customer=4711\n$/);
    await says(['label', 'store'], /^customer=4711\n$/);
    await says(['suspend', 'store'], /^Instance store is suspended\.\n$/);
    await answers('it is suspended', '/i/store/api/collections', 403);
    await says(['list'], /^\w{15}\tstore\tsuspended\t/m);
    await says(['resume', 'store'], /^Instance store is active again\.\n$/);
    await answers('it is active', '/i/store/api/collections', 401);
    const asked = await run('delete', 'store');
    assertRefused(
      asked,
      /This deletes the instance store\. Cannot prompt without a terminal: give --yes/,
      64,
    );
    await says(
      ['delete', 'store', '--yes'],
      /^Instance store is deleted\. It can be restored until 20\d\d-.*Z: chancery instance restore [a-z0-9]{15}\n$/,
    );
    await answers('it is gone', '/i/store/api/health', 404);
    assert.equal((await run('list')).stdout.includes('store'), false);
    await says(['list', '--all'], /^\w{15}\tstore\tdeleted\t.*\t20\d\d-.*Z\n/m);
    await says(['restore', 'store'], /^Instance store is restored\.\n$/);
    await answers('it is there again', '/i/store/api/health', 200);
  });

  test('quota sets, shows and removes quotas beside a running server', async (t) => {
    const data = temporaryFolder(t);
    const run = commandsOf(data);
    await serveInProcess(t, data);
    await run('create', 'acme');
    const says = async (args: readonly string[], text: string): Promise<void> => {
      const { code, stdout, stderr } = await run('quota', 'acme', ...args);
      assert.deepEqual([code, stdout, stderr], [0, text, '']);
    };
    await says([], '');
    await says(['records=100', 'fileBytes=5GiB'], 'records\t0\t100\nfileBytes\t0\t5368709120\n');
    await says(['records=', 'endpoints=0'], 'fileBytes\t0\t5368709120\nendpoints\t0\t0\n');
    await says([], 'fileBytes\t0\t5368709120\nendpoints\t0\t0\n');
    await says(['--none', 'records=7'], 'records\t0\t7\n');
    await says(['--none'], '');
    const unchanged = [
      ['quota', 'nope', 'records=1'],
      ['quota', 'acme', 'recordz=1'],
      ['quota', 'acme', 'concurrentRequests=0'],
    ];
    const refused = await Promise.all(unchanged.map((args) => run(...args)));
    assertRefused(refused[0]!, /There is no instance nope/);
    assertRefused(refused[1]!, /recordz.*Did you mean records/);
    assertRefused(refused[2]!, /concurrentRequests.*Must be greater or equal than 1/);
    for (const text of ['records', 'records=-1', 'records=1.5', 'records=5GB', '=5'])
      assertRefused(await run('quota', 'acme', text), /A quota is NAME=NUMBER/, 64);
    await says([], '');
  });

  test('usage shows what one instance has used, or those that have used most', async (t) => {
    const data = temporaryFolder(t);
    const run = commandsOf(data);
    await run('create', 'acme');
    const opened = await openDataDirectory(readConfig({ data, 'log-level': 'error' }, {}), {});
    const id = opened.directory.findBySlug('acme')?.id ?? '';
    await addUsage(
      opened.home.control,
      new Map([[id, { requests: 2, sentBytes: 50, dataBytes: 8_192 }]]),
      Date.now(),
    );
    await opened.stop();
    const usage = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await run('usage', ...args);
      assert.deepEqual([code, stderr], [0, '']);
      return stdout;
    };
    const today = new Date().toISOString().slice(0, 10);
    const counts = '2\t0\t0\t0\t50\t0\t\t8192\t\t\t\n';
    assert.equal(await usage('acme'), `${today} 00:00\t${counts}`);
    assert.match(await usage('acme', '--step', 'hour'), /:00\t2\t0\t/);
    assert.equal(await usage('--top', '5'), `acme\t${counts}`);
    // An array, of this shape.
    const [item] = JSON.parse(await usage(id, '--json', '--from', today)) as [{ requests: number }];
    assert.equal(item.requests, 2);
    const none = await run('usage', 'acme', '--to', '2020-01-01T10:30');
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'Nothing was used in that time.\n']);
    assertRefused(await run('usage', 'nope'), /There is no instance nope/);
    for (const args of [[], ['default', '--top', '1'], ['default', '--step', 'week']])
      assert.equal((await run('usage', ...args)).code, 64);
  });

  test('changes that cannot be made are refused', async (t) => {
    const run = commandsOf(temporaryFolder(t));
    await run('create', 'acme', '--host', 'acme.example');
    await run('create', 'beta');
    await run('create', 'gone');
    await run('delete', 'gone', '--yes');
    await run('create', 'gone');
    const cases: readonly (readonly [RegExp, ...string[]])[] = [
      [/There is no instance nope/, 'update', 'nope', '--slug', 'other'],
      [/There is no instance nope/, 'update', 'nope', '--host', 'none'],
      [/There is no instance nope/, 'label', 'nope', 'a=b'],
      [/There is no instance nope/, 'suspend', 'nope'],
      [/There is no instance nope/, 'resume', 'nope'],
      [/There is no instance nope/, 'delete', 'nope', '--yes'],
      [/The instance beta is not deleted/, 'restore', 'beta'],
      [/The instance gone is not deleted/, 'restore', 'gone'],
      [/The slug acme belongs to another instance/, 'update', 'beta', '--slug', 'acme'],
      [/A slug has 2 to 40 characters/, 'update', 'beta', '--slug', 'B'],
      [/The host acme\.example is bound to another instance/, 'update', 'beta', '--host', 'acme.example'],
      [/is not a host name/, 'update', 'beta', '--host', 'a b'],
      [/The instance default cannot be renamed/, 'update', 'default', '--slug', 'other'],
      [/The instance default cannot be deleted/, 'delete', 'default', '--yes'],
      [/The name of a label has 1 to 64 characters/, 'label', 'beta', 'a b=c'],
      [/The value of a label has at most 255 characters/, 'label', 'beta', `a=${'x'.repeat(256)}`],
      [
        /An instance has at most 64 labels/,
        'label',
        'beta',
        ...Array.from({ length: 65 }, (_, at) => `a${at}=b`),
      ],
    ];
    const ended = await Promise.all(cases.map(([, ...args]) => run(...args)));
    for (const [index, [says]] of cases.entries()) assertRefused(ended[index]!, says);
    assertRefused(await run('label', 'beta', 'plan'), /A label is NAME=VALUE, not "plan"/, 64);
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

function assertRefused({ code, stdout, stderr }: CommandResult, says: RegExp, refusedCode = 65): void {
  assert.match(stderr, /^chancery: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.deepEqual({ code, stdout }, { code: refusedCode, stdout: '' });
}
