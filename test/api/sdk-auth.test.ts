import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import PocketBase, { getTokenPayload, isTokenExpired } from 'pocketbase';
import packageJson from '../../package.json' with { type: 'json' };
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService } from '../support/service.ts';

describe('signing in with the SDK', () => {
  test('a right password fills the auth store with a superuser and a token of a day', async (t) => {
    const { url, superuser } = await startService(t);
    const pb = new PocketBase(url);
    assert.deepEqual([pb.authStore.isValid, pb.authStore.isSuperuser], [false, false]);
    const changes: string[] = [];
    pb.authStore.onChange((token) => changes.push(token));
    const { token, record } = await pb
      .collection('_superusers')
      .authWithPassword(superuser.email, superuser.password);
    assert.deepEqual([pb.authStore.isValid, pb.authStore.isSuperuser], [true, true]);
    assert.equal(pb.authStore.token, token);
    assert.deepEqual(changes, [token]);
    assert.deepEqual(
      [record['email'], record['verified'], record.collectionName, record.collectionId],
      [superuser.email, true, '_superusers', 'pbc_3142635823'],
    );
    assert.deepEqual(
      Object.keys(record).filter((name) => /password|token/i.test(name)),
      [],
    );
    const { type, collectionId, id, refreshable, exp } = getTokenPayload(token);
    assert.deepEqual([type, collectionId, id, refreshable], ['auth', 'pbc_3142635823', record.id, true]);
    assert.ok(Math.abs(Number(exp) - Date.now() / 1000 - 86_400) < 60);
    assert.equal(isTokenExpired(token), false);
    assert.equal((await pb.collections.getList()).page, 1);

    pb.authStore.clear();
    assert.deepEqual([pb.authStore.isValid, pb.authStore.isSuperuser], [false, false]);
    assert.equal((await refusalOf(pb.collections.getList())).status, 401);
  });

  test('a wrong password and an unknown identity are answered alike, and the store stays as it was', async (t) => {
    const service = await startService(t);
    const pb = await superuserSdk(service);
    const { token } = pb.authStore;
    const superusers = pb.collection('_superusers');
    for (const ask of [
      () => superusers.authWithPassword(service.superuser.email, 'wrong horse'),
      () => superusers.authWithPassword('nobody@example.com', service.superuser.password),
    ]) {
      const refusal = await refusalOf(ask());
      assert.deepEqual(refusal.response, { data: {}, message: 'Failed to authenticate.', status: 400 });
    }
    assert.equal(pb.authStore.token, token);
  });

  test('what is left out is named', async (t) => {
    const { url } = await startService(t);
    const refusal = await refusalOf(new PocketBase(url).collection('_superusers').authWithPassword('', ''));
    assert.equal(refusal.status, 400);
    assert.deepEqual(refusal.response['data'], {
      identity: { code: 'validation_required', message: 'Cannot be blank.' },
      password: { code: 'validation_required', message: 'Cannot be blank.' },
    });
  });

  test('only a collection of accounts can be signed in to', async (t) => {
    const service = await startService(t);
    const pb = await superuserSdk(service);
    await pb.collections.create({ name: 'posts', type: 'base' });
    for (const [name, message] of [
      ['posts', 'Missing or invalid auth collection context.'],
      ['nothing', 'Missing or invalid collection context.'],
    ] as const) {
      const refusal = await refusalOf(pb.collection(name).authWithPassword('a@example.com', 'b'));
      assert.deepEqual([refusal.status, refusal.message], [404, message]);
    }
  });

  test('a refresh gives the record and a token that works', async (t) => {
    const service = await startService(t);
    const pb = await superuserSdk(service);
    const { token, record } = await pb.collection('_superusers').authRefresh();
    assert.equal(record['email'], service.superuser.email);
    assert.equal(pb.authStore.token, token);
    assert.equal(pb.authStore.isSuperuser, true);
    assert.equal((await pb.collections.getList()).page, 1);
  });

  test('a refresh without a token, or with one that was tampered with, is 401', async (t) => {
    const service = await startService(t);
    const pb = await superuserSdk(service);
    const [head, payload, signature = ''] = pb.authStore.token.split('.');
    const other = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    for (const token of ['', 'nonsense', `${head}.${payload}.${other}`, `${head}.${payload}.`]) {
      pb.authStore.save(token);
      assert.equal((await refusalOf(pb.collection('_superusers').authRefresh())).status, 401);
      // Elsewhere such a token is none at all.
      assert.deepEqual((await pb.health.check()).data, {});
    }
  });

  test('whoever has come by no other provider has no external accounts', async (t) => {
    const pb = await superuserSdk(await startService(t));
    const id = pb.authStore.record?.id ?? '';
    assert.deepEqual(await pb.collection('_superusers').listExternalAuths(id), []);
  });

  test('the token is taken with and without the word Bearer, as other SDKs send it', async (t) => {
    const service = await startService(t);
    const { token } = (await superuserSdk(service)).authStore;
    for (const authorization of [token, `Bearer ${token}`, `bearer ${token}`]) {
      const pb = new PocketBase(service.url);
      pb.beforeSend = (url, options) => ({ url, options: { ...options, headers: { authorization } } });
      assert.equal((await pb.collections.getList()).page, 1);
    }
  });
});

describe('health.check of the SDK', () => {
  test('tells everyone that the service is well, and superusers the version', async (t) => {
    const service = await startService(t);
    const guest = await new PocketBase(service.url).health.check();
    assert.deepEqual(guest, { code: 200, message: 'API is healthy.', data: {} });
    const { data } = await (await superuserSdk(service)).health.check();
    assert.equal(data['version'], packageJson.version);
  });
});
