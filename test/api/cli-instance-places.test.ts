// Both engines: commands beside a server, on its data or by its operator API.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { localRun, type Run } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Runs `instance …`, fails unless it succeeds, and returns its standard output. */
type Instance = (...args: readonly string[]) => Promise<string>;

interface Stage {
  readonly service: TestService;
  readonly run: Run;
  readonly instance: Instance;
}

type Place = (service: TestService) => Promise<Run>;

const byKey: Place = async (service) => {
  const { key } = await makeOperatorKey(service);
  return (args, options) => runInProcess([...args, '--url', service.url, '--token', key], options);
};

for (const [name, place] of [
  ['a service, by an operator key', byKey],
  ['data of this machine', (service: TestService): Promise<Run> => localRun(service.data)],
] as const)
  describe(`instance, on ${name}`, () => {
    declareManagement(place);
    declareWork(place);
  });

async function startStage(t: TestContext, place: Place): Promise<Stage> {
  const service = await startService(t);
  const run = await place(service);
  const instance: Instance = async (...args) => {
    const { code, stdout, stderr } = await run(['instance', ...args]);
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  return { service, run, instance };
}

/** The status of an instance's health, once the server has noticed. */
function isAnswered(service: TestService, slug: string, status: number): Promise<unknown> {
  return eventually(
    `${slug} answers ${status}`,
    async () => (await service.request(`/i/${slug}/api/health`)).status === status,
  );
}

function declareManagement(place: Place): void {
  test('create makes one with all that a file names, and prints the secrets of its endpoints', async (t) => {
    const { service, run, instance } = await startStage(t, place);
    const members = {
      labels: { plan: 'pro' },
      quotas: { records: 10 },
      collections: [{ name: 'posts', type: 'base', fields: [{ name: 'title', type: 'text' }] }],
      endpoints: [{ url: 'https://hooks.example.com/hook', events: ['record.create'] }],
    };
    const file = join(temporaryFolder(t), 'acme.json');
    writeFileSync(file, JSON.stringify(members));
    const create = ['instance', 'create', 'acme', '--from', file];
    const superuser = ['--superuser', 'ada@acme.example', '--password-stdin'];
    const { code, stdout, stderr } = await run([...create, ...superuser], { input: 'correct horse\n' });
    assert.deepEqual([code, stderr], [0, 'The secrets of its endpoints are shown only once:\n']);
    assert.match(stdout, /^Instance acme created with the id \w{15}\.\nhttps:\S+hook\twhsec_\S+\n$/);
    await isAnswered(service, 'acme', 200);
    const signedIn = await service.request('/i/acme/api/collections/_superusers/auth-with-password', {
      method: 'POST',
      body: { identity: 'ada@acme.example', password: 'correct horse' },
    });
    assert.equal(signedIn.status, 200, signedIn.text);
    assert.match(await instance('show', 'acme'), /^labels\tplan=pro$[^]*^quotas\trecords=10$/m);
    assert.match(await instance('create', 'beta', '--template', 'acme'), /created/);
    const json = JSON.parse(await instance('list', '--json', '--filter', "labels.plan = 'pro'"));
    assert.deepEqual([json.length, json[0].slug], [1, 'acme']);

    const refused = await run([...create, ...superuser.slice(0, 2)]);
    assert.deepEqual([refused.code, /belong together/.test(refused.stderr)], [64, true], refused.stderr);
    const both = await run([...create.slice(0, -1), '-', ...superuser], { input: '{}' });
    assert.deepEqual([both.code, /not both/.test(both.stderr)], [64, true], both.stderr);
    const text = await run([...create.slice(0, -1), '-'], { input: 'slug' });
    assert.deepEqual([text.code, text.stderr], [65, 'chancery: Standard input is not a JSON object.\n']);
    const wrong = await run([...create.slice(0, -1), '-'], { input: '{"labels":{"plan":1},"wares":2}' });
    assert.equal(wrong.code, 65);
    for (const part of ['labels', 'wares']) assert.ok(wrong.stderr.includes(part), wrong.stderr);
  });

  test('pages of a list follow one another, and a terminal is told of more', async (t) => {
    const { run, instance } = await startStage(t, place);
    for (const slug of ['aa', 'bb', 'cc']) await instance('create', slug);
    const list = ['instance', 'list', '--sort', 'slug', '--limit', '2'];
    const first = await run(list, { columns: 200, environment: { NO_COLOR: '1' } });
    assert.match(first.stdout, /^id +slug +state .*\n\w{15} +aa .*\n\w{15} +bb .*\n$/);
    assert.equal(first.stderr, 'More: --page 2\n');
    const second = await run([...list, '--page', '2']);
    assert.deepEqual(
      second.stdout.split('\n').map((line) => line.split('\t')[1]),
      ['cc', 'default', undefined],
    );
    assert.equal(second.stderr, '');
  });

  test('delete asks on a terminal for the slug, and changes nothing for another answer', async (t) => {
    const { run, instance } = await startStage(t, place);
    await instance('create', 'acme');
    const refused = await run(['instance', 'delete', 'acme'], { columns: 80, input: 'beta\n' });
    assert.equal(refused.code, 65);
    assert.match(refused.stderr, /Type acme to confirm: .*nothing was deleted\.\n$/s);
    assert.match(await instance('show', 'acme'), /^state\tactive$/m);
    const sure = await run(['instance', 'delete', 'acme'], { columns: 80, input: 'acme\n' });
    assert.equal(sure.code, 0, sure.stderr);
    assert.match(await instance('show', 'acme'), /^state\tdeleted$/m);
    const deleted = JSON.parse(await instance('restore', 'acme', '--json'));
    assert.deepEqual([deleted.slug, deleted.state], ['acme', 'active']);
  });
}

function declareWork(place: Place): void {
  test('a clone and a backup are there when the command ends', async (t) => {
    const { service, run, instance } = await startStage(t, place);
    await instance('create', 'acme');
    assert.match(
      await instance('clone', 'acme', 'acme-copy'),
      /^Instance acme-copy cloned from acme, with the id \w{15}\. Its endpoints are paused\.\n$/,
    );
    await isAnswered(service, 'acme-copy', 200);
    const same = await run(['instance', 'clone', 'acme', 'acme-copy']);
    assert.deepEqual([same.code, /belongs to another instance/.test(same.stderr)], [65, true], same.stderr);
    const none = await run(['instance', 'clone', 'nope', 'other']);
    assert.deepEqual([none.code, none.stderr], [65, 'chancery: There is no instance nope.\n']);

    assert.match(await instance('backups', 'acme'), /^acme\t\t/);
    assert.match(await instance('backup', 'acme'), /^Backup \S*acme\S* of acme stored\.\n$/);
    assert.match(await instance('backups', 'acme'), /^acme\t20\d\d-\d\d-\d\d /);
    assert.equal((await instance('backups')).split('\n').length, 4);
    assert.equal(JSON.parse(await instance('backups', 'acme', '--json'))[0].lastBackup.state, 'done');
  });

  test('a key and a sign-in link open the instance', async (t) => {
    const { service, run, instance } = await startStage(t, place);
    const superuser = ['--superuser', 'ada@acme.example', '--password-stdin'];
    await run(['instance', 'create', 'acme', ...superuser], { input: 'correct horse' });
    await isAnswered(service, 'acme', 200);
    const token = (await instance('key', 'acme', 'our app', '--scopes', 'records:read')).trim();
    const list = await service.request('/i/acme/api/collections/users/records', { token });
    assert.equal(list.status, 200, list.text);
    assert.match(await instance('signin', 'acme'), /^http\S+\/i\/acme\/_\/link#\S+\n$/);
    const stranger = await run(['instance', 'signin', 'acme', '--email', 'eve@acme.example']);
    assert.deepEqual([stranger.code, stranger.stdout], [65, '']);
  });

  test('wrong arguments change nothing', async (t) => {
    const { run, instance } = await startStage(t, place);
    const before = await instance('list', '--json', '--all');
    for (const [code, ...args] of [
      [64, 'list', '--limit', '0'],
      [64, 'list', '--limit', 'all'],
      [64, 'update', 'default'],
      [64, 'clone', 'default'],
      [65, 'list', '--filter', 'wares ='],
      [65, 'list', '--sort', 'wares'],
      [65, 'show', '../keys/current'],
      [65, 'show', 'a b/\u0000\u001B[2J'],
      [65, 'clone', 'default', 'Ä'],
      [65, 'clone', 'default', 'default'],
      [65, 'key', 'default', 'x', '--scopes', 'wares'],
      [64, 'usage', 'default', '--step', 'year'],
    ] as const) {
      const ended = await run(['instance', ...args]);
      assert.deepEqual([ended.code, ended.stdout], [code, ''], `${args.join(' ')}: ${ended.stderr}`);
      assert.match(ended.stderr, /^chancery: \P{Cc}+\n$/u, args.join(' '));
    }
    assert.equal(await instance('list', '--json', '--all'), before);
  });
}

test('a service without operator keys, and tokens that are none, are refused with what to do', async (t) => {
  const service = await startService(t);
  const list = ['instance', 'list', '--url', service.url];
  const off = await runInProcess([...list, '--token', 'co_x']);
  assert.equal(off.code, 77);
  assert.match(off.stderr, /operator API .* is off: .*chancery operator key create/);
  const { key } = await makeOperatorKey(service, ['usage:read']);
  for (const token of [[], ['--token', 'co_x'], ['--token', service.superuser.token]]) {
    const ended = await runInProcess([...list, ...token]);
    assert.equal(ended.code, 77, ended.stderr);
    assert.match(ended.stderr, /operator key/);
  }
  const narrow = await runInProcess([...list, '--token', key]);
  assert.equal(narrow.code, 77);
  assert.match(narrow.stderr, /instances:read/);
  const gone = await runInProcess(['instance', 'list', '--url', 'http://127.0.0.1:9', '--token', key]);
  assert.deepEqual([gone.code, gone.stdout], [69, '']);
});
