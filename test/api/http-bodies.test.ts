import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { RawConnection, rawRequest, sendRaw } from '../support/raw-http.ts';
import { startService, type TestService } from '../support/service.ts';

const records = '/api/collections/posts/records';

async function withPosts(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const body = {
    name: 'posts',
    listRule: '',
    viewRule: '',
    createRule: '',
    fields: [
      { name: 'title', type: 'text' },
      { name: 'count', type: 'number' },
      { name: 'extra', type: 'json' },
    ],
  };
  assert.equal(
    (await service.request('/api/collections', { method: 'POST', token: true, body })).status,
    200,
  );
  return service;
}

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels);
}

const refused: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
  ['nothing but an opening brace', '{', /not valid JSON/],
  ['a word', 'nope', /not valid JSON/],
  ['a comment', '{}//', /not valid JSON/],
  ['A14 bytes after the value', '{"title":"a"} x', /not valid JSON/],
  ['two values', '{}{}', /not valid JSON/],
  ['a trailing comma', '{"title":"a",}', /not valid JSON/],
  ['single quotes', "{'title':'a'}", /not valid JSON/],
  ['NaN', '{"count":NaN}', /not valid JSON/],
  ['two byte order marks', '\ufeff\ufeff{}', /not valid JSON/],
  ['a byte order mark behind the value', '{}\ufeff', /not valid JSON/],
  ['spaces only', '  ', /not valid JSON/],
  ['H-43 null', 'null', /object/],
  ['H-43 an array', '[]', /object/],
  ['H-43 a text', '"x"', /object/],
  ['H-43 a number', '1', /object/],
  ['H-43 true', 'true', /object/],
  ['H-45 100,000 arrays', `{"extra":${nested(100_000)}}`, /64 levels/],
  ['H-45 1,000,000 objects', '{"a":'.repeat(1_000_000), /64 levels/],
  ['H-46 one level too many', `{"extra":${nested(64)}}`, /64 levels/],
  ['more than a million values', `{"extra":[${'1,'.repeat(1_000_001)}1]}`, /1000000 values/],
  ['H-51 a key twice', '{"title":"a","title":"b"}', /"title" is repeated/],
  ['H-51 a key twice, once escaped', '{"title":"a","\\u0074itle":"b"}', /"title" is repeated/],
  ['H-53 U+0000 in a text', '{"title":"a\\u0000"}', /U\+0000/],
  ['H-53 U+0000 in a key', '{"a\\u0000":1}', /U\+0000/],
  ['H-53 U+0000 in a json field', '{"extra":{"a":["\\u0000"]}}', /U\+0000/],
  ['A14 a high surrogate alone', '{"title":"\\ud800"}', /surrogate/],
  ['A14 a low surrogate alone', '{"extra":["\\uDC00a"]}', /surrogate/],
  ['A14 an integer beyond 2^53-1', '{"count":9007199254740992}', /integer/],
  ['A14 a negative one, in a json field', '{"extra":[-9007199254740993]}', /integer/],
  ['H-58 1e400', '{"count":1e400}', /too large/],
  ['H-58 -1e400', '{"extra":-1e400}', /too large/],
  ['a number of 400 digits with a point', `{"count":${'9'.repeat(400)}.5}`, /too large/],
  ['H-55 an overlong slash', Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), /UTF-8/],
  ['H-55 a surrogate in UTF-8', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), /UTF-8/],
  ['H-55 half a character', Uint8Array.of(0x22, 0xe2, 0x82, 0x22), /UTF-8/],
  ['H-38 UTF-16', Buffer.from('\ufeff{}', 'utf16le'), /UTF-8/],
];

test('a body that is not one JSON object of safe values is refused with 400 and leaves nothing', async (t) => {
  const service = await withPosts(t);
  for (const [what, body, message] of refused) {
    const answer = await fetch(service.url + records, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    // Looked at member by member below.
    const json = (await answer.json()) as { readonly message: string };
    assert.equal(answer.status, 400, what);
    assert.deepEqual(json, { data: {}, message: json.message, status: 400 }, what);
    assert.match(json.message, message, what);
  }
  assert.equal((await service.request(records)).json.totalItems, 0);
});

test('what a request asks of, and by whom, comes before what is wrong with its body', async (t) => {
  const service = await withPosts(t);
  let body = '{"title":';
  const send = async (path: string, method = 'POST', headers: Readonly<Record<string, string>> = {}) => {
    const all = { 'content-type': 'application/json', ...headers };
    return (await fetch(service.url + path, { method, headers: all, body })).status;
  };
  assert.equal(await send(records), 400);
  assert.equal(await send('/api/records/nowhere'), 404);
  assert.equal(await send('/api/collections/nowhere/records/abc', 'PATCH'), 404);
  assert.equal(await send('/api/collections/nowhere/auth-with-password'), 404);
  assert.equal(await send(records, 'POST', { authorization: `ck_${'a'.repeat(43)}` }), 401);
  assert.equal(await send(`${records}/abc`, 'DELETE'), 400);
  assert.equal(await send('/api/collections'), 401);
  assert.equal(await send('/api/settings', 'PATCH'), 401);
  assert.equal(await send('/api/collections/posts/auth-with-password'), 404);
  body = '[]';
  assert.equal(await send(records), 400);
  assert.equal(await send('/api/records/nowhere'), 404);
  assert.equal(await send('/api/collections/nowhere/records/abc', 'PATCH'), 404);
  assert.equal(await send('/api/collections/posts/auth-with-password'), 404);
});

test('H-46 H-58 values at the limits are stored as they are', async (t) => {
  const service = await withPosts(t);
  const bodies: readonly (readonly [string, string])[] = [
    ['extra', nested(63)],
    ['extra', '9007199254740991'],
    ['extra', '[1,1.5,-0.25,1e+21,5e-324,1.7976931348623157e+308,true,null,"a"]'],
    ['extra', '{"b":1,"a":2}'],
    ['count', '-9007199254740991'],
    ['count', '5e-324'],
    ['title', '"\u{1f468}\u200d\u{1f469}\u202e\ufffe\u0301\\u0001 \\r\\n\\t\u2028<&> "'],
  ];
  for (const [name, value] of bodies) {
    const made = await service.request(records, {
      method: 'POST',
      body: `{${JSON.stringify(name)}:${value}}`,
    });
    assert.equal(made.status, 201, made.text);
    const shown = await service.request(`${records}/${made.json.id}?fields=${name}`);
    assert.deepEqual(JSON.parse(shown.text), { [name]: JSON.parse(value) });
  }
});

test('H-48 keys that every object inherits are data or nothing, and pollute nothing', async (t) => {
  const service = await withPosts(t);
  const poison =
    '{"__proto__":{"title":"polluted"},"constructor":{"prototype":{"title":"polluted"}},"toString":1,"hasOwnProperty":2}';
  const made = await service.request(records, { method: 'POST', body: poison });
  assert.equal(made.status, 201);
  assert.equal(made.json.title, '');
  const extra = await service.request(records, { method: 'POST', body: `{"extra":${poison}}` });
  assert.ok(extra.text.includes(`"extra":${poison}`), extra.text);
  const shown = await service.request(`${records}/${extra.json.id}?fields=extra.__proto__`);
  assert.equal(shown.text, '{"extra":{"__proto__":{"title":"polluted"}}}');
  await service.request(
    `${records}?__proto__[title]=1&constructor=1&fields=__proto__&filter=&a[__proto__][x]=1`,
  );
  // Looked up by a name of our own, which nothing but pollution could give a value.
  assert.equal(Reflect.get({}, 'title'), undefined);
});

test('a field may be called like what every object inherits, and its refusal says so', async (t) => {
  const service = await startService(t);
  const fields = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map((name) => ({
    name,
    type: 'text',
    required: true,
  }));
  const indexes = ['CREATE UNIQUE INDEX odd_unique ON odd (__proto__)'];
  await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'odd', fields, indexes },
  });
  const path = '/api/collections/odd/records';
  const empty = await service.request(path, { method: 'POST', token: true, body: {} });
  assert.equal(empty.status, 400);
  assert.deepEqual(Object.keys(empty.json.data), ['__proto__', 'constructor', 'toString', 'hasOwnProperty']);
  const body = '{"__proto__":"a","constructor":"b","toString":"c","hasOwnProperty":"d"}';
  const made = await service.request(path, { method: 'POST', token: true, body });
  assert.ok(made.text.includes(body.slice(1, -1)), made.text);
  const again = await service.request(path, { method: 'POST', token: true, body });
  assert.match(again.text, /^\{"data":\{"__proto__":\{"code":"validation_not_unique"/);
  assert.equal(
    (await service.request(`${path}?filter=__proto__='a'&sort=constructor`, { token: true })).json.totalItems,
    1,
  );
});

test('H-38 H-40 H-41 only JSON and forms in UTF-8, not compressed, are read; all else is 415', async (t) => {
  const service = await withPosts(t);
  const types: readonly (readonly [number, Readonly<Record<string, string>>])[] = [
    [201, { 'content-type': 'APPLICATION/JSON' }],
    [201, { 'content-type': 'application/json;charset=utf-8' }],
    [201, { 'content-type': 'application/json; charset="UTF-8"' }],
    [201, { 'content-type': 'application/json;charset=utf8' }],
    [201, { 'content-type': 'application/json', 'content-encoding': 'identity' }],
    [415, { 'content-type': 'application/json; charset=utf-16' }],
    [415, { 'content-type': 'application/json;charset=utf-7' }],
    [415, { 'content-type': 'application/json; charset=iso-8859-1' }],
    [415, { 'content-type': 'text/plain' }],
    [415, { 'content-type': 'application/jsonp' }],
    [415, { 'content-type': 'application/ld+json' }],
    [415, { 'content-type': 'multipart/mixed; boundary=x' }],
    [415, { 'content-type': 'text/xml' }],
    [415, { 'content-type': 'application/xml' }],
    [415, { 'content-type': 'application/octet-stream' }],
    [415, { 'content-type': 'json' }],
    [415, { 'content-type': ';;;' }],
    [415, { 'content-type': '*/*' }],
    [415, { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
    [415, { 'content-type': 'application/json', 'content-encoding': 'gzip, gzip, br' }],
    [415, { 'content-type': 'application/json', 'content-encoding': 'deflate' }],
  ];
  for (const [status, headers] of types) {
    const answer = await service.request(records, { method: 'POST', body: '{}', headers });
    assert.equal(answer.status, status, JSON.stringify(headers));
    if (status === 415) assert.match(answer.text, /^\{"data":\{\},"message":"Unsupported Content-Type\./);
  }
  const without = await sendRaw(
    t,
    service.url,
    rawRequest(`POST ${records}`, { 'Content-Length': '2' }) + '{}',
  );
  assert.equal(without.status, 415);
});

test('a byte order mark before JSON is ignored, in a form too', async (t) => {
  const service = await withPosts(t);
  const send = (body: string, headers: Readonly<Record<string, string>> = {}) =>
    service.request(records, { method: 'POST', body, headers });
  const plain = await send('\ufeff{"title":"a"}');
  assert.deepEqual([plain.status, plain.json.title], [201, 'a'], plain.text);
  const form = new URLSearchParams([['@jsonPayload', '\ufeff{"title":"b"}']]);
  const inForm = await send(String(form), { 'content-type': 'application/x-www-form-urlencoded' });
  assert.deepEqual([inForm.status, inForm.json.title], [201, 'b'], inForm.text);
});

test('a body that nobody reads may be sent to its end, so that its client hears why', async (t) => {
  const service = await withPosts(t);
  const half = 'a'.repeat(50_000);
  const unread = [
    { 'Content-Type': 'text/xml' },
    { 'Content-Type': 'text/plain' },
    { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
  ];
  for (const headers of unread) {
    const connection = RawConnection.open(t, service.url);
    connection.send(rawRequest(`POST ${records}`, { ...headers, 'Content-Length': '100000' }) + half);
    await connection.waitForAnswers(1);
    connection.send(half + rawRequest('GET /api/health'));
    const answers = await connection.waitForAnswers(2);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [415, 200],
      JSON.stringify(headers),
    );
  }
});

test('an empty body is an empty object, whatever type it is said to have', async (t) => {
  const service = await withPosts(t);
  const requests = [
    rawRequest(`POST ${records}`),
    rawRequest(`POST ${records}`, { 'Content-Type': 'application/json' }),
    rawRequest(`POST ${records}`, { 'Content-Type': 'text/plain' }),
    rawRequest(`POST ${records}`, { 'Content-Length': '0' }),
    rawRequest(`POST ${records}`, { 'Content-Length': '0', 'Content-Type': 'application/json' }),
    rawRequest(`POST ${records}`, { 'Content-Length': '0', 'Content-Type': 'text/plain' }),
    rawRequest(`POST ${records}`, {
      'Content-Length': '0',
      'Content-Type': 'multipart/form-data; boundary=x',
    }),
    `${rawRequest(`POST ${records}`, { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' })}0\r\n\r\n`,
  ];
  for (const bytes of requests) assert.equal((await sendRaw(t, service.url, bytes)).status, 201, bytes);
});

test('H-30 HEAD answers every GET path with its status and headers and no body, errors included', async (t) => {
  const service = await withPosts(t);
  const { json: post } = await service.request(records, { method: 'POST', body: {} });
  const paths = [
    '/api/health',
    '/api/health/live',
    '/api/health/ready',
    records,
    `${records}/${post.id}`,
    '/api/records/posts',
    `/api/records/posts/${post.id}`,
    '/api/collections',
    '/api/collections/posts',
    '/api/webhooks/endpoints',
    '/api/webhooks/deliveries',
    '/api/nope',
    `${records}/nope`,
    `${records}?page=x`,
    '/api/collections/_superusers/auth-refresh',
  ];
  for (const path of paths) {
    const [get, head] = [await service.request(path), await service.request(path, { method: 'HEAD' })];
    assert.equal(head.status, get.status, path);
    assert.equal(head.text, '', path);
    for (const name of ['content-type', 'content-length', 'allow', 'x-frame-options'])
      assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
  }
});
