// Both engines: labels, slugs and quotas are values of each, and changes are transactions of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

interface Stage {
  readonly service: TestService;
  readonly key: string;
  readonly call: ReturnType<typeof operatorCaller>;
  /** Sends JSON as it is written, with what JSON.stringify does not write. */
  readonly send: (line: string, json: string) => Promise<TestAnswer>;
}

async function startStage(t: TestContext): Promise<Stage> {
  const service = await startService(t);
  const { key } = await makeOperatorKey(service);
  const send: Stage['send'] = async (line, json) => {
    const [method = '', path = ''] = line.split(' ');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${service.url}/api/operator${path}`, { method, headers, body: json });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
  };
  return { service, key, call: operatorCaller(service, key), send };
}

test('slugs, hosts, labels and quotas of every wrong form are refused by their name, and make no instance', async (t) => {
  const { call, send } = await startStage(t);
  const before = (await call(200, 'GET /instances')).json.totalItems;
  const long = 'x'.repeat(64 * 1024);
  const wrong: readonly (readonly [member: string, value: string])[] = [
    ...[
      '..',
      '.',
      '',
      'a',
      'A-b',
      'a/b',
      'a%2fb',
      'a b',
      '1abc',
      '-ab',
      '~id',
      'ä-b',
      'ａｂ',
      'a\u0000b',
      'ab\n',
      'a'.repeat(41),
      long,
    ].map((slug) => ['slug', JSON.stringify(slug)] as const),
    ...['1', 'null', '["ab"]', '{"a":1}', 'true'].map((json) => ['slug', json] as const),
    ...[
      'a.example.com:443',
      'a.example.com.',
      '.example.com',
      '*.example.com',
      '[::1]',
      '::1',
      'a_b.example.com',
      'http://a.com',
      'a..b',
      'ä.com',
      '-a.com',
      '',
      'a.com\r\nx: y',
      `${'a'.repeat(250)}.com`,
    ].map((host) => ['host', JSON.stringify(host)] as const),
    ...['1', '["a.com"]', 'false'].map((json) => ['host', json] as const),
    ...[
      { a: long },
      { '': 'x' },
      { 'a b': 'x' },
      { a: 1 },
      { a: null },
      { a: { b: 'c' } },
      { [long]: 'x' },
    ].map((labels) => ['labels', JSON.stringify(labels)] as const),
    ['labels', JSON.stringify(Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`l${at}`, ''])))],
    ['labels', '[]'],
    ['labels', '{"__proto__":{"admin":"yes"}}'],
    ...['-1', '1.5', '1e400', '9007199254740993', '1e13', '"5"', 'true', 'null', '[1]', '{}'].map(
      (number) => ['quotas', `{"records":${number}}`] as const,
    ),
    ['quotas', '{"requestsPerSecond":0}'],
    ['quotas', '{"nothing":1}'],
    ['quotas', '{"__proto__":1}'],
    ['quotas', '{"constructor":1}'],
    ['quotas', '[]'],
    ['quotas', '5'],
  ];
  await call(201, 'POST /instances', { body: { slug: 'there' } });
  for (const [member, value] of wrong) {
    const what = `${member} ${value.slice(0, 80)}`;
    const parts = member === 'slug' ? `"slug":${value}` : `"slug":"fresh-one","${member}":${value}`;
    for (const line of ['POST /instances', 'PATCH /instances/there']) {
      const body = line.startsWith('PATCH') ? `{"${member}":${value}}` : `{${parts}}`;
      const { status, json } = await send(line, body);
      assert.equal(status, 400, `${line} ${what}`);
      // The JSON itself is refused.
      const isNoJson = /\\u0000|1e400|9007199254740993/.test(value);
      assert.deepEqual(
        Object.keys(json.data),
        isNoJson ? [] : [member],
        `${line} ${what}: ${JSON.stringify(json)}`,
      );
    }
  }
  const { items, totalItems } = (await call(200, 'GET /instances')).json;
  assert.equal(totalItems, before + 1);
  const { slug, host, labels, quotas } = items[totalItems - 1];
  assert.deepEqual([slug, host, labels, quotas], ['there', null, {}, {}]);
  assert.equal(Object.hasOwn(Object.prototype, 'admin'), false);
});

test('labels with the names of members of all objects, and texts that an engine trips over, are kept and found', async (t) => {
  const { call, send } = await startStage(t);
  const labels = {
    constructor: 'c',
    toString: 't',
    hasOwnProperty: 'h',
    'a.b': 'dotted',
    a: 'plain',
    quote: `'"\\\u0001`,
    emoji: '🎉',
    long: '日'.repeat(255),
  };
  // What is no text on both engines.
  for (const refused of ['{"a":"\\u0000"}', '{"a":"\\ud83d"}'])
    assert.equal((await send('POST /instances', `{"slug":"shop","labels":${refused}}`)).status, 400, refused);
  const json = JSON.stringify({ slug: 'shop', labels }).replace('"labels":{', '"labels":{"__proto__":"p",');
  assert.equal((await send('POST /instances', json)).status, 201);
  await call(201, 'POST /instances', { body: { slug: 'other', labels: { a: 'else' } } });
  const { labels: kept } = (await call(200, 'GET /instances/shop')).json;
  assert.deepEqual(
    Object.entries(kept).find(([name]) => name === '__proto__'),
    ['__proto__', 'p'],
  );
  for (const [name, value] of Object.entries(labels)) assert.equal(kept[name], value, name);
  for (const filter of [
    "labels.a = 'plain'",
    "labels.a.b = 'dotted'",
    "labels.constructor = 'c'",
    "labels.emoji = '🎉'",
    "labels.__proto__ = 'p'",
    "labels.hasOwnProperty ~ 'h'",
  ]) {
    const { items } = (await call(200, `GET /instances?${new URLSearchParams({ filter }).toString()}`)).json;
    assert.deepEqual([items.length, items[0]?.slug], [1, 'shop'], filter);
  }
  await call(200, `GET /instances?${new URLSearchParams({ sort: '-labels.a,labels.nothing' }).toString()}`);
});

test('paths with names of every wrong form are 404 or 400, and no 5xx', async (t) => {
  const { service, key } = await startStage(t);
  for (const name of [
    '..%2f',
    '%00',
    'a%00b',
    '%ff',
    '%',
    'a%2fb',
    '__proto__',
    '%F0%9F%8E%89',
    'x'.repeat(5_000),
    "'",
    '%27%20OR%201=1',
    '~x',
    '*',
  ])
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/suspend'],
      ['POST', '/restore'],
      ['POST', '/clone'],
      ['POST', '/backups'],
      ['GET', '/archive'],
      ['GET', '/usage'],
      ['POST', '/keys'],
    ] as const) {
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: '{"slug":"fresh-one"}' };
      const answer = await fetch(`${service.url}/api/operator/instances/${name}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...body,
      });
      const text = await answer.text();
      assert.ok(
        [400, 404, 405, 414, 431].includes(answer.status),
        `${method} ${name.slice(0, 20)}${path}: ${answer.status} ${text.slice(0, 200)}`,
      );
    }
});

test('an operator key counts in the header alone, whole, and with its own letters', async (t) => {
  const { service, key } = await startStage(t);
  const ask = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
    (await fetch(service.url + path, { headers })).status;
  const path = '/api/operator/instances';
  for (const query of ['token', 'key', 'authorization', 'access_token'])
    assert.equal(await ask(`${path}?${query}=${key}`), 401, query);
  assert.equal(await ask(path, { cookie: `authorization=${key}` }), 401);
  assert.equal(
    await ask(path, { authorization: `Basic ${Buffer.from(`x:${key}`).toString('base64')}` }),
    401,
  );
  for (const wrong of [
    key.slice(0, -1),
    `${key}A`,
    key.toUpperCase(),
    key.replace('co_', 'ck_'),
    key.slice(0, 20),
    'co_',
    `co_${'A'.repeat(5_000)}`,
  ])
    assert.equal(await ask(path, { authorization: `Bearer ${wrong}` }), 401, wrong.slice(0, 30));
  for (let at = 0; at < key.length; at += 1) {
    const other = key[at] === 'x' ? 'y' : 'x';
    const altered = key.slice(0, at) + other + key.slice(at + 1);
    assert.equal(await ask(path, { authorization: `Bearer ${altered}` }), 401, `${at}`);
  }
  assert.equal(await ask(path, { authorization: `Bearer ${key}` }), 200);
});

test('changes of one instance at once are all made, and a slug that two want goes to one', async (t) => {
  const { call, service, key } = await startStage(t);
  for (const slug of ['one', 'two']) await call(201, 'POST /instances', { body: { slug } });
  const patch = (name: string, body: object): Promise<TestAnswer> =>
    service.request(`/api/operator/instances/${name}`, { method: 'PATCH', token: `Bearer ${key}`, body });
  const { id } = (await call(200, 'GET /instances/one')).json;
  const changes = [{ labels: { a: '1' } }, { quotas: { records: 5 } }, { host: 'one.example.com' }];
  const answers = await Promise.all(changes.flatMap((body) => [patch(id, body), patch(id, body)]));
  for (const { status, text } of answers) assert.equal(status, 200, text);
  const { labels, quotas, host } = (await call(200, `GET /instances/${id}`)).json;
  assert.deepEqual(
    { labels, quotas, host },
    { labels: { a: '1' }, quotas: { records: 5 }, host: 'one.example.com' },
  );
  const wanted = await Promise.all(['one', 'two'].map((name) => patch(name, { slug: 'wanted' })));
  assert.deepEqual(
    wanted.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, 400],
  );
  assert.deepEqual(Object.keys(wanted.find(({ status }) => status === 400)?.json.data), ['slug']);
  // A rename and a deletion of it: either comes first, and nothing is half done.
  const [renamed, deleted] = await Promise.all([
    patch(id, { slug: 'renamed' }),
    service.request(`/api/operator/instances/${id}`, { method: 'DELETE', token: `Bearer ${key}` }),
  ]);
  assert.ok(deleted.status < 300, deleted.text);
  assert.ok([200, 404].includes(renamed.status), renamed.text);
  assert.equal((await call(200, `GET /instances/${id}`)).json.state, 'deleted');
});

test('an instance that is deleted, renamed or taken while it is created is made whole first', async (t) => {
  const { service, key } = await startStage(t);
  const token = `Bearer ${key}`;
  const path = '/api/operator/instances';
  const superuser = { email: 'ann@example.com', password: 'correct horse battery' };
  const creating = service.request(path, { method: 'POST', token, body: { slug: 'shop', superuser } });
  const during = await Promise.all(
    Array.from({ length: 20 }, () => service.request(`${path}/shop`, { method: 'DELETE', token })),
  );
  const created = await creating;
  assert.equal(created.status, 201, created.text);
  for (const { status, text } of during) assert.ok([200, 204, 404].includes(status), text);
  const now = await service.request(`${path}/${created.json.id}`, { token });
  assert.equal(now.json.state, during.some(({ status }) => status < 300) ? 'deleted' : 'active');
});
