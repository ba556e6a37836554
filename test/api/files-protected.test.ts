import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { startServedFiles, type FileAnswer, type ServedFiles, getFile } from '../support/served-files.ts';
import { makeKey } from '../support/make-key.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { superuserSdk } from '../support/sdk.ts';

const password = 'correct horse';
const owned = { viewRule: 'owner = @request.auth.id' };

interface Stage extends ServedFiles {
  readonly clock: MovableClock;
  /** The SDK, signed in as the owner of the record. */
  readonly owner: PocketBase;
  readonly other: PocketBase;
  readonly read: (token?: string) => Promise<FileAnswer>;
}

/** A record of one account with the protected file `s.txt`. */
async function startStage(t: TestContext, collection: object = owned): Promise<Stage> {
  const clock = new MovableClock();
  const stage = await startServedFiles(t, { collection, parts: { clock } });
  const { service, id } = stage;
  const [owner, other] = [await signUp(service.url, 'owner'), await signUp(service.url, 'other')];
  const body = { owner: owner.authStore.record?.id };
  const changed = await service.request(`/api/collections/docs/records/${id}`, {
    method: 'PATCH',
    token: true,
    body,
  });
  assert.equal(changed.status, 200, changed.text);
  await stage.put('s.txt', 'secret', 'safe');
  const read = (token = ''): Promise<FileAnswer> => stage.get(`s.txt?token=${token}`);
  return { ...stage, clock, owner, other, read };
}

async function signUp(url: string, name: string): Promise<PocketBase> {
  const pb = new PocketBase(url);
  const email = `${name}@example.com`;
  await pb.collection('users').create({ email, password, passwordConfirm: password });
  await pb.collection('users').authWithPassword(email, password);
  return pb;
}

test('F-20 a protected file is for who may view its record, by a token of three minutes', async (t) => {
  const { service, clock, owner, other, read, id } = await startStage(t);
  const token = await owner.files.getToken();
  const shown = await read(token);
  assert.deepEqual([shown.status, shown.text], [200, 'secret']);
  assert.equal(shown.headers.get('cache-control'), 'private, no-store');
  const superuser = await superuserSdk(service);
  assert.equal((await read(await superuser.files.getToken())).status, 200);
  for (const [what, wrong] of [
    ['none', ''],
    ['no token', 'x'],
    ['that of another account', await other.files.getToken()],
    ['a token of a sign-in', owner.authStore.token],
    ['one whose signature is wrong', `${token.slice(0, -2)}xx`],
  ] as const)
    assert.equal((await read(wrong)).status, 404, what);
  const pb = owner;
  const url = pb.files.getURL({ id, collectionId: 'docs' }, 's.txt', { token });
  assert.equal((await getFile(url)).text, 'secret');
  clock.move(179_000);
  assert.equal((await read(token)).status, 200);
  clock.move(2_000);
  assert.equal((await read(token)).status, 404);
});

test('the header of a sign-in is not considered, but an API key reads what its scopes and collections allow', async (t) => {
  const { service, owner, get, collectionId } = await startStage(t);
  const withHeader = (authorization: string): Promise<FileAnswer> =>
    get('s.txt', { headers: { authorization } });
  assert.equal((await withHeader(owner.authStore.token)).status, 404);
  assert.equal((await withHeader(service.superuser.token)).status, 404);
  const here = { collections: [collectionId] };
  const elsewhere = { collections: ['_pb_users_auth_'] };
  assert.equal((await withHeader((await makeKey(service, ['records:read'], here)).key)).status, 200);
  assert.equal((await withHeader((await makeKey(service, ['records:read'], elsewhere)).key)).status, 404);
  assert.equal((await withHeader((await makeKey(service, ['records:write'])).key)).status, 404);
  const { key } = await makeKey(service, ['records:read']);
  const asked = await service.request('/api/files/token', { method: 'POST', token: key });
  assert.equal(asked.status, 403, 'a key is of no account');
  assert.equal((await service.request('/api/files/token', { method: 'POST' })).status, 401);
});

test('F-21 a file is gone at once for who may not view its record any more', async (t) => {
  const { service, owner, read, id } = await startStage(t);
  const token = await owner.files.getToken();
  const superuserToken = await (await superuserSdk(service)).files.getToken();
  const change = async (path: string, body: object): Promise<void> => {
    const answer = await service.request(path, { method: 'PATCH', token: true, body });
    assert.equal(answer.status, 200, answer.text);
  };
  for (const viewRule of [null, 'owner = "nobody"', '@request.context = "default"']) {
    await change('/api/collections/docs', { viewRule });
    assert.equal((await read(token)).status, 404, String(viewRule));
    assert.equal((await read(superuserToken)).status, 200);
  }
  await change('/api/collections/docs', { viewRule: '@request.context = "protectedFile"' });
  assert.equal((await read()).status, 200);
  await change('/api/collections/docs', owned);
  assert.equal((await read(token)).status, 200);
  await change(`/api/collections/docs/records/${id}`, { owner: '' });
  assert.equal((await read(token)).status, 404);
  await change(`/api/collections/docs/records/${id}`, { owner: owner.authStore.record?.id });
  await change(`/api/collections/users/records/${owner.authStore.record?.id}`, {
    password: 'another horse',
    passwordConfirm: 'another horse',
  });
  assert.equal((await read(token)).status, 404, 'a changed password ends tokens');
});

test('F-20 a token is of one instance, and that of a superuser works where superusers may be', async (t) => {
  const { service, read } = await startStage(t);
  await service.app.data.directory.create('elsewhere', null);
  const token = await (await superuserSdk(service)).files.getToken();
  assert.equal((await read(token)).status, 200);
  assert.equal((await service.request(`/i/elsewhere/api/files/docs/any/s.txt?token=${token}`)).status, 404);
  await service.withInstance('default', async ({ settings }) => {
    settings.remember({ ...settings.current, superuserIPs: ['192.0.2.1'] });
  });
  assert.equal((await read(token)).status, 404);
});
