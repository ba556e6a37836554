import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import type { TestRequest } from '../support/service.ts';
import { startWebhookService, type Json } from '../support/webhook-service.ts';

const refusedTarget = 'This address is not allowed as a webhook target.';
const noHttps = 'The URL must begin with https://.';

const wrong: readonly (readonly [name: string, settings: Json, member: string, message: RegExp])[] = [
  ['no url', { url: undefined }, 'url', /^Cannot be blank\.$/],
  ['an empty url', { url: '' }, 'url', /^Cannot be blank\.$/],
  ['a url that is no text', { url: 7 }, 'url', /^Must be text\.$/],
  ['a url that is none', { url: 'nowhere' }, 'url', /is invalid/],
  ['W-15 a url that is not written in full', { url: 'https:example.com' }, 'url', /written in full/],
  ['W-15 a url with a blank', { url: ' https://example.com/' }, 'url', /must not contain blanks/],
  ['W-58 a port of another protocol', { url: 'https://example.com:6379/' }, 'url', /^Port 6379 is/],
  ['W-13 another scheme', { url: 'ftp://example.com/' }, 'url', /must begin with https/],
  ['W-11 userinfo', { url: 'https://good@example.com/' }, 'url', /user name or password/],
  ['W-15 a url of 10 KB', { url: `https://example.com/${'a'.repeat(10_240)}` }, 'url', /at most 2048/],
  ['a description that is no text', { description: 7 }, 'description', /at most 1000/],
  ['a description that is too long', { description: 'x'.repeat(1_001) }, 'description', /at most 1000/],
  ['no events', { events: [] }, 'events', /one or more of record\.create, record\.update, record\.delete/],
  ['events that are no array', { events: 'record.create' }, 'events', /one or more/],
  ['W-50 an event with a wildcard', { events: ['record.*'] }, 'events', /one or more/],
  ['W-50 one unknown event among known ones', { events: ['record.create', 'ping'] }, 'events', /one or more/],
  ['collections that are no array', { collections: 'posts' }, 'collections', /array of at most 200/],
  ['W-50 an unknown collection', { collections: ['%'] }, 'collections', /There is no collection "%"/],
  ['W-50 a collection that is no text', { collections: [{}] }, 'collections', /There is no collection \{\}/],
  [
    'a collection that tells of nothing',
    { collections: ['posts', '_superusers'] },
    'collections',
    /^Changes of _superusers emit no events\.$/,
  ],
  ['too many collections', { collections: Array(201).fill('posts') }, 'collections', /at most 200/],
  ['maxInFlight 0', { maxInFlight: 0 }, 'maxInFlight', /between 1 and 64/],
  ['maxInFlight 65', { maxInFlight: 65 }, 'maxInFlight', /between 1 and 64/],
  ['maxInFlight as text', { maxInFlight: '4' }, 'maxInFlight', /between 1 and 64/],
  ['a timeout of 999 ms', { timeoutMs: 999 }, 'timeoutMs', /between 1000 and 30000/],
  ['a timeout of 30.001 s', { timeoutMs: 30_001 }, 'timeoutMs', /between 1000 and 30000/],
  ['a timeout with a fraction', { timeoutMs: 1_500.5 }, 'timeoutMs', /between 1000 and 30000/],
  ['a schedule that is no array', { schedule: 5 }, 'schedule', /null or up to 50 integers/],
  ['a schedule with a delay of 0', { schedule: [0] }, 'schedule', /between 1 and 604800/],
  ['a schedule with a delay of 8 days', { schedule: [691_200] }, 'schedule', /between 1 and 604800/],
  ['a schedule of 51 delays', { schedule: Array(51).fill(1) }, 'schedule', /up to 50/],
  ['W-40 a secret that is too short', { secret: 'fifteen letters' }, 'secret', /16 to 256/],
  ['W-40 a secret of 1 KB', { secret: 'x'.repeat(1_024) }, 'secret', /16 to 256/],
  ['W-40 a secret that is not base64', { secret: 'whsec_not base64 at all' }, 'secret', /base64/],
  ['W-40 a secret of control characters', { secret: 'sixteen letters\n!' }, 'secret', /printable ASCII/],
  ['a secret that is no text', { secret: 1234567890123456 }, 'secret', /must be text/],
  ['a status that none has', { status: 'disabled' }, 'status', /Must be active or paused/],
  ['a filter that ends too soon', { filter: 'title =' }, 'filter', /at position 7/],
  ['an order of another kind', { order: 'reverse' }, 'order', /Must be one of none, record, strict/],
  ['a negative rate limit', { rateLimit: -1 }, 'rateLimit', /between 0 and 10000/],
  ['a slip in a name', { event: ['record.delete'] }, 'event', /no such member\. Did you mean events\?$/],
  [
    'a collection, of which there may be several',
    { collection: 'posts' },
    'collection',
    /mean collections\?/,
  ],
  ['one header', { header: {} }, 'header', /Did you mean headers\?/],
  ['a name in snake case', { max_in_flight: 1 }, 'max_in_flight', /Did you mean maxInFlight\?/],
  ['a name like none', { nope: null }, 'nope', /no such member\. Expected name, url, description, events/],
  ['what every object has', { constructor: 1 }, 'constructor', /no such member/],
  ['headers that are no object', { headers: ['x-a'] }, 'headers', /Must be an object/],
  ['W-38 too many headers', { headers: numberedHeaders(51) }, 'headers', /at most 50/],
];

test('what is wrong with an endpoint is said by member, when it is made and when it is changed', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  for (const [name, settings, member, message] of wrong) {
    const body = { url: service.receiver.url, ...settings };
    const made = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
    assert.equal(made.message, 'Failed to create endpoint.', name);
    assert.deepEqual(Object.keys(made.data), [member], name);
    assert.match(made.data[member].message, message, name);
    const checked = await service.call('POST', '/api/webhooks/endpoints/check', { body });
    assert.deepEqual(checked.problems, made.data, name);
    // An update may leave the url out, and leaves the secret and the status alone.
    if (member === 'secret' || member === 'status' || (settings.url === undefined && member === 'url'))
      continue;
    const changed = await service.call('PATCH', `/api/webhooks/endpoints/${id}`, {
      body: settings,
      status: 400,
    });
    // Only a new endpoint has its status and its secret set.
    const ofUpdate = JSON.stringify(made.data).replace(', status, secret.', '.');
    assert.deepEqual(changed.data, JSON.parse(ofUpdate), name);
    const draft = { body: { id, ...settings } };
    const again = await service.call('POST', '/api/webhooks/endpoints/check', draft);
    assert.deepEqual(again.problems, changed.data, name);
  }
  assert.equal((await service.call('GET', '/api/webhooks/endpoints')).totalItems, 1);
});

const ourHeaders = [
  'Host Content-Length Content-Type Transfer-Encoding Connection Keep-Alive Upgrade TE Trailer Expect',
  'Proxy-Authorization Accept-Encoding User-Agent Webhook-Id webhook-x X-Service-Signature x-service-anything',
].flatMap((line) => line.split(' '));

const forbiddenHeaders: readonly (readonly [name: string, headers: Json, message: RegExp])[] = [
  ...ourHeaders.map((name) => [name, { [name]: 'x' }, /set by the service itself/] as const),
  ['an empty name', { '': 'x' }, /Must be a header name/],
  ['a name with a space', { 'x y': 'x' }, /Must be a header name/],
  ['a name with a line end', { 'x-a\r\nHost': 'x' }, /Must be a header name/],
  ['a line end', { 'x-a': 'a\r\nHost: evil' }, /printable ASCII/],
  ['a control character', { 'x-a': 'a\x01b' }, /printable ASCII/],
  ['a value beyond ASCII', { 'x-a': 'é' }, /printable ASCII/],
  ['an empty value', { 'x-a': '' }, /printable ASCII/],
  ['a value of 8 KB', { 'x-a': 'x'.repeat(8_192) }, /at most 4096/],
  ['a value that is no text', { 'x-a': 7 }, /printable ASCII/],
  ['a mask with nothing behind it', { 'x-token': '********' }, /printable ASCII/],
  ['a mask over what every object has', { constructor: '********' }, /printable ASCII/],
];

test('W-38 headers that are ours, or no headers at all, are refused by name', async (t) => {
  const service = await startWebhookService(t);
  for (const [name, headers, message] of forbiddenHeaders) {
    const body = { url: service.receiver.url, headers: { ...headers, 'x-fine': 'y' } };
    const answer = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
    const [header, ...others] = Object.entries<Json>(answer.data.headers);
    assert.equal(others.length, 0, name);
    assert.equal(header?.[0], Object.keys(headers)[0], name);
    assert.match(header?.[1].message, message, name);
  }
});

test('W-38 headers are sent, and the values of secret ones are never shown again', async (t) => {
  const service = await startWebhookService(t);
  const headers = { Authorization: 'Bearer of news', Cookie: 'a=b', 'X-Api-Key': 'k-1', 'x-tenant': 'acme' };
  const endpoint = await service.addEndpoint({ headers });
  const mask = '********';
  const shown = { authorization: mask, cookie: mask, 'x-api-key': mask, 'x-tenant': 'acme' };
  assert.deepEqual(endpoint.headers, shown);
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  // The mask sent back means the value that is there; what is left out is gone.
  const { cookie: _, ...rest } = shown;
  const body = { headers: { ...rest, 'x-tenant': 'other' } };
  assert.deepEqual((await service.call('PATCH', path, { body })).headers, { ...rest, 'x-tenant': 'other' });
  await service.addPost();
  const [request] = await service.receiver.waitForRequests(1);
  assert.deepEqual(
    ['authorization', 'x-api-key', 'x-tenant', 'cookie'].map((name) => request?.headers[name]),
    ['Bearer of news', 'k-1', 'other', undefined],
  );
});

test('W-38 secret headers go to no other server than the one for which they were given', async (t) => {
  const service = await startWebhookService(t);
  const headers = { Authorization: 'Bearer of news', 'X-Api-Key': 'k-1', 'x-tenant': 'acme' };
  const endpoint = await service.addEndpoint({ name: 'shop', headers });
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  const elsewhere = 'http://127.0.0.1:9/';
  const shown = { ...endpoint.headers };
  for (const body of [
    { url: elsewhere },
    { url: elsewhere, headers: shown },
    { url: elsewhere, headers: { ...shown, AUTHORIZATION: 'Bearer of others', authorization: undefined } },
  ]) {
    const refused = await service.call('PATCH', path, { body, status: 400 });
    assert.equal(
      refused.data.headers['x-api-key'].message,
      'Must be set again: this server has never received it.',
    );
    assert.equal(Object.hasOwn(refused.data.headers, 'x-tenant'), false);
  }
  const endpoints = [{ name: 'shop', url: elsewhere, headers: shown }];
  await service.call('PUT', '/api/webhooks/endpoints/import', { body: { endpoints }, status: 400 });
  assert.equal((await service.call('GET', path)).url, endpoint.url);
  // Another path of the same server is no other server, and what is given again may go anywhere.
  const other = { url: `${endpoint.url}other` };
  assert.equal((await service.call('PATCH', path, { body: other })).url, other.url);
  const again = await service.call('PATCH', path, { body: { url: elsewhere, headers } });
  assert.equal(again.url, elsewhere);
  await service.call('PATCH', path, { body: { url: other.url, headers: { 'x-tenant': 'acme' } } });
});

test('an endpoint may be sent back as it is shown, also when a collection of it is called like those that tell nobody', async (t) => {
  const service = await startWebhookService(t);
  const collections = [(await service.call('GET', '/api/collections/posts')).id];
  const endpoint = await service.addEndpoint({ collections });
  await service.call('PATCH', '/api/collections/posts', { body: { name: '_posts' } });
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  const body = { ...(await service.call('GET', path)), description: 'changed' };
  assert.equal((await service.call('PATCH', path, { body })).description, 'changed');
  // The answer of its creation has the secret, too.
  assert.equal(
    (await service.call('PATCH', path, { body: { ...endpoint, description: 'again' } })).description,
    'again',
  );
});

const privateTargets: readonly (readonly [url: string, message: string])[] = [
  ['http://example.com/', noHttps],
  ['http://127.0.0.1:9/', noHttps],
  ['https://127.0.0.1:9/', refusedTarget],
  ['https://localhost/', refusedTarget],
  ['https://2130706433/', refusedTarget],
  ['https://①②⑦.⓪.⓪.①/', refusedTarget],
  ['https://[::1]/', refusedTarget],
  ['https://[::ffff:127.0.0.1]/', refusedTarget],
  ['https://10.0.0.1/', refusedTarget],
  ['https://192.168.1.1/', refusedTarget],
  ['https://169.254.169.254/latest/meta-data', refusedTarget],
  ['https://[fd00:ec2::254]/', refusedTarget],
  ['https://metadata.google.internal/', refusedTarget],
];

test('W-01 W-03 W-05 without --dev neither this machine nor a private network nor plain HTTP is a target', async (t) => {
  const service = await startWebhookService(t, { flags: { dev: false } });
  for (const [url, message] of privateTargets) {
    const answer = await service.request('/api/webhooks/endpoints', {
      method: 'POST',
      token: true,
      // To a proxy's clients, options of the server mean nothing.
      headers: { 'X-Forwarded-For': '192.0.2.1' },
      body: { url },
    });
    assert.equal(answer.json.data.url.message, message, url);
  }
  await service.call('POST', '/api/webhooks/endpoints', {
    body: { url: 'https://hooks.example.com/' },
    status: 201,
  });
});

test('W-55 only the operator is told which flag would allow a URL, on save and on change', async (t) => {
  const service = await startWebhookService(t, { flags: { dev: false } });
  await service.app.data.directory.create('other', null);
  const body = { identity: 'other@example.com', password: 'correct horse' };
  await service.withInstance('other', (instance) => upsertSuperuser(instance, body.identity, body.password));
  const signIn = '/i/other/api/collections/_superusers/auth-with-password';
  const { token } = (await service.request(signIn, { method: 'POST', body })).json;
  const { id } = await service.addEndpoint({ url: 'https://hooks.example.com/' });
  const endpoints = '/api/webhooks/endpoints';
  const reasonOf = async (url: string, path: string, options: TestRequest): Promise<string> => {
    const answer = await service.request(path, { token: true, body: { url }, ...options });
    assert.equal(answer.status, 400, answer.text);
    return answer.json.data.url.message;
  };
  for (const [url, reason, flag] of [
    ['https://10.0.0.1/', refusedTarget, '--allow-net 10.0.0.1'],
    ['http://localhost:3000/', noHttps, '--dev'],
    ['https://example.com:22/', 'Port 22 is that of another protocol', '--allow-ports 22'],
  ] as const) {
    const post = { method: 'POST' };
    for (const told of [
      await reasonOf(url, endpoints, post),
      await reasonOf(url, `${endpoints}/${id}`, { method: 'PATCH' }),
    ])
      assert.ok(told.startsWith(reason) && told.includes(flag), told);
    for (const told of [
      await reasonOf(url, `/i/other${endpoints}`, { ...post, token }),
      await reasonOf(url, endpoints, { ...post, headers: { 'X-Real-IP': '127.0.0.1' } }),
    ])
      assert.ok(told.startsWith(reason) && !told.includes('--'), told);
  }
});

test('a private network that the operator has named is a target, by plain HTTP too, and the next one is not', async (t) => {
  const service = await startWebhookService(t, { flags: { dev: false, 'allow-net': '127.0.0.1/32' } });
  const endpoint = await service.addEndpoint();
  assert.equal(endpoint.url, service.receiver.url);
  await service.addPost();
  await service.receiver.waitForRequests(1);
  const body = { url: service.receiver.urlAt('127.0.0.2') };
  const answer = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
  assert.match(answer.data.url.message, /^The URL must begin with https/);
});

test('W-10 what was allowed when it was saved is judged again at each attempt', async (t) => {
  const before = await startWebhookService(t);
  await before.addEndpoint({ schedule: [] });
  await before.stop();
  const after = await startWebhookService(t, { data: before.data, flags: { dev: false } });
  await after.addPost();
  const { attempts } = await after.delivery('a refused delivery', ({ status }) => status === 'exhausted');
  assert.deepEqual([attempts[0].kind, attempts[0].connectMs], ['refused', null]);
  assert.equal(before.receiver.connectionCount, 0);
});

test('W-58 a port that was allowed when it was saved is judged again at each attempt', async (t) => {
  const before = await startWebhookService(t, { flags: { 'allow-ports': '11211,6379' } });
  await before.addEndpoint({ url: 'http://127.0.0.1:11211/', schedule: [] });
  await before.stop();
  const after = await startWebhookService(t, { data: before.data, flags: { 'allow-ports': '6379' } });
  await after.addPost();
  const { attempts } = await after.delivery('a refused delivery', ({ status }) => status === 'exhausted');
  assert.deepEqual([attempts[0].kind, attempts[0].connectMs], ['refused', null]);
});

function numberedHeaders(count: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'x']));
}
