import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyScopes } from '../../src/access/caller.ts';
import { fillPath } from '../../src/http/path-patterns.ts';
import { routes as allRoutes } from '../../src/http/server/routes.ts';
import { makeKey } from '../support/make-key.ts';
import { routerTable } from '../support/router-table.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

/** They look at no credentials. */
const probes = ['GET /api/health/live', 'GET /api/health/ready'];

const few = keyScopes.filter((scope) => scope !== 'admin');

function askWith(service: TestService, route: string, token: string): Promise<TestAnswer> {
  const [method = '', path = ''] = route.split(' ');
  const body = ['POST', 'PATCH', 'PUT'].includes(method) ? { body: {} } : {};
  return service.request(path.replaceAll(/\{\w+\}/g, 'nothing'), { method, token, ...body });
}

function isShort({ status, json }: TestAnswer): boolean {
  return status === 403 && String(json.message).startsWith('The API key needs the scope ');
}

test('every route lets a key pass by the scope that is written for it, and by admin where none is', async (t) => {
  const service = await startService(t);
  const routes = routerTable(service.app);
  const scopes = new Map<string, string>(
    allRoutes.flatMap((route) =>
      route.paths.map((path) => {
        const named = fillPath(path, (name) => `{${name}}`);
        return [`${route.method} ${named}`, route.kind === 'instance' ? route.scope : 'any'] as const;
      }),
    ),
  );
  const scopeOf = (route: string): string => scopes.get(route) ?? 'admin';
  const keys = new Map<string, string>();
  for (const scope of keyScopes) keys.set(scope, (await makeKey(service, [scope])).key);
  const without = new Map<string, string>();
  for (const scope of few)
    without.set(
      scope,
      (
        await makeKey(
          service,
          few.filter((one) => one !== scope),
        )
      ).key,
    );
  without.set('admin', (await makeKey(service, few)).key);
  for (const route of routes.filter((one) => !probes.includes(one))) {
    const scope = scopeOf(route);
    if (scope === 'any') {
      for (const key of without.values()) assert.ok(!isShort(await askWith(service, route, key)), route);
      continue;
    }
    const refused = await askWith(service, route, without.get(scope) ?? '');
    assert.deepEqual(
      [refused.status, refused.json.message],
      [403, `The API key needs the scope ${scope}.`],
      route,
    );
    for (const one of [scope, 'admin']) {
      const answer = await askWith(service, route, keys.get(one) ?? '');
      assert.ok(!isShort(answer), `${route} with ${one}: ${answer.text}`);
      assert.ok(answer.status < 500, `${route}: ${answer.text}`);
    }
  }
});

test('HEAD needs what GET does', async (t) => {
  const service = await startService(t);
  const { key } = await makeKey(service, ['records:write']);
  const answer = await service.request('/api/records/users', { method: 'HEAD', token: key });
  assert.equal(answer.status, 403);
  const reading = await makeKey(service, ['records:read']);
  const read = await service.request('/api/records/users', { method: 'HEAD', token: reading.key });
  assert.equal(read.status, 200);
});

test('what the service tells superusers of itself needs admin, what it tells of its definitions collections:read', async (t) => {
  const service = await startService(t);
  const details = async (scope: string): Promise<readonly [boolean, boolean]> => {
    const { key } = await makeKey(service, [scope]);
    const { data } = (await service.request('/api/health', { token: key })).json;
    const { paths } = (await service.request('/api/openapi.json', { token: key })).json;
    return ['engine' in data, '/api/collections/users/records' in paths];
  };
  assert.deepEqual(await details('records:read'), [false, false]);
  assert.deepEqual(await details('collections:read'), [false, true]);
  assert.deepEqual(await details('admin'), [true, true]);
});

test('the description tells of the collections of the service itself by admin only, whoever has asked before', async (t) => {
  const service = await startService(t);
  const [few, all] = [await makeKey(service, ['collections:read']), await makeKey(service, ['admin'])];
  const told = async (token: string | true): Promise<readonly boolean[]> => {
    const { text } = await service.request('/api/openapi.json', { token });
    return ['"users.Record"', '"_superusers.Record"', '/_superusers/'].map((part) => text.includes(part));
  };
  for (const _ of ['at first', 'from memory']) {
    assert.deepEqual(await told(few.key), [true, false, false]);
    assert.deepEqual(await told(all.key), [true, true, true]);
    assert.deepEqual(await told(true), [true, true, true]);
  }
});

test('collections of the service itself are records and definitions for admin only', async (t) => {
  const service = await startService(t);
  const { key } = await makeKey(service, few);
  const ask = (method: string, path: string, body?: object): Promise<TestAnswer> =>
    service.request(path, { method, token: key, ...(body && { body }) });
  const list: readonly { readonly name: string }[] = (await ask('GET', '/api/collections')).json.items;
  assert.deepEqual(
    list.map(({ name }) => name),
    ['users'],
  );
  const { json } = await service.request('/api/collections/_superusers', { token: true });
  const account = { email: 'a@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const refusals = [
    await ask('GET', '/api/collections/_superusers'),
    await ask('PATCH', '/api/collections/_superusers', { authToken: { duration: 60 } }),
    await ask('PUT', '/api/collections/import', { collections: [{ ...json, authToken: { duration: 60 } }] }),
    // The definition stays as it is, and all sessions would end.
    await ask('PUT', '/api/collections/import', {
      collections: [{ ...json, authToken: { ...json.authToken, secret: 'x'.repeat(50) } }],
    }),
    await ask('PUT', '/api/collections/import', {
      collections: [{ ...json, authToken: { ...json.authToken, secret: '' } }],
    }),
    await ask('POST', '/api/collections/import/plan', {
      collections: [{ name: '_superusers', authToken: { duration: 60 } }],
    }),
    await ask('DELETE', '/api/collections/_otps/truncate'),
    await ask('GET', '/api/collections/_superusers/records'),
    await ask('POST', '/api/records/_superusers', account),
    await ask('PATCH', '/api/records/_superusers/x', account),
    await ask('DELETE', '/api/records/_superusers/x'),
  ];
  for (const answer of refusals) {
    const message = 'The API key does not reach this collection.';
    assert.deepEqual(answer.json, { data: {}, message, status: 403 }, answer.text);
  }
  const same = await ask('PUT', '/api/collections/import', { collections: [json] });
  assert.equal(same.status, 204, same.text);
  assert.equal((await service.request('/api/records/_superusers', { token: true })).json.totalItems, 1);
  const all = await makeKey(service, ['admin']);
  const seen = await service.request('/api/records/_superusers', { token: all.key });
  assert.equal(seen.json.items[0].email, service.superuser.email);
});

test('a key that only writes is shown what it writes and nothing beside it', async (t) => {
  const service = await startService(t);
  const fields = [{ name: 'to', type: 'relation', collectionId: '_pb_users_auth_' }];
  const definition = { name: 'posts', viewRule: '', fields };
  await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  const account = { email: 'a@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const user = await service.request('/api/records/users', { method: 'POST', token: true, body: account });
  const write = async (scopes: readonly string[]): Promise<readonly unknown[]> => {
    const { key: token } = await makeKey(service, scopes);
    const body = { to: user.json.id };
    const made = await service.request('/api/records/posts?expand=to', { method: 'POST', token, body });
    assert.equal(made.status, 201, made.text);
    return [made.json.to, made.json.expand?.to.email];
  };
  assert.deepEqual(await write(['records:write']), [user.json.id, undefined]);
  assert.deepEqual(await write(['records:write', 'records:read']), [user.json.id, account.email]);
});
