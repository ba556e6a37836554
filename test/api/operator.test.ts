// Both engines: keys, labels and the log of events are rows, and filters reach into labels.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { revokeOperatorKey } from '../../src/operator/operator-keys.ts';
import { routes } from '../../src/http/server/routes.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { makeOperatorKey, operatorCaller, operatorOf } from '../support/operator-stage.ts';
import { startService, type TestAnswer } from '../support/service.ts';

interface Item {
  readonly slug: string;
  readonly kind: string;
  readonly instance: string;
  readonly data: { readonly slug: string };
  readonly action: string;
  readonly actor: string;
  readonly actorId: string;
}

function itemsOf({ json }: TestAnswer): readonly Item[] {
  return json.items;
}

const absent = { data: {}, message: "The requested resource wasn't found.", status: 404 };
const operatorRoutes = routes.filter(({ kind }) => kind === 'operator');

describe('without an operator key', () => {
  test('no route of the operator is there, whatever is sent to it', async (t) => {
    const service = await startService(t);
    for (const { method, paths } of operatorRoutes)
      for (const path of paths.map((one) => one.replaceAll(/:\w+/g, 'default')))
        for (const token of [undefined, true, `co_${'a'.repeat(58)}`] as const) {
          const answer = await service.request(path, {
            method,
            ...(token !== undefined && { token }),
            ...(method !== 'GET' && { body: '{', headers: { 'content-type': 'text/plain' } }),
          });
          assert.deepEqual([answer.status, answer.json], [404, absent], `${method} ${path}`);
        }
    const other = await service.request('/api/operator/instances', { method: 'PUT' });
    assert.deepEqual([other.status, other.json, other.headers.get('allow')], [404, absent, null]);
  });
});

describe('operator keys', () => {
  test('are for the routes of the operator alone, and nothing else is', async (t) => {
    const service = await startService(t);
    const { key } = await makeOperatorKey(service);
    const { key: apiKey } = await makeKey(service, ['admin']);
    for (const path of ['/api/health', '/api/collections', '/i/default/api/keys', '/metrics'])
      assert.equal((await service.request(path, { token: key })).status, 401, path);
    for (const token of [undefined, true, apiKey, 'ck_', 'co_', `${key}x`, key.slice(0, -1)] as const) {
      const answer = await service.request('/api/operator/instances', token === undefined ? {} : { token });
      assert.equal(answer.status, 401, String(token));
    }
    assert.equal((await service.request('/api/operator/instances', { token: key })).status, 200);
    assert.equal((await service.request('/api/operator/instances', { token: `Bearer ${key}` })).status, 200);
    const wrong = await service.request('/api/operator/events', { method: 'PUT', token: key });
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD, OPTIONS']);
  });

  test('are no use below the path of an instance, by any spelling', async (t) => {
    const service = await startService(t);
    const { key: token } = await makeOperatorKey(service);
    for (const path of [
      '/i/default/api/operator/instances',
      '/i/none/api/operator/instances',
      '/i/default//api/operator/instances',
      '/i/default/../api/operator/instances',
      '/i//api/operator/instances',
      '/api/operator//instances',
      '/api/operator/instances/',
      '/API/operator/instances',
      '/api/operator/instances/..%2f..%2fhealth',
      '/api/%6fperator/instances%00',
    ]) {
      const answer = await fetch(service.url + path, { headers: { authorization: token } });
      const isResolved = new URL(service.url + path).pathname === '/api/operator/instances';
      assert.ok(isResolved || [400, 404].includes(answer.status), `${path}: ${answer.status}`);
      await answer.body?.cancel();
    }
    const wrongMethod = await service.request('/i/default/api/operator/instances', { method: 'PUT', token });
    assert.deepEqual([wrongMethod.status, wrongMethod.json], [404, absent]);
  });

  test('need the scope of a route', async (t) => {
    const service = await startService(t);
    const { key: read } = await makeOperatorKey(service, ['instances:read']);
    const { key: write } = await makeOperatorKey(service, ['instances:write']);
    const body = { labels: { plan: 'pro' } };
    const refused = await operatorCaller(service, read)(403, 'PATCH /instances/default', { body });
    assert.equal(refused.json.message, 'The operator key needs the scope instances:write.');
    await operatorCaller(service, write)(403, 'GET /instances');
    await operatorCaller(service, write)(403, 'GET /audit');
    await operatorCaller(service, write)(200, 'PATCH /instances/default', { body });
    await operatorCaller(service, read)(200, 'GET /instances/default');
    const { key: metrics } = await makeOperatorKey(service, ['metrics']);
    await operatorCaller(service, read)(403, 'GET /metrics');
    await operatorCaller(service, metrics)(403, 'GET /instances');
    const { text, headers } = await operatorCaller(service, metrics)(200, 'GET /metrics');
    assert.match(headers.get('content-type') ?? '', /^text\/plain/);
    assert.match(text, /^chancery_http_requests_total\{.*route="\/api\/operator\/instances/m);
  });

  test('end when they expire or are revoked, and refused ones are audited', async (t) => {
    const service = await startService(t);
    const soon = new Date(Date.now() + 1_500).toISOString();
    const short = await makeOperatorKey(service, ['admin'], { expires: soon });
    const { id, key } = await makeOperatorKey(service);
    const admin = await makeOperatorKey(service);
    await operatorCaller(service, key)(200, 'GET /instances');
    await revokeOperatorKey(operatorOf(service), id, 'operator');
    await operatorCaller(service, key)(401, 'GET /instances');
    await eventually('the key expires', async () => {
      const { status } = await service.request('/api/operator/instances', { token: short.key });
      return status === 401;
    });
    const list = operatorCaller(service, admin.key);
    await eventually('refused keys are audited', async () => {
      const filter = encodeURIComponent("action = 'key.use'");
      const { json } = await list(200, `GET /audit?filter=${filter}`);
      return json.totalItems > 0 && json.items[0].outcome === 'refused' && json.items[0].actor === 'guest';
    });
  });
});

describe('instances of the operator', () => {
  test('are listed, filtered by labels, changed, suspended, deleted and restored, each change with its event and audit entry', async (t) => {
    const service = await startService(t);
    const { id: keyId, key } = await makeOperatorKey(service);
    const call = operatorCaller(service, key);
    const { directory } = service.app.data;
    const { id } = await directory.create('acme', null);
    await directory.create('beta', null);
    const changed = await call(200, 'PATCH /instances/acme', {
      body: { slug: 'acme-corp', host: 'ACME.example', labels: { plan: 'pro', 'crm.id': '17' } },
    });
    const { state, slug, host, labels, url } = changed.json;
    assert.deepEqual(
      { state, slug, host, labels },
      {
        state: 'active',
        slug: 'acme-corp',
        host: 'acme.example',
        labels: { plan: 'pro', 'crm.id': '17' },
      },
    );
    assert.equal(url, `http://acme.example:${new URL(service.url).port}`);
    const listed = async (query: string): Promise<readonly string[]> => {
      return itemsOf(await call(200, `GET /instances?${query}`)).map((one) => one.slug);
    };
    const filtered = (filter: string): Promise<readonly string[]> =>
      listed(`filter=${encodeURIComponent(filter)}`);
    assert.deepEqual(await listed('sort=-slug&skipTotal=true'), ['default', 'beta', 'acme-corp']);
    assert.deepEqual(await listed('perPage=1&page=2'), ['acme-corp']);
    assert.deepEqual(await filtered("labels.plan = 'pro'"), ['acme-corp']);
    assert.deepEqual(await filtered("labels.crm.id = '17'"), ['acme-corp']);
    assert.deepEqual(await filtered("host = ''"), ['default', 'beta']);
    const { json: only } = await call(200, 'GET /instances?fields=slug&perPage=1');
    assert.deepEqual(only.items, [{ slug: 'default' }]);
    assert.equal((await call(200, `POST /instances/${id}/suspend`)).json.state, 'suspended');
    assert.equal((await service.request('/i/acme-corp/api/health')).json.data.suspended, true);
    assert.deepEqual(await filtered("state = 'suspended'"), ['acme-corp']);
    assert.equal((await call(200, 'POST /instances/acme-corp/resume')).json.state, 'active');
    const deleted = (await call(200, 'DELETE /instances/acme-corp')).json;
    assert.equal(deleted.state, 'deleted');
    assert.ok(new Date(deleted.restorableUntil) > new Date());
    assert.equal((await service.request('/i/acme-corp/api/health')).status, 404);
    await call(404, 'DELETE /instances/acme-corp');
    await call(404, 'POST /instances/acme-corp/suspend');
    assert.equal((await call(200, 'POST /instances/acme-corp/restore')).json.state, 'active');
    assert.equal((await service.request('/i/acme-corp/api/health')).status, 200);
    const feed = await call(200, 'GET /events');
    assert.deepEqual(
      itemsOf(feed)
        .filter(({ instance }) => instance === id)
        .map(({ kind }) => kind),
      ['created', 'renamed', 'updated', 'suspended', 'resumed', 'deleted', 'restored'].map(
        (kind) => `instance.${kind}`,
      ),
    );
    const { json: none } = await call(200, `GET /events?cursor=${feed.json.nextCursor}`);
    assert.deepEqual(none, { items: [], nextCursor: feed.json.nextCursor });
    const filter = encodeURIComponent(`target = '${id}'`);
    const audit = await call(200, `GET /audit?filter=${filter}`);
    assert.deepEqual(
      itemsOf(audit).map((one) => [one.action, one.actor, one.actorId]),
      ['rename', 'host', 'label', 'suspend', 'resume', 'delete', 'restore'].map((action) => [
        `instance.${action}`,
        'operator',
        keyId,
      ]),
    );
  });

  test('refuse what is malformed or taken by the name of the member, and change nothing then', async (t) => {
    const service = await startService(t);
    const { key } = await makeOperatorKey(service);
    const call = operatorCaller(service, key);
    await service.app.data.directory.create('acme', 'acme.example');
    await service.app.data.directory.create('beta', null);
    const before = (await call(200, 'GET /instances/beta')).text;
    const deep = JSON.parse(`${'{"a":'.repeat(40)}{}${'}'.repeat(40)}`);
    const cases: readonly (readonly [object, string])[] = [
      [{ slug: 'acme' }, 'slug'],
      [{ slug: 'A' }, 'slug'],
      [{ slug: 5 }, 'slug'],
      [{ host: 'acme.example' }, 'host'],
      [{ host: 'a b' }, 'host'],
      [{ labels: { a: 1 } }, 'labels'],
      [{ labels: deep }, 'labels'],
      [{ labels: [] }, 'labels'],
      [{ labels: { plan: 'x'.repeat(256) } }, 'labels'],
      [{ labels: { 'a b': 'x' } }, 'labels'],
      [{ labels: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`l${at}`, ''])) }, 'labels'],
      [{ slug: 'gamma', labels: { a: 1 } }, 'labels'],
      [{ slog: 'gamma' }, 'slog'],
      [{ quotas: { cakes: 1 } }, 'quotas'],
    ];
    for (const [body, name] of cases) {
      const { json } = await call(400, 'PATCH /instances/beta', { body });
      assert.deepEqual(Object.keys(json.data), [name], JSON.stringify(json));
    }
    assert.equal((await call(200, 'GET /instances/beta')).text, before);
    await call(400, 'DELETE /instances/default');
    await call(400, 'PATCH /instances/default', { body: { slug: 'other' } });
    await call(404, 'GET /instances/none');
    await call(400, 'POST /instances/beta/restore');
    await call(400, 'GET /events?cursor=x');
    await call(400, 'GET /events?wait=31');
    await call(400, 'GET /instances?filter=secret%3D1');
  });

  test('are followed by a request that waits for the next event', async (t) => {
    const service = await startService(t);
    const { key } = await makeOperatorKey(service);
    const call = operatorCaller(service, key);
    const { nextCursor } = (await call(200, 'GET /events')).json;
    const waiting = call(200, `GET /events?wait=30&cursor=${nextCursor}`);
    await service.app.data.directory.create('acme', null);
    const answer = await waiting;
    assert.deepEqual(
      itemsOf(answer).map((event) => [event.kind, event.data.slug]),
      [['instance.created', 'acme']],
    );
  });
});
