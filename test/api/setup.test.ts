import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueSetupToken, setupLimits } from '../../src/auth/set-up.ts';
import { deleteSuperuser, upsertSuperuser } from '../../src/auth/superuser.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { FaultyDatabase } from '../support/faulty-database.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const account = { email: 'first@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
const refusal = {
  data: {},
  message: 'The setup token is not valid, has expired or was used.',
  status: 403,
};

/** An instance without a superuser, which that of the tests is not. */
async function emptied(service: TestService): Promise<void> {
  await service.withInstance('default', ({ database }) =>
    database.write((tx) => tx.run(sql`DELETE FROM ${tx.names.collectionTable('_superusers')}`)),
  );
}

async function issue(service: TestService, slug = 'default'): Promise<string> {
  const token = await service.withInstance(slug, issueSetupToken);
  assert.ok(token);
  return token;
}

function setUp(service: TestService, body: object, prefix = ''): Promise<TestAnswer> {
  return service.request(`${prefix}/api/setup`, { method: 'POST', body });
}

async function signIn(service: TestService, identity: string): Promise<number> {
  const body = { identity, password: account.password };
  const path = '/api/collections/_superusers/auth-with-password';
  return (await service.request(path, { method: 'POST', body })).status;
}

async function tokensOf(service: TestService): Promise<readonly unknown[]> {
  return service.withInstance('default', ({ database }) =>
    database.all(sql`SELECT * FROM ${database.names.table('$setup_token')}`),
  );
}

test('a token makes the first superuser, once, and is kept as a digest', async (t) => {
  const service = await startService(t);
  await emptied(service);
  const [token, other] = [await issue(service), await issue(service)];
  const rows = JSON.stringify(await tokensOf(service), (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  assert.ok(!rows.includes(token) && !rows.includes(other));
  const made = await setUp(service, { token, ...account });
  assert.equal(made.status, 204, made.text);
  assert.equal(await signIn(service, account.email), 200);
  assert.deepEqual(await tokensOf(service), []);
  for (const used of [token, other]) {
    const again = await setUp(service, { token: used, ...account, email: 'second@example.com' });
    assert.deepEqual(again.json, refusal);
  }
  assert.equal(await signIn(service, 'second@example.com'), 400);
});

test('a token that is wrong, too old or without use is refused alike, whatever comes with it', async (t) => {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock } });
  assert.equal(await service.withInstance('default', issueSetupToken), undefined, 'there is a superuser');
  await emptied(service);
  const token = await issue(service);
  const bodies = [
    {},
    account,
    { token: '', ...account },
    { token: 1, ...account },
    { token: `${token}x`, ...account },
    { token: `${token}x` },
    { token: [token], ...account },
  ];
  for (const body of bodies) assert.deepEqual((await setUp(service, body)).json, refusal);
  clock.move(setupLimits.tokenMs);
  assert.deepEqual((await setUp(service, { token, ...account })).json, refusal);
  const fresh = await issue(service);
  clock.move(setupLimits.tokenMs - 1);
  await service.withInstance('default', (instance) =>
    upsertSuperuser(instance, 'x@example.com', 'long enough'),
  );
  assert.deepEqual((await setUp(service, { token: fresh, ...account })).json, refusal);
});

test('to be refused costs the service no hash and no transaction', async (t) => {
  const databases: FaultyDatabase[] = [];
  const wrapDatabase = (database: Database): Database => {
    const wrapped = new FaultyDatabase(database);
    databases.push(wrapped);
    return wrapped;
  };
  const service = await startService(t, { parts: { wrapDatabase } });
  const count = (): number =>
    databases.flatMap(({ options }) => options).filter(({ isExclusive }) => isExclusive === true).length;
  const before = count();
  assert.equal((await setUp(service, { token: 'wrong', ...account })).status, 403);
  assert.equal(count(), before);
});

test('what is wrong with the account is told to who has a token, which stays good', async (t) => {
  const service = await startService(t);
  await emptied(service);
  const token = await issue(service);
  const cases: readonly (readonly [object, readonly string[]])[] = [
    [{}, ['password', 'passwordConfirm']],
    [{ ...account, passwordConfirm: 'another horse' }, ['passwordConfirm']],
    [{ ...account, password: 'short', passwordConfirm: 'short' }, ['password']],
    [{ ...account, email: 'nobody' }, ['email']],
  ];
  for (const [body, members] of cases) {
    const answer = await setUp(service, { token, ...body });
    assert.equal(answer.status, 400, answer.text);
    for (const member of members) assert.ok(member in answer.json.data, answer.text);
  }
  assert.equal((await setUp(service, { token, ...account, id: 'chosen', verified: false })).status, 204);
  assert.equal(await signIn(service, account.email), 200);
});

test('of many who come at once one is the first', async (t) => {
  const service = await startService(t);
  await emptied(service);
  const tokens = [await issue(service), await issue(service), await issue(service)];
  const statuses = await Promise.all(
    Array.from({ length: 12 }, async (_, at) => {
      const body = { ...account, token: tokens[at % tokens.length], email: `number${at}@example.com` };
      return (await setUp(service, body)).status;
    }),
  );
  assert.deepEqual(
    statuses.toSorted((one, other) => one - other),
    [204, ...Array.from({ length: 11 }, () => 403)],
  );
});

test('a token of one instance sets up no other', async (t) => {
  const service = await startService(t);
  await emptied(service);
  await service.app.data.directory.create('other', null);
  const token = await issue(service);
  assert.deepEqual((await setUp(service, { token, ...account }, '/i/other')).json, refusal);
  assert.equal((await setUp(service, { token, ...account }, '/i/default')).status, 204);
});

test('a server that is started again and again keeps so many tokens and no more, the latest among them', async (t) => {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock } });
  await emptied(service);
  let token = '';
  for (let times = 0; times < setupLimits.tokensMax + 5; times += 1) {
    clock.move(1);
    token = await issue(service);
  }
  assert.equal((await tokensOf(service)).length, setupLimits.tokensMax);
  clock.move(setupLimits.tokenMs - 1);
  assert.equal((await setUp(service, { token, ...account })).status, 204);
});

test('the log says who set the instance up, and who tried to', async (t) => {
  const service = await startService(t);
  const root = service.superuser.email;
  await emptied(service);
  const token = await issue(service);
  assert.equal((await setUp(service, { token: 'canary', ...account })).status, 403);
  assert.equal((await setUp(service, { token, ...account })).status, 204);
  await service.stop();
  const again = await startService(t, { data: service.data });
  const { json } = await again.request("/api/audit?filter=(action~'setup'||actor='superuser')", {
    token: true,
  });
  const entries: readonly Readonly<Record<string, unknown>>[] = json.items;
  const refused = entries.find(({ action }) => action === 'setup');
  const made = entries.find(({ action }) => action === 'superuser.create');
  assert.deepEqual([refused?.['outcome'], refused?.['actor']], ['refused', 'guest']);
  assert.deepEqual([made?.['actorId'], made?.['address']], [made?.['target'], '127.0.0.1']);
  assert.ok(!JSON.stringify(json).includes('canary'));
  await again.withInstance('default', (instance) => deleteSuperuser(instance, root));
});
