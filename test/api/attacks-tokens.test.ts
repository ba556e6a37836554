import assert from 'node:assert/strict';
import { test } from 'node:test';
import { password, Accounts, users } from '../support/accounts.ts';
import { makeKey } from '../support/make-key.ts';
import type { TestAnswer } from '../support/service.ts';

test('A-43 what holds a token or a secret is for no cache', async (t) => {
  const accounts = await Accounts.start(t);
  await accounts.define({ otp: { enabled: true } });
  const otpPath = '/api/collections/users/request-otp';
  const { id, email, token } = await accounts.account('ann');
  const ask = (method: string, path: string, body?: object): Promise<TestAnswer> =>
    accounts.ask(method, path, { token: true, ...(body && { body }) });
  const endpoint = await ask('POST', '/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  const answers: readonly (readonly [what: string, status: number, answer: TestAnswer])[] = [
    ['a sign-in', 200, await accounts.signIn(email)],
    ['a refresh', 200, await accounts.ask('POST', '/api/collections/users/auth-refresh', { token })],
    ['the id of a one-time password', 200, await accounts.ask('POST', otpPath, { body: { email } })],
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

test('A-43 no shared cache keeps an answer to a caller with a token or a key, or gives it to anybody else', async (t) => {
  const accounts = await Accounts.start(t);
  const { service } = accounts;
  const { id, token } = await accounts.account('ann');
  const { key } = await makeKey(service, ['records:read']);
  const lines: readonly (readonly [line: string, status: number])[] = [
    [`GET ${users}/${id}`, 200],
    [`HEAD ${users}/${id}`, 200],
    [`GET ${users}`, 200],
    ['GET /api/openapi.json', 200],
    [`GET ${users}/nobody`, 404],
    ['GET /api/nope', 404],
    ['PUT /api/health', 405],
  ];
  for (const [line, status] of lines) {
    const [method = '', path = ''] = line.split(' ');
    for (const credential of [token, `Bearer ${key}`]) {
      const answer = await accounts.ask(method, path, { token: credential });
      assert.deepEqual([answer.status, cachingOf(answer)], [status, personal], line);
    }
    // An answer to a guest is for guests only.
    assert.equal(cachingOf(await accounts.ask(method, path)).vary, personal.vary, line);
  }
  const invalid = await accounts.ask('GET', users, { token: 'Bearer ck_unknown' });
  assert.deepEqual([invalid.status, cachingOf(invalid)], [401, personal]);
  const path = `${users}/${id}`;
  const { headers } = await service.request(path, { token });
  const known = { 'if-none-match': headers.get('etag') ?? '', origin: 'https://a.example' };
  const unchanged = await service.request(path, { token, headers: known });
  assert.deepEqual([unchanged.status, cachingOf(unchanged)], [304, personal]);
});

const personal = { caching: 'private, no-cache', vary: 'Origin, Authorization' };

function cachingOf({ headers }: TestAnswer): {
  readonly caching: string | null;
  readonly vary: string | null;
} {
  return { caching: headers.get('cache-control'), vary: headers.get('vary') };
}

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
