import assert from 'node:assert/strict';
import { test } from 'node:test';
import { password, Accounts, users } from '../support/accounts.ts';
import type { TestAnswer } from '../support/service.ts';

test('A-43 what holds a token or a secret is for no cache', async (t) => {
  const accounts = await Accounts.start(t);
  const { id, email, token } = await accounts.account('ann');
  const ask = (method: string, path: string, body?: object): Promise<TestAnswer> =>
    accounts.ask(method, path, { token: true, ...(body && { body }) });
  const endpoint = await ask('POST', '/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  const answers: readonly (readonly [what: string, status: number, answer: TestAnswer])[] = [
    ['a sign-in', 200, await accounts.signIn(email)],
    ['a refresh', 200, await accounts.ask('POST', '/api/collections/users/auth-refresh', { token })],
    ['an impersonation', 200, await ask('POST', `/api/collections/users/impersonate/${id}`, {})],
    ['a key', 201, await ask('POST', '/api/keys', { name: 'a', scopes: ['admin'] })],
    ['an endpoint', 201, endpoint],
    ['a secret', 200, await ask('GET', `/api/webhooks/endpoints/${endpoint.json.id}/secret`)],
  ];
  for (const [what, status, answer] of answers) {
    assert.equal(answer.status, status, `${what} ${answer.text}`);
    assert.equal(answer.headers.get('cache-control'), 'no-store', what);
  }
});

test('A-13 a token in the query is nobody, and in no log', async (t) => {
  const accounts = await Accounts.start(t);
  const { id, token } = await accounts.account('ann');
  for (const name of ['token', 'access_token', 'authorization', 'Authorization']) {
    assert.equal((await accounts.ask('GET', `${users}/${id}?${name}=${token}`)).status, 404, name);
    const refreshed = await accounts.ask('POST', `/api/collections/users/auth-refresh?${name}=${token}`);
    assert.equal(refreshed.status, 401, name);
  }
  assert.equal((await accounts.ask('GET', `${users}/${id}`, { token })).status, 200);
  const signature = token.slice(token.lastIndexOf('.') + 1);
  await accounts.ask('GET', `/api/collections?token=${token}`);
  const logs = await accounts.ask('GET', '/api/logs?perPage=1000', { token: true });
  assert.equal(logs.text.includes(signature), false, 'as far as it is written by now');
  assert.equal(JSON.stringify(accounts.service.log).includes(signature), false);
});

test('A-38 a token that is renewed again and again is the same account, and no other kind of token is renewed', async (t) => {
  const accounts = await Accounts.start(t);
  const { id, token } = await accounts.account('ann');
  let current = token;
  for (let count = 0; count < 20; count += 1) {
    const { json } = await accounts.ask('POST', '/api/collections/users/auth-refresh', { token: current });
    assert.equal(json.record.id, id);
    current = json.token;
  }
  assert.equal(await accounts.isIn(token), true);
  const body = { password: 'another horse', passwordConfirm: 'another horse', oldPassword: password };
  assert.equal((await accounts.update(id, body, current)).status, 200);
  for (const old of [token, current]) assert.equal(await accounts.isIn(old), false);
});
