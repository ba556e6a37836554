// Both engines: the picture of a new account is placed before the transaction that makes it.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LyingIssuer } from '../support/lying-issuer.ts';
import type { ReceiverMode } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';

const users = '/api/collections/users';
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

function picture(body: string | Uint8Array, type = 'image/png'): ReceiverMode {
  return { kind: 'status', status: 200, headers: { 'content-type': type }, body };
}

interface Stage {
  readonly service: TestService;
  readonly issuer: LyingIssuer;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly signIn: (user: object, createData?: object) => Promise<any>;
}

async function open(t: TestContext, mappedFields: object, more: object = {}): Promise<Stage> {
  const service = await startService(t);
  const issuer = await LyingIssuer.open('shop');
  t.after(() => issuer[Symbol.asyncDispose]());
  const { url } = issuer;
  const provider = {
    name: 'oidc',
    clientId: 'shop',
    clientSecret: 'canary: of fields',
    authURL: `${url}/auth`,
    tokenURL: `${url}/token`,
    userInfoURL: `${url}/user`,
    pkce: false,
  };
  const body = { oauth2: { enabled: true, providers: [provider], mappedFields }, ...more };
  const changed = await service.request(users, { method: 'PATCH', token: true, body });
  assert.equal(changed.status, 200, changed.text);
  const signIn: Stage['signIn'] = async (user, createData = {}) => {
    issuer.user = user;
    const request = { provider: 'oidc', code: 'x', createData };
    const answer = await service.request(`${users}/auth-with-oauth2`, { method: 'POST', body: request });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  return { service, issuer, signIn };
}

function userOf(sub: string, more: object = {}): object {
  return { sub, email: `${sub}@example.com`, email_verified: true, ...more };
}

test('the picture of a new account is downloaded into its file field, once', async (t) => {
  const { service, issuer, signIn } = await open(t, { name: 'name', avatarURL: 'avatar' });
  issuer.modes = { '/ann.png': picture(png) };
  const ann = userOf('ann', { name: 'Ann', picture: `${issuer.url}/ann.png?size=9` });
  const { record, meta } = await signIn(ann);
  assert.match(record.avatar, /^avatar_\w+\.png$/);
  assert.equal(meta.avatarURL, `${issuer.url}/ann.png?size=9`);
  const file = await service.request(`/api/files/users/${record.id}/${record.avatar}`);
  assert.equal(file.status, 200);
  await signIn(ann);
  assert.equal(issuer.paths.filter((path) => path.startsWith('/ann.png')).length, 1);
});

test('a picture that its field refuses, or that cannot be had, is left out', async (t) => {
  const { service, issuer, signIn } = await open(t, { avatarURL: 'avatar' });
  issuer.modes = {
    '/text.png': picture('no picture'),
    '/none': { kind: 'status', status: 404 },
    '/moved': { kind: 'redirect', location: '/ann.png' },
    '/endless': { kind: 'endless body' },
    '/ann.png': picture(png),
  };
  const pictures = ['/text.png', '/none', '/moved', '/endless'].map((path) => issuer.url + path);
  const others = ['http://10.255.255.1/a.png', 'file:///etc/passwd', 'javascript:x', 'none'];
  for (const [index, url] of [...pictures, ...others].entries()) {
    const { record } = await signIn(userOf(`user${index}`, { picture: url }));
    assert.equal(record.avatar, '', url);
  }
  assert.ok(!issuer.paths.includes('/ann.png'));
  const failures = service.log.filter(({ message }) =>
    message.startsWith('The avatar from a sign-in provider'),
  );
  assert.equal(failures.length, 7);
});

test('mapped fields get what the provider says, unless the client sends them or they refuse it', async (t) => {
  const fields = [
    { name: 'name', type: 'text', max: 5 },
    { name: 'handle', type: 'text' },
    { name: 'external', type: 'text' },
    { name: 'picture', type: 'url' },
  ];
  const mapped = { id: 'external', name: 'name', username: 'handle', avatarURL: 'picture' };
  const { service, signIn } = await open(t, mapped, { fields });
  const { json } = await service.request(users, { token: true });
  const index = "CREATE UNIQUE INDEX `idx_handle` ON `users` (`handle`) WHERE `handle` != ''";
  const body = { indexes: [...json.indexes, index] };
  assert.equal((await service.request(users, { method: 'PATCH', token: true, body })).status, 200);
  const more = { name: 'Ann', preferred_username: 'ann', picture: 'https://p.example/a' };
  const { record } = await signIn(userOf('ann', more));
  assert.deepEqual(
    [record.external, record.name, record.handle, record.picture],
    ['ann', 'Ann', 'ann', 'https://p.example/a'],
  );
  const { record: second } = await signIn(
    userOf('bob', { ...more, name: 'too long a name', picture: 'none' }),
  );
  assert.deepEqual([second.name, second.handle, second.picture], ['', '', '']);
  const { record: third } = await signIn(userOf('cat', more), { name: 'Cat', handle: 'cat' });
  assert.deepEqual([third.name, third.handle], ['Cat', 'cat']);
});

test('fields of the service itself cannot be mapped to what a user of a provider chooses', async (t) => {
  const mapped = { id: 'id', name: 'password', username: 'email', avatarURL: 'verified' };
  const { signIn } = await open(t, mapped);
  const more = {
    name: 'a password',
    preferred_username: 'evil@example.com',
    picture: 'true',
    email: undefined,
  };
  const { record } = await signIn(userOf('abcdefghijklmno', more), { email: 'own@example.com' });
  assert.notEqual(record.id, 'abcdefghijklmno');
  assert.deepEqual([record.email, record.verified], ['own@example.com', false]);
});

test('the name that Apple posts beside a code is that of the account which the code leads to', async (t) => {
  const { service, signIn } = await open(t, { name: 'name' });
  const user = JSON.stringify({ name: { firstName: 'Ann', lastName: 'Lee' }, email: 'evil@example.com' });
  for (const wrong of ['none', '{"name":5}', '[]', user]) {
    const body = new URLSearchParams({ state: 'none', code: 'x', user: wrong });
    await fetch(`${service.url}/api/oauth2-redirect`, { method: 'POST', body });
  }
  const { record, meta } = await signIn(userOf('ann'));
  assert.deepEqual([record.name, meta.name, record.email], ['Ann Lee', 'Ann Lee', 'ann@example.com']);
  const { record: named } = await signIn(userOf('bob', { name: 'Bob' }));
  assert.equal(named.name, 'Bob');
});
