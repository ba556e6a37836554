// Both engines: sign-ins are counted in memory on one and in rows on the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signInLimits } from '../../src/limits/sign-in-guard.ts';
import { PasswordHasher } from '../../src/secrets/password.ts';
import { Accounts } from '../support/accounts.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startService, type TestAnswer } from '../support/service.ts';

test('A-15 A-19 wrong passwords are refused after so many, of accounts that do not exist too, and the owner is not shut out', async (t) => {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock }, flags: { 'trusted-proxies': '127.0.0.1' } });
  const { email, password } = service.superuser;
  const signIn = (
    identity: string,
    given: string,
    more: { from?: string; name?: string } = {},
  ): Promise<TestAnswer> =>
    service.request(`/api/collections/${more.name ?? '_superusers'}/auth-with-password`, {
      method: 'POST',
      headers: { 'x-forwarded-for': more.from ?? '192.0.2.1' },
      body: { identity, password: given },
    });
  const max = signInLimits.accountFromClientMax;
  for (const identity of [email, 'nobody@example.com']) {
    for (let count = 0; count < max; count += 10) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => signIn(identity, 'wrong')));
      for (const { status } of answers) assert.equal(status, 400, `${identity} ${count}`);
    }
    for (const given of ['wrong', password]) {
      const refused = await signIn(identity, given);
      assert.equal(refused.text, '{"data":{},"message":"Too Many Requests.","status":429}');
      assert.equal(refused.headers.get('retry-after'), '300');
    }
  }
  for (const [identity, name] of [
    [email.toUpperCase(), '_superusers'],
    [email, '_SUPERUSERS'],
    [email, 'pbc_3142635823'],
  ] as const)
    assert.equal((await signIn(identity, password, { name })).status, 429, `${identity} ${name}`);
  assert.equal((await signIn(email, password, { from: '203.0.113.7' })).status, 200);
  const spoofed = `203.0.113.7, 192.0.2.1`;
  assert.equal((await signIn(email, password, { from: spoofed })).status, 429);
  clock.move(signInLimits.windowMs - 1);
  assert.equal((await signIn(email, password)).headers.get('retry-after'), '1');
  clock.move(1);
  assert.equal((await signIn(email, password)).status, 200);
});

test('A-15 A-19 an account with two names is guessed no oftener than one, and no spelling tells whether it exists', async (t) => {
  const stage = await Accounts.start(t);
  const { json } = await stage.ask('GET', '/api/collections/users', { token: true });
  await stage.define({
    fields: [...json.fields, { name: 'username', type: 'text' }],
    indexes: [...json.indexes, "CREATE UNIQUE INDEX usernames ON users (username) WHERE username != ''"],
    passwordAuth: { identityFields: ['username', 'email'] },
  });
  const ann = await stage.account('ann', { username: 'ännie' });
  for (let count = 0; count < signInLimits.accountFromClientMax; count += 10) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => stage.signIn('ännie', 'wrong')));
    for (const { status } of answers) assert.equal(status, 400, `${count}`);
  }
  // Under the other name it would be guessed twice as often. The last spelling is no account's, as only the case of ASCII letters is
  // ignored: were it let in, it would tell of the other.
  for (const identity of ['ännie', ann.email, 'ÄNNIE'])
    assert.equal((await stage.signIn(identity)).status, 429, identity);
  assert.equal((await stage.signIn('annika', 'wrong')).status, 400);
});

test('A-30 thirty sign-ins at once with the right password are all let in, again and again', async (t) => {
  const service = await startService(t, { parts: { passwords: new PasswordHasher() } });
  const { email: identity, password } = service.superuser;
  const options = { method: 'POST', body: { identity, password } };
  // In both rounds more than accountFromClientMax: the first must not count.
  assert.ok(2 * 30 > signInLimits.accountFromClientMax);
  for (let round = 0; round < 2; round += 1) {
    const path = '/api/collections/_superusers/auth-with-password';
    const answers = await Promise.all(Array.from({ length: 30 }, () => service.request(path, options)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 200),
    );
  }
});
