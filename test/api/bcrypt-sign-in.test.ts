// Both engines: a hash is replaced in a transaction.
import assert from 'node:assert/strict';
import { hashSync } from 'bcryptjs';
import { test } from 'node:test';
import { PasswordHasher } from '../../src/secrets/password.ts';
import { readSecret, writeSecret } from '../../src/secrets/secrets.ts';
import { Accounts } from '../support/accounts.ts';

test('an account with a bcrypt hash signs in, after which it has one of argon2id', async (t) => {
  const accounts = await Accounts.start(t, { parts: { passwords: new PasswordHasher() } });
  const { id, email, token } = await accounts.account('ann');
  const key = { collection: '_pb_users_auth_', record: id, name: 'password' };
  const stored = (): Promise<string | undefined> =>
    accounts.service.withInstance('default', ({ database }) => readSecret(database, key));
  const old = hashSync('battery staple', 4);
  await accounts.service.withInstance('default', ({ database }) =>
    database.write((tx) => writeSecret(tx, key, old)),
  );
  assert.equal((await accounts.signIn(email, 'battery stapler')).status, 400);
  assert.equal(await stored(), old);
  const first = await accounts.signIn(email, 'battery staple');
  assert.equal(first.status, 200, first.text);
  assert.match((await stored()) ?? '', /^\$argon2id\$/);
  assert.equal((await accounts.signIn(email, 'battery staple')).status, 200);
  assert.equal((await accounts.signIn(email, 'battery stapler')).status, 400);
  assert.ok(await accounts.isIn(token), 'hashing again ends no session');
  assert.deepEqual(
    accounts.service.log.filter(({ level }) => level === 'error'),
    [],
  );
});
