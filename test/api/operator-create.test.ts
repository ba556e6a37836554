// Both engines: an instance is a file or a schema, and is shown and its answer stored in one transaction.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { isJsonObject } from '../../src/base/json.ts';
import { createFilled } from '../../src/instances/create-filled.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey, operatorCaller, operatorOf } from '../support/operator-stage.ts';
import { Receiver } from '../support/receiver.ts';
import { testEngine } from '../support/test-config.ts';
import { startService, type TestAnswer, type TestRequest, type TestService } from '../support/service.ts';

const collections = [
  { name: 'posts', listRule: '', createRule: '', fields: [{ name: 'title', type: 'text' }] },
];
const superuser = { email: 'root@acme.example', password: 'correct horse' };

interface Stage {
  readonly service: TestService;
  readonly call: ReturnType<typeof operatorCaller>;
  readonly create: (status: number, body: object, request?: TestRequest) => Promise<TestAnswer>;
}

async function startStage(t: TestContext, hostThreads: '0' | '2' | 'auto' = '0'): Promise<Stage> {
  const service = await startService(t, { flags: { 'host-threads': hostThreads } });
  const { key } = await makeOperatorKey(service);
  const call = operatorCaller(service, key);
  const create: Stage['create'] = (status, body, request = {}) =>
    call(status, 'POST /instances', { body, ...request });
  return { service, call, create };
}

/** The slugs of all rows of the directory, those of unfinished instances too, and how many places for data there are. */
async function traces({ app, data }: TestService): Promise<readonly unknown[]> {
  const { control } = app.data.home;
  const rows = await control.tuples(
    sql`SELECT slug FROM ${control.names.table('$instance')} ORDER BY position`,
  );
  const places = await countPlaces(app.data.home.control, data);
  return [...rows.map(([slug]) => slug), places];
}

async function countPlaces(control: Database, data: string): Promise<number> {
  if (control.engine === 'sqlite') return readdirSync(join(data, 'instances')).length;
  const [row] = await control.tuples(sql`SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, 'i_')`);
  return Number(row?.[0]);
}

/** With PostgreSQL there are nodes instead. */
const threadCounts = testEngine === 'sqlite' ? (['0', '2', 'auto'] as const) : (['0'] as const);

for (const hostThreads of threadCounts)
  describe(`an instance is created in one call, with --host-threads ${hostThreads}`, () => {
    test('with collections, settings, a superuser and endpoints, and is used at once', async (t) => {
      const { service, call, create } = await startStage(t, hostThreads);
      const receiver = await Receiver.open({ mode: { kind: 'ok' } });
      t.after(() => receiver.close());
      const { json, headers } = await create(201, {
        slug: 'acme',
        labels: { customer: '17' },
        collections,
        settings: { meta: { appName: 'Acme' } },
        superuser,
        endpoints: [{ url: receiver.url, events: ['record.create'] }],
      });
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(json.url, `${service.url}/i/acme`);
      assert.match(json.endpoints[0].secret, /^whsec_/);
      const base = '/i/acme';
      const signedIn = await service.request(`${base}/api/collections/_superusers/auth-with-password`, {
        method: 'POST',
        body: { identity: superuser.email, password: superuser.password },
      });
      assert.equal(signedIn.status, 200, signedIn.text);
      const { token } = signedIn.json;
      const settings = await service.request(`${base}/api/settings`, { token });
      assert.equal(settings.json.meta.appName, 'Acme');
      const path = `${base}/api/collections/posts/records`;
      const post = await service.request(path, { method: 'POST', body: { title: 'Hello' } });
      assert.equal(post.status, 201, post.text);
      await eventually('the webhook comes', () => receiver.requests.length === 1);
      const { json: shown } = await call(200, 'GET /instances/acme');
      assert.deepEqual({ ...shown, endpoints: json.endpoints }, json);
      // Of its own instance, the audit log names the operator.
      const audit = await service.request(`${base}/api/audit?filter=actor%3D'operator'`, { token });
      assert.ok(audit.json.totalItems >= 3, audit.text);
      await call(401, 'GET /instances', { token });
      assert.equal((await service.request('/api/operator/instances', { token })).status, 401);
    });

    test('from a template', async (t) => {
      const { service, create } = await startStage(t, hostThreads);
      await create(201, { slug: 'plan', collections });
      await create(201, { slug: 'acme', template: 'plan' });
      const posts = await service.request('/i/acme/api/collections/posts/records');
      assert.equal(posts.status, 200, posts.text);
    });

    test('and what is refused names its member and leaves nothing', async (t) => {
      const { service, call, create } = await startStage(t, hostThreads);
      await create(201, { slug: 'taken', host: 'taken.example' });
      // On PostgreSQL its schema is made when it is first opened.
      assert.equal((await service.request('/i/taken/api/health')).status, 200);
      const before = await traces(service);
      const cases: readonly (readonly [object, unknown])[] = [
        [{ slug: 'taken' }, 'slug'],
        [{ slug: 'Acme' }, 'slug'],
        [{}, 'slug'],
        [{ host: 'taken.example' }, 'host'],
        [{ host: 'a:1' }, 'host'],
        [{ labels: { a: {} } }, 'labels'],
        [{ labels: { 'a b': '' } }, 'labels'],
        [{ template: 'none' }, 'template'],
        [{ collections: [{ name: 'posts', fields: [{ name: 'a', type: 'none' }] }] }, 'collections'],
        [{ collections: {} }, 'collections'],
        [{ settings: { meta: { appName: 5 } } }, 'settings'],
        [{ superuser: { email: 'nobody', password: 'correct horse' } }, 'superuser.email'],
        [{ superuser: { email: 'a@acme.example', password: 'x' } }, 'superuser.password'],
        [{ superuser: { email: 'a@acme.example' } }, 'superuser.password'],
        [{ endpoints: [{ url: 'ftp://acme.example' }] }, 'endpoints.0.url'],
        [{ collections, superuser, endpoints: [{ url: 'http://127.0.0.1:9/' }, {}] }, 'endpoints.1.url'],
        [{ quotas: { cakes: 1 } }, 'quotas'],
        [{ slug: 'acme', isOperator: true }, 'isOperator'],
      ];
      for (const [members, name] of cases) {
        const body = name === 'slug' ? members : { slug: 'acme', ...members };
        const { json } = await create(400, body);
        assert.equal(nameIn(json.data), name, JSON.stringify(json));
      }
      assert.deepEqual(await traces(service), before);
      await call(404, 'GET /instances/acme');
      await create(201, { slug: 'acme', collections, superuser });
    });
  });

/** The first path in the details, down to where a message is, or two names further. */
function nameIn(details: unknown): string {
  if (!isJsonObject(details)) return '';
  const [[name, inner] = ['', {}]] = Object.entries(details);
  const isDeep = ['superuser', 'endpoints', '0', '1'].includes(name);
  return isDeep && isJsonObject(inner) && inner['code'] === undefined ? `${name}.${nameIn(inner)}` : name;
}

describe('a creation under an idempotency key', () => {
  test('is done once, and its answer is repeated', async (t) => {
    const { call, create } = await startStage(t);
    const headers = { 'idempotency-key': 'sign-up 17' };
    const body = { slug: 'acme', superuser, endpoints: [{ url: 'http://127.0.0.1:9/' }] };
    const answers = await Promise.all([1, 2, 3].map(() => create(201, body, { headers })));
    const again = await create(201, body, { headers });
    assert.equal(new Set([...answers, again].map(({ text }) => text)).size, 1);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    await create(422, { ...body, slug: 'other' }, { headers });
    await create(400, body);
    await create(400, body, { headers: { 'idempotency-key': 'another' } });
    // A refusal is not stored.
    await call(200, 'DELETE /instances/acme');
    await create(201, body, { headers: { 'idempotency-key': 'another' } });
  });
});

for (const hostThreads of threadCounts)
  test(`an API key is issued by the routes of the instance, with --host-threads ${hostThreads}`, async (t) => {
    const { service, call, create } = await startStage(t, hostThreads);
    const { json: acme } = await create(201, { slug: 'acme', collections });
    const body = { name: 'app', scopes: ['records:read'] };
    const { json, headers } = await call(201, `POST /instances/${acme.id}/keys`, { body });
    assert.equal(headers.get('cache-control'), 'no-store');
    const own = await service.request('/i/acme/api/keys/current', { token: json.key });
    assert.equal(own.json.name, 'app');
    const refused = await call(400, 'POST /instances/acme/keys', { body: { name: '', scopes: ['all'] } });
    assert.deepEqual(Object.keys(refused.json.data), ['name', 'scopes']);
    await call(404, 'POST /instances/none/keys', { body });
    await call(200, 'POST /instances/acme/suspend');
    await call(403, 'POST /instances/acme/keys', { body });
    await call(200, 'POST /instances/acme/resume');
    const { key: writer } = await makeOperatorKey(service, ['instances:write']);
    await operatorCaller(service, writer)(403, 'POST /instances/acme/keys', { body });
    const filter = encodeURIComponent(`target = '${acme.id}' && action = 'key.create'`);
    assert.equal((await call(200, `GET /audit?filter=${filter}`)).json.items[0].details.key, json.id);
  });

for (const hostThreads of threadCounts)
  test(`a sign-in link signs in to the dashboard once, with --host-threads ${hostThreads}`, async (t) => {
    const { service, call, create } = await startStage(t, hostThreads);
    await create(201, { slug: 'acme', superuser });
    await create(201, { slug: 'empty' });
    const issue = async (body: object = {}): Promise<string> => {
      const { json } = await call(201, 'POST /instances/acme/keys', { body: { kind: 'signin', ...body } });
      assert.equal(json.email, superuser.email);
      assert.equal(json.url, `${service.url}/i/acme/_/link#${json.token}`);
      const minutes = (new Date(json.expires).getTime() - Date.now()) / 60_000;
      assert.ok(minutes > 4 && minutes <= 5, json.expires);
      return json.token;
    };
    const use = (token: unknown, base = '/i/acme'): Promise<TestAnswer> =>
      service.request(`${base}/api/sign-in-links/use`, { method: 'POST', body: { token } });
    const token = await issue({ email: superuser.email });
    // It is for its instance alone, and no setup token.
    assert.equal((await use(token, '/i/empty')).status, 403);
    const account = {
      token,
      email: 'a@b.example',
      password: 'correct horse',
      passwordConfirm: 'correct horse',
    };
    const setUp = await service.request('/i/acme/api/setup', { method: 'POST', body: account });
    assert.equal(setUp.status, 403);
    const uses = await Promise.all([use(token), use(token), use(token)]);
    assert.equal(uses.filter(({ status }) => status === 200).length, 1);
    const signedIn = uses.find(({ status }) => status === 200)?.json;
    const own = await service.request('/i/acme/api/settings', { token: signedIn.token });
    assert.equal(own.status, 200, own.text);
    for (const wrong of [token, `${token.slice(0, -1)}x`, '', 5, null])
      assert.equal((await use(wrong)).status, 403);
    const late = await issue();
    await service.withInstance('acme', ({ database }) =>
      database.write((tx) =>
        tx.run(
          sql`UPDATE ${tx.names.table('$setup_token')} SET expires = ${Date.now()} WHERE ${tx.names.instance.condition}`,
        ),
      ),
    );
    assert.equal((await use(late)).status, 403);
    const none = await call(400, 'POST /instances/acme/keys', {
      body: { kind: 'signin', email: 'x@acme.example' },
    });
    assert.deepEqual(Object.keys(none.json.data), ['email']);
    await call(400, 'POST /instances/empty/keys', { body: { kind: 'signin' } });
    const kind = await call(400, 'POST /instances/acme/keys', { body: { kind: 'other' } });
    assert.deepEqual(Object.keys(kind.json.data), ['kind']);
  });

test('of a hundred creations of one slug at once one succeeds, and nothing is left of the others', async (t) => {
  const { service, call } = await startStage(t);
  const { key: token } = await makeOperatorKey(service);
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const request = { method: 'POST', token, body: { slug: 'acme', superuser } };
      return (await service.request('/api/operator/instances', request)).status;
    }),
  );
  assert.deepEqual(
    statuses.toSorted((one, other) => one - other),
    [201, ...Array.from({ length: 99 }, () => 400)],
  );
  assert.deepEqual(await traces(service), ['default', 'acme', 2]);
  const { json } = await call(200, `GET /audit?filter=${encodeURIComponent("action = 'instance.create'")}`);
  assert.equal(json.totalItems, 1);
});

test('a creation that the process does not survive blocks no slug', async (t) => {
  const { service, create } = await startStage(t);
  const operator = operatorOf(service);
  // Never ends, like that of a process that was killed.
  void createFilled(operator, {
    id: 'abandoned000000',
    shownId: 'abandoned000000',
    slug: 'acme',
    host: 'acme.example',
    created: '2026-01-01 00:00:00.000Z',
    key: '',
    isNew: true,
    populate: () => new Promise(() => undefined),
    discard: () => Promise.resolve(),
  });
  await eventually('it has begun', async () => (await traces(service)).includes('~abandoned000000'));
  await create(201, { slug: 'acme', host: 'acme.example' });
});

test('a large body is refused to whoever has no key before it is read, and to a key as everywhere', async (t) => {
  const { service, create } = await startStage(t);
  const body = JSON.stringify({ slug: 'acme', labels: { a: 'x'.repeat(30 * 1024 * 1024) } });
  const refused = await service.request('/api/operator/instances', {
    method: 'POST',
    token: `co_${'0'.repeat(58)}`,
    body,
  });
  assert.equal(refused.status, 401);
  const { json } = await create(400, JSON.parse(body));
  assert.deepEqual(Object.keys(json.data), ['labels']);
});
