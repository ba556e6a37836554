// Both engines: an instance is a file or a schema.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { rawRequest, sendRaw, type RawAnswer } from '../support/raw-http.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { testConfig, testEngine } from '../support/test-config.ts';

const notFound = '{"data":{},"message":"The requested resource wasn\'t found.","status":404}';
const email = 'root@example.com';
const password = 'correct horse';

async function withInstances(
  t: TestContext,
  hosts: Readonly<Record<string, string | null>>,
  flags = {},
): Promise<TestService> {
  const service = await startService(t, { flags });
  for (const [slug, host] of Object.entries(hosts)) await service.app.data.directory.create(slug, host);
  return service;
}

function get(
  t: TestContext,
  service: TestService,
  { host, path }: { readonly host: string; readonly path: string },
): Promise<RawAnswer> {
  return sendRaw(t, service.url, rawRequest(`GET ${path}`, { Host: host }));
}

/** Which instance answered: each has one collection of its own name, open to everyone. */
async function mark(service: TestService, slug: string): Promise<void> {
  await service.withInstance(slug, (instance) => upsertSuperuser(instance, email, password));
  const base = `/i/${slug}/api/collections`;
  const { json } = await service.request(`${base}/_superusers/auth-with-password`, {
    method: 'POST',
    body: { identity: email, password },
  });
  const made = await service.request(base, {
    method: 'POST',
    token: String(json.token),
    body: { name: 'here', listRule: '', createRule: '', viewRule: '' },
  });
  assert.equal(made.status, 200);
  await service.request(base, {
    method: 'POST',
    token: String(json.token),
    body: { name: `only_${slug}`, listRule: '' },
  });
}

test('T-05 an instance is reached by its host in any case and with any port, or by /i/slug on hosts of none', async (t) => {
  const service = await withInstances(t, { one: 'one.example', two: null });
  for (const slug of ['default', 'one', 'two']) if (slug !== 'one') await mark(service, slug);
  const table: readonly (readonly [string, string, number])[] = [
    ['a.example', '/api/records/only_default', 200],
    ['127.0.0.1:8090', '/api/records/only_default', 200],
    ['[::1]:8090', '/api/records/only_default', 200],
    ['a.example', '/i/default/api/records/only_default', 200],
    ['a.example', '/i/two/api/records/only_two', 200],
    ['a.example', '/i/two/api/records/only_default', 404],
    ['a.example', '/api/records/only_two', 404],
    ['one.example', '/api/health', 200],
    ['one.example', '/api/records/only_default', 404],
    ['ONE.Example:65535', '/api/records/only_default', 404],
    ['one.example.', '/api/records/only_default', 404],
    ['one.example:1', '/api/health', 200],
    ['xone.example', '/api/records/only_default', 200],
    ['one.example.evil.example', '/api/records/only_default', 200],
    // On a host of an instance there is no way to another one.
    ['one.example', '/i/two/api/records/only_two', 404],
    ['one.example', '/i/one/api/health', 404],
    ['a.example', '/i/one/api/health', 200],
  ];
  for (const [host, path, status] of table)
    assert.equal((await get(t, service, { host, path })).status, status, `${host} ${path}`);
});

test('T-03 T-05 a slug is taken as it is written: anything but a known one is not found, in the same words', async (t) => {
  const service = await withInstances(t, { two: null });
  const paths = [
    '/i/nope/api/health',
    '/i/TWO/api/health',
    '/i/%74wo/api/health',
    '/i/two%20/api/health',
    '/i/two;a/api/health',
    '/i/two./api/health',
    '/i//api/health',
    '/i/two',
    '/i/two/',
    '/i/two?/api/health',
    '/i',
    '/i/',
    '/I/two/api/health',
    '/i/two/i/two/api/health',
    '/i/two/../default/api/health',
    '/i/default/../two/api/health',
    '/i/../api/health',
    '/i/./api/health',
    '/i/%2e%2e/api/health',
    '/i/two%2Fapi/health',
    '/i/__proto__/api/health',
    '/i/constructor/api/health',
    '/i/a%0d%0ab/api/health',
    '/i/%00/api/health',
    `/i/${'a'.repeat(5_000)}/api/health`,
    '//i/two/api/health',
    '/i/two//api/health',
  ];
  for (const path of paths) {
    const answer = await get(t, service, { host: 'a.example', path });
    assert.deepEqual([answer.status, answer.body], [404, notFound], path);
    assert.equal(answer.headers.has('allow'), false);
  }
  const unknown = await sendRaw(t, service.url, rawRequest('PUT /i/nope/api/health'));
  assert.deepEqual([unknown.status, unknown.headers.has('allow')], [404, false]);
});

test('with --strict-hosts only hosts that are bound are answered, and /i/slug is no way around', async (t) => {
  const service = await startService(t);
  await service.app.data.directory.create('one', 'one.example');
  await service.app.data.directory.create('two', null);
  await service.stop();
  const { url } = await startStrict(t, service.data);
  const ask = (host: string, path: string): Promise<RawAnswer> =>
    sendRaw(t, url, rawRequest(`GET ${path}`, { Host: host }));
  assert.equal((await ask('one.example', '/api/health')).status, 200);
  for (const [host, path] of [
    ['a.example', '/api/health'],
    ['127.0.0.1', '/api/health'],
    ['a.example', '/i/one/api/health'],
    ['a.example', '/i/default/api/health'],
    ['a.example', '/i/two/api/health'],
    ['one.example', '/i/two/api/health'],
  ] as const) {
    const answer = await ask(host, path);
    assert.deepEqual([answer.status, answer.body], [404, notFound], `${host} ${path}`);
  }
  // Probes come by address and ask for no instance.
  assert.equal((await ask('127.0.0.1', '/api/health/live')).status, 200);
});

/** `startService` signs in over HTTP by address, which a strict server does not answer. */
async function startStrict(t: TestContext, data: string): Promise<{ readonly url: string }> {
  const { startApp } = await import('../../src/app.ts');
  const config = await testConfig(data, { 'strict-hosts': true, 'log-level': 'error' });
  const app = await startApp(config);
  atEnd(t, () => app.stop());
  return app;
}

test('T-01 T-06 T-08 a token of one instance is a guest in another, and equal ids are two records', async (t) => {
  const service = await withInstances(t, { one: null, two: null });
  const tokens = new Map<string, string>();
  for (const slug of ['one', 'two']) {
    await mark(service, slug);
    const body = { identity: email, password };
    const { json } = await service.request(`/i/${slug}/api/collections/_superusers/auth-with-password`, {
      method: 'POST',
      body,
    });
    tokens.set(slug, json.token);
  }
  for (const [own, other] of [
    ['one', 'two'],
    ['two', 'one'],
    ['one', 'default'],
  ] as const) {
    const token = tokens.get(own)!;
    const routes: readonly (readonly [string, string, number])[] = [
      ['GET', '/api/collections', 401],
      ['POST', '/api/collections', 401],
      ['GET', '/api/collections/here', 401],
      ['PATCH', '/api/collections/here', 401],
      ['DELETE', '/api/collections/_superusers', 401],
      ['GET', '/api/records/_superusers', 403],
      ['PATCH', '/api/records/_superusers/aaaaaaaaaaaaaaa', 403],
      ['DELETE', '/api/collections/_superusers/records/aaaaaaaaaaaaaaa', 403],
      ['POST', '/api/collections/_superusers/auth-refresh', 401],
      ['GET', '/api/webhooks/endpoints', 401],
      ['POST', '/api/webhooks/endpoints', 401],
      ['GET', '/api/webhooks/endpoints/aaaaaaaaaaaaaaa', 401],
      ['GET', '/api/webhooks/endpoints/aaaaaaaaaaaaaaa/secret', 401],
      ['PATCH', '/api/webhooks/endpoints/aaaaaaaaaaaaaaa', 401],
      ['DELETE', '/api/webhooks/endpoints/aaaaaaaaaaaaaaa', 401],
      ['POST', '/api/webhooks/endpoints/aaaaaaaaaaaaaaa/test', 401],
      ['GET', '/api/webhooks/deliveries', 401],
      ['GET', '/api/webhooks/deliveries/a', 401],
      ['POST', '/api/webhooks/deliveries/a/retry', 401],
    ];
    for (const [method, path, status] of routes) {
      const answer = await service.request(`/i/${other}${path}`, {
        method,
        token,
        ...(method === 'GET' ? {} : { body: {} }),
      });
      assert.equal(answer.status, status, `${method} /i/${other}${path}`);
    }
    const health = await service.request(`/i/${other}/api/health`, { token });
    assert.deepEqual(health.json.data, {});
    assert.equal((await service.request(`/i/${own}/api/health`, { token })).json.data.engine, testEngine);
  }
  const id = 'a'.repeat(15);
  for (const slug of ['one', 'two'])
    assert.equal(
      (await service.request(`/i/${slug}/api/records/here`, { method: 'POST', body: { id } })).status,
      201,
    );
  const gone = await service.request(`/i/one/api/records/here/${id}`, {
    method: 'DELETE',
    token: tokens.get('one')!,
  });
  assert.equal(gone.status, 204);
  assert.equal((await service.request(`/i/two/api/records/here/${id}`)).status, 200);
});

test('T-18 forty instances that are asked for at the same moment are all opened, each once', async (t) => {
  const service = await startService(t);
  const slugs = Array.from({ length: 40 }, (_, index) => `s${index}`);
  for (const slug of slugs) await service.app.data.directory.create(slug, null);
  const paths = [...slugs, ...slugs, ...slugs].map(
    (slug) => `/i/${slug}/api/collections/_superusers/auth-refresh`,
  );
  const ask = (path: string): Promise<TestAnswer> =>
    eventually(path, async () => {
      const answer = await service.request(path, { method: 'POST' });
      // A slow machine may be too busy for a moment, and says so.
      return answer.status === 503 ? undefined : answer;
    });
  const answers = await Promise.all(paths.map(ask));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([401]));
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('slugs and hosts of instances are checked and belong to one', async (t) => {
  const service = await withInstances(t, { one: 'one.example' });
  const { directory } = service.app.data;
  for (const slug of ['', 'a', 'A1', '1a', 'a_b', 'a b', 'a/b', '..', 'a'.repeat(41), 'é1', 'one', 'default'])
    await assert.rejects(directory.create(slug, null), { code: 'bad_request' }, slug);
  for (const host of [
    '',
    'One.example',
    'a:80',
    '-a',
    'a-',
    'a..b',
    'a b',
    'a/b',
    '[::1]',
    'a'.repeat(254),
    'é.example',
    'one.example',
  ])
    await assert.rejects(directory.create('two', host), { code: 'bad_request' }, host);
  assert.equal(directory.findBySlug('two'), undefined);
});
