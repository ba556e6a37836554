import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { runMain, type Ended, type Environment } from '../support/main-process.ts';
import { ask, openTestPostgres, startTestPostgres } from '../support/postgres.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { NodeGroup, superuser, testKey } from './node-group.ts';
import { startOnPostgres } from './start-on-postgres.ts';

const environment = { CHANCERY_KEY: testKey };

test('running nodes notice the superusers and instances that the command line makes', async (t) => {
  const group = await NodeGroup.open(t);
  const nodes = [await group.start(), await group.start()];
  const place = ['--postgres', group.postgres];
  const { identity, password } = superuser;
  const made = await runInProcess(['instance', 'create', 'shop', ...place], { environment });
  assert.deepEqual([made.code, made.stderr], [0, '']);
  const upsert = ['superuser', 'upsert', identity, password, '--instance', 'shop', ...place];
  const added = await runInProcess(upsert, { environment });
  assert.deepEqual([added.code, added.stderr], [0, '']);
  for (const node of nodes) {
    const path = 'POST /i/shop/api/collections/_superusers/auth-with-password';
    await eventually('a token', async () => (await group.ask(node, path, superuser)).status === 200);
  }
  await group.divided(nodes[0]!, 2);
  const printed = await runInProcess(['nodes', ...place], { environment });
  assert.equal(printed.code, 0);
  assert.match(printed.stdout, /^([a-z0-9]{15} .* seen \d+(\.\d)? s ago {2}128 of 256 shards\n){2}$/);
});

test('a node tells how to make the first superuser by what it was given itself, without the URL', async (t) => {
  const url = await (await openTestPostgres()).createDatabase();
  const node = startOnPostgres(t, url);
  const { msg } = await node.waitForLog(/There is no superuser yet/);
  const command =
    /npx chancery (superuser upsert EMAIL PASSWORD) \(with .*CHANCERY_POSTGRES and CHANCERY_KEY/.exec(
      String(msg),
    )?.[1];
  assert.doesNotMatch(String(msg), /--data|postgres:/);
  const args = (command ?? '')
    .replace('EMAIL', 'a@example.com')
    .replace('PASSWORD', 'correct-horse')
    .split(' ');
  const made = await runInProcess(args, { environment: { ...environment, CHANCERY_POSTGRES: url } });
  assert.deepEqual(made, { code: 0, stdout: 'Superuser a@example.com created.\n', stderr: '' });
});

/** `serve` fails to start: one line that says `message`, and nothing secret. */
function assertRefused({ code, stdout, stderr }: Ended, message: RegExp, expected = 69): void {
  assert.equal(code, expected, stdout);
  assert.match(stderr, message);
  assert.match(stderr, /^chancery: [^\n]+\n$/);
  assert.doesNotMatch(stdout + stderr, /s3cret/);
}

function serve(t: TestContext, postgres: string, variables: Environment = environment): Promise<Ended> {
  const flags = ['--port', '0', '--postgres', postgres];
  return runMain(t, ['serve', ...flags], variables);
}

test('a node that cannot start says why in one line, without the password', async (t) => {
  const url = await (await openTestPostgres()).createDatabase();
  const { host, pathname } = new URL(url);
  assertRefused(await serve(t, 'postgres://me:s3cret@a b/x'), /postgres/i);
  assertRefused(await serve(t, 'mysql://me:s3cret@127.0.0.1/x'), /postgres/i, 64);
  assertRefused(await serve(t, 'postgres://me:s3cret@127.0.0.1:1/x'), /127\.0\.0\.1:1\b.*ECONNREFUSED/);
  assertRefused(await serve(t, `postgres://nobody_such:s3cret@${host}${pathname}`), /nobody_such/);
  assertRefused(await serve(t, `postgres://postgres:s3cret@${host}/not_there`), /not_there/);
  assertRefused(await serve(t, url, {}), /CHANCERY_KEY/);
  const list = ['superuser', 'list', '--postgres', url];
  assert.equal((await runInProcess(list, { environment })).code, 0);
  assertRefused(await serve(t, url, { CHANCERY_KEY: testKey.replace('00', 'ff') }), /key/i);
});

test('a wrong password is told, and not shown', async (t) => {
  const rules = 'host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n';
  const server = await startTestPostgres();
  t.after(() => server.stop());
  const [row] = await ask(server.url, 'SHOW hba_file');
  writeFileSync(String(row?.['hba_file']), rules);
  await ask(server.url, "CREATE ROLE clerk LOGIN PASSWORD 'right'; SELECT pg_reload_conf()");
  const url = await server.createDatabase();
  const { host, pathname } = new URL(url);
  assertRefused(await serve(t, `postgres://clerk:s3cret@${host}${pathname}`), /password.*clerk/);
});
