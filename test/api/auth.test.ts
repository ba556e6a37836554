// Both engines: sessions end in a transaction.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { findTokenKey } from '../../src/auth/tokens.ts';
import { deleteSuperuser, upsertSuperuser } from '../../src/auth/superuser.ts';
import { PasswordHasher } from '../../src/secrets/password.ts';
import { signToken } from '../../src/secrets/token.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const signIn = '/api/collections/_superusers/auth-with-password';
const refresh = '/api/collections/_superusers/auth-refresh';
const superusersId = 'pbc_3142635823';
const daySeconds = 86_400;

function post(service: TestService, path: string, body?: unknown): Promise<TestAnswer> {
  return service.request(path, { method: 'POST', ...(body === undefined ? {} : { body }) });
}

function renew(service: TestService, token: string): Promise<TestAnswer> {
  return service.request(refresh, { method: 'POST', token });
}

/** Whether the service takes the token for a superuser's; it then does so on every kind of route. */
async function isTaken(service: TestService, token: string): Promise<boolean> {
  const statuses = [
    await service.request('/api/collections', { token }),
    await renew(service, token),
    await service.request('/api/records/_superusers', { token }),
  ].map(({ status }) => status);
  const health = await service.request('/api/health', { token });
  assert.equal(health.status, 200);
  const isSuperuser = 'engine' in health.json.data;
  assert.deepEqual(statuses, isSuperuser ? [200, 200, 200] : [401, 401, 403], token.slice(0, 20));
  return isSuperuser;
}

interface Signer {
  readonly id: string;
  readonly key: string;
  readonly sign: (claims: object) => string;
}

/** Signs what the service itself would sign, with any claims. */
async function signerOf(service: TestService): Promise<Signer> {
  const { json } = await renew(service, service.superuser.token);
  const { id } = json.record;
  const key = await service.withInstance('default', async (instance) =>
    findTokenKey(instance, instance.collections.get('_superusers'), { record: id, kind: 'authToken' }),
  );
  assert.ok(key);
  return {
    id,
    key,
    sign: (claims) =>
      signToken({ id, collectionId: superusersId, type: 'auth', refreshable: true, ...claims }, key),
  };
}

function withClock(t: TestContext): Promise<{ readonly service: TestService; readonly clock: MovableClock }> {
  const clock = new MovableClock();
  return startService(t, { parts: { clock } }).then((service) => ({ service, clock }));
}

test('a sign-in answers the record and a token that is good as it is and after Bearer in any case and with any room', async (t) => {
  const service = await startService(t);
  const { email: identity, password } = service.superuser;
  const answer = await post(service, signIn, { identity, password });
  assert.equal(answer.status, 200);
  assert.deepEqual(Object.keys(answer.json), ['record', 'token']);
  assert.deepEqual(Object.keys(answer.json.record), [
    'collectionId',
    'collectionName',
    'id',
    'email',
    'emailVisibility',
    'verified',
    'created',
    'updated',
  ]);
  assert.equal(answer.json.record.email, identity);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const token: string = answer.json.token;
  for (const word of ['', 'Bearer ', 'bearer ', 'BEARER ', 'Bearer  ', 'Bearer\t', 'bearer \t \t '])
    assert.equal(await isTaken(service, word + token), true, JSON.stringify(word));
  for (const bad of [
    `Bearer Bearer ${token}`,
    `Bearer${token}`,
    `Basic ${token}`,
    `Token ${token}`,
    'Bearer',
    '',
    token.slice(1),
    ` ${token}x`,
  ])
    assert.equal(await isTaken(service, bad), false, bad.slice(0, 20));
  assert.equal(
    (await post(service, `${signIn}?fields=token`, { identity, password })).text.startsWith('{"token":"'),
    true,
  );
  assert.equal((await service.request(`/api/collections?token=${token}`)).status, 401);
});

test('A-15 A-28 whatever is wrong with identity and password, the answer is the same; what is no credential is told by field', async (t) => {
  const service = await startService(t);
  const { email, password } = service.superuser;
  const wrong = '{"data":{},"message":"Failed to authenticate.","status":400}';
  for (const [identity, guess] of [
    [email, 'wrong horse'],
    ['nobody@example.com', password],
    ["' OR 1=1 --", password],
    [email.replace('@', ' @'), password],
    [email.toUpperCase(), `${password} `],
    [email, `${password} `],
    [email, password.toUpperCase()],
    ['%', password],
    [email, '$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA'],
    [email, 'é'.repeat(256)],
  ]) {
    const answer = await post(service, signIn, { identity, password: guess });
    assert.deepEqual([answer.status, answer.text], [400, wrong], String(identity));
  }
  const required = { code: 'validation_required', message: 'Cannot be blank.' };
  const long = (max: number): object => ({
    code: 'validation_length_out_of_range',
    message: `The length must be between 1 and ${max}.`,
    params: { min: 1, max },
  });
  const invalid: readonly (readonly [unknown, object])[] = [
    [undefined, { identity: required, password: required }],
    [{}, { identity: required, password: required }],
    [
      { identity: null, password: '' },
      { identity: required, password: required },
    ],
    [
      '{"__proto__":{"identity":"root@example.com","password":"correct horse"}}',
      { identity: required, password: required },
    ],
    [
      { identity: 'a'.repeat(256), password: 'a'.repeat(513) },
      { identity: long(255), password: long(512) },
    ],
    [{ identity: email, password: 'é'.repeat(257) }, { password: long(512) }],
    [
      { identity: email, password, identityField: 'id' },
      { identityField: { code: 'validation_in_invalid', message: 'Must be a valid value.' } },
    ],
  ];
  for (const [body, data] of invalid) {
    const answer = await post(service, signIn, body);
    assert.deepEqual(
      [answer.status, answer.json],
      [400, { data, message: 'An error occurred while validating the submitted data.', status: 400 }],
    );
  }
  const noTexts = [
    { identity: email, password: 5 },
    { identity: [email], password: { $ne: '' } },
    { identity: email, password, identityField: ['email'] },
  ];
  for (const body of noTexts) {
    const answer = await post(service, signIn, body);
    const message = 'An error occurred while loading the submitted data.';
    assert.deepEqual([answer.status, answer.json], [400, { data: {}, message, status: 400 }]);
  }
  for (const identityField of ['email', '', null])
    assert.equal((await post(service, signIn, { identity: email, password, identityField })).status, 200);
  await service.request('/api/collections', { method: 'POST', token: true, body: { name: 'posts' } });
  for (const name of ['posts', 'nope', '__proto__', 'constructor'])
    for (const action of ['auth-with-password', 'auth-refresh']) {
      const answer = await post(service, `/api/collections/${name}/${action}`, { identity: email, password });
      const expected =
        name !== 'posts'
          ? [404, 'Missing or invalid collection context.']
          : action === 'auth-refresh'
            ? [401, 'The request requires valid record authorization token.']
            : [404, 'Missing or invalid auth collection context.'];
      assert.deepEqual([answer.status, answer.json.message], expected, `${name} ${action}`);
    }
  for (const action of ['auth-refresh', 'request-email-change']) {
    const answer = await service.request(`/api/collections/posts/${action}`, { method: 'POST', token: true });
    assert.deepEqual(
      [answer.status, answer.json.message],
      [403, 'The request requires auth record from posts collection.'],
    );
  }
});

test('A-30 thirty sign-ins at once are all answered', async (t) => {
  const service = await startService(t, { parts: { passwords: new PasswordHasher() } });
  const { email: identity } = service.superuser;
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => post(service, signIn, { identity, password: 'x'.repeat(512) })),
  );
  for (const { status, headers } of answers)
    assert.ok(status === 400 || (status === 503 && headers.get('retry-after') !== null), String(status));
});

test('A-05 a token is good until its second, and a refresh gives one that is good for another day', async (t) => {
  const { service, clock } = await withClock(t);
  const { token } = service.superuser;
  clock.move((daySeconds - 1) * 1_000);
  assert.equal(await isTaken(service, token), true);
  const { json: refreshed } = await renew(service, token);
  clock.move(1_000);
  assert.equal(await isTaken(service, token), false);
  assert.equal(await isTaken(service, refreshed.token), true);
  clock.move((daySeconds - 1) * 1_000);
  assert.equal(await isTaken(service, refreshed.token), false);
});

test('A-01 A-03 A-05 A-06 A-11 a token that differs in anything from what was signed for this use is a guest', async (t) => {
  const { service, clock } = await withClock(t);
  const { sign, key, id } = await signerOf(service);
  const exp = Math.floor(clock.now() / 1_000) + 60;
  assert.equal(await isTaken(service, sign({ exp })), true);
  const claims = [
    {},
    { exp: exp - 60 },
    { exp: exp - 61 },
    { exp: null },
    { exp: String(exp) },
    { exp: 1e30 },
    { exp: -1 },
    { exp: true },
    { exp, type: 'file' },
    { exp, type: 'verification' },
    { exp, type: 'passwordReset' },
    { exp, type: null },
    { exp, type: ['auth'] },
    { exp, id: 'a'.repeat(15) },
    { exp, id: null },
    { exp, id: [id] },
    { exp, collectionId: 'other' },
    { exp, collectionId: '_superusers' },
    { exp, collectionId: null },
  ];
  for (const claim of claims) assert.equal(await isTaken(service, sign(claim)), false, JSON.stringify(claim));
  const [header = '', payload = '', signature = ''] = sign({ exp }).split('.');
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = (head: object): string => {
    const text = `${part(head)}.${payload}`;
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
  };
  const forged = [
    `${part({ alg: 'none', typ: 'JWT' })}.${payload}.`,
    `${part({ alg: 'None' })}.${payload}.${signature}`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${header}.${payload}.${signature}.`,
    `${header}.${payload}.${signature}=`,
    `${header}.${payload}.${signature.slice(0, -2)}`,
    `${header}.${part({ id, collectionId: superusersId, type: 'auth', exp: exp + 1 })}.${signature}`,
    `${header}.${payload}.${'A'.repeat(43)}`,
    signed({ alg: 'none' }),
    signed({ alg: 'HS512', typ: 'JWT' }),
    signed({ alg: 'RS256', typ: 'JWT' }),
    signed({ alg: 'HS256', crit: ['exp'] }),
    'a'.repeat(9_000),
    '..',
    '%00',
  ];
  for (const token of forged) assert.equal(await isTaken(service, token), false, token.slice(0, 60));
  // A key that is named is not fetched: ours is known.
  assert.equal(
    await isTaken(service, signed({ alg: 'HS256', kid: '../../etc/passwd', jku: 'http://127.0.0.1:1/' })),
    true,
  );
});

test('a token that is not refreshable comes back from a refresh as it is', async (t) => {
  const { service, clock } = await withClock(t);
  const { sign } = await signerOf(service);
  const token = sign({ exp: Math.floor(clock.now() / 1_000) + 60, refreshable: false });
  for (const header of [token, `Bearer ${token}`])
    assert.equal((await renew(service, header)).json.token, token);
});

test('A-10 a new password ends every session at once, and so does deleting the superuser, made again or not', async (t) => {
  const service = await startService(t);
  const { email, token } = service.superuser;
  await service.withInstance('default', (instance) =>
    upsertSuperuser(instance, 'second@example.com', 'another horse'),
  );
  await service.withInstance('default', (instance) => upsertSuperuser(instance, email, 'a new password'));
  assert.equal(await isTaken(service, token), false);
  assert.equal(
    (await post(service, signIn, { identity: email, password: service.superuser.password })).status,
    400,
  );
  const { json } = await post(service, signIn, { identity: email, password: 'a new password' });
  assert.equal(await isTaken(service, json.token), true);
  await service.withInstance('default', (instance) => deleteSuperuser(instance, email));
  assert.equal(await isTaken(service, json.token), false);
  await service.withInstance('default', (instance) => upsertSuperuser(instance, email, 'a new password'));
  assert.equal(await isTaken(service, json.token), false);
});

test('A-40 on a public route a token of no worth changes nothing', async (t) => {
  const service = await startService(t);
  await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'posts', listRule: '', fields: [{ name: 'secret', type: 'text', hidden: true }] },
  });
  await service.request('/api/records/posts', { method: 'POST', token: true, body: { secret: 'canary' } });
  const guest = await service.request('/api/records/posts');
  for (const token of ['nonsense', `${service.superuser.token}x`, 'Bearer '])
    assert.equal((await service.request('/api/records/posts', { token })).text, guest.text);
  assert.match((await service.request('/api/records/posts', { token: true })).text, /canary/);
});
