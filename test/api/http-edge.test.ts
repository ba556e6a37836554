import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { RawConnection, rawRequest, sendRaw, type RawAnswer } from '../support/raw-http.ts';
import { startService, type TestService } from '../support/service.ts';

const records = '/api/collections/posts/records';
const json = { 'Content-Type': 'application/json' };

async function withPosts(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const rules = { listRule: '', viewRule: '', createRule: '' };
  const body = { name: 'posts', fields: [{ name: 'title', type: 'text' }], ...rules };
  assert.equal(
    (await service.request('/api/collections', { method: 'POST', token: true, body })).status,
    200,
  );
  return service;
}

/** Whoever gave it, an error has one form, an id and the headers that every answer has. */
function assertRefusal(answer: RawAnswer, status: number, what: string): void {
  assert.equal(answer.status, status, `${what}: ${answer.body}`);
  assert.match(answer.headers.get('x-request-id') ?? '', /^[\w-]{15,}$/, what);
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', what);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8', what);
  // Parsed once to see that it is of exactly these members.
  const body = JSON.parse(answer.body) as { readonly message: unknown };
  assert.deepEqual(body, { data: {}, message: body.message, status }, what);
  assert.match(String(body.message), /^[A-Z].*\.$/, what);
  assert.doesNotMatch(answer.body, /node_modules|\.ts|at \w+ \(|SELECT|HPE_|FST_/, what);
}

async function assertNothingHappened(service: TestService): Promise<void> {
  const { json: page } = await service.request(records);
  assert.equal(page.totalItems, 0);
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
}

const host = 'Host: a.example\r\n';
const chunked = `POST ${records} HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;

/** What Node or we refuse: bytes, status. All of them end the connection, as nobody knows where the next request begins. */
const malformed: readonly (readonly [string, number, string])[] = [
  ['H-28 an unknown method', 400, rawRequest('FOO /api/health')],
  ['H-28 a method in lower case', 400, rawRequest('get /api/health')],
  ['H-28 a method of 1,000 characters', 400, rawRequest(`${'A'.repeat(1_000)} /api/health`)],
  ['H-28 CONNECT', 400, rawRequest('CONNECT a.example:443')],
  ['H-35 a TLS greeting', 400, Buffer.from('16030100a5010000a10303', 'hex').toString('latin1')],
  ['the greeting of HTTP/2', 400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['HTTP/2.0 in the request line', 400, `GET /api/health HTTP/2.0\r\n${host}\r\n`],
  ['HTTP/0.9 with headers', 400, `GET /api/health\r\n${host}\r\n`],
  ['zeros', 400, '\0\0\0\0\r\n\r\n'],
  ['line feeds without carriage returns', 400, 'GET /api/health HTTP/1.1\nHost: a\n\n'],
  ['a folded header', 400, `GET /api/health HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`],
  ['a space before a colon', 400, `GET /api/health HTTP/1.1\r\n${host}X : a\r\n\r\n`],
  ['an absolute request target', 400, rawRequest('GET http://a.example/api/health')],
  ['an asterisk as target', 400, rawRequest('OPTIONS *')],
  ['H-06 a header of 17 KiB', 431, rawRequest('GET /api/health', { X: 'a'.repeat(17 * 1024) })],
  ['H-06 a URL of 17 KiB', 431, rawRequest(`GET /api/health?${'a'.repeat(17 * 1024)}`)],
  ['101 header lines', 400, `GET /api/health HTTP/1.1\r\n${host}${'X: a\r\n'.repeat(100)}\r\n`],
  ['H-08 two Host headers', 400, `GET /api/health HTTP/1.1\r\nHost: b\r\n${host}\r\n`],
  ['H-08 the same Host twice', 400, `GET /api/health HTTP/1.1\r\n${host}${host}\r\n`],
  ['H-10 no Host', 400, 'GET /api/health HTTP/1.1\r\n\r\n'],
  [
    'two Authorization headers',
    400,
    `GET /api/health HTTP/1.1\r\n${host}Authorization: a\r\nAuthorization: b\r\n\r\n`,
  ],
  [
    'H-13 two lengths',
    400,
    `POST ${records} HTTP/1.1\r\n${host}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
  ],
  [
    'H-13 the same length twice',
    400,
    `POST ${records} HTTP/1.1\r\n${host}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
  ],
  ...['2, 2', '+2', '-1', '0x2', '9'.repeat(20), '2 2'].map(
    (length) =>
      [
        `H-13 Content-Length: ${length}`,
        400,
        rawRequest(`POST ${records}`, { ...json, 'Content-Length': length }, '{}'),
      ] as const,
  ),
  ...['gzip, chunked', 'chunked, gzip', 'identity', 'gzip', 'xchunked', 'chunked, chunked'].map(
    (coding) =>
      [
        `H-15 Transfer-Encoding: ${coding}`,
        400,
        rawRequest(`POST ${records}`, { ...json, 'Transfer-Encoding': coding }) + '2\r\n{}\r\n0\r\n\r\n',
      ] as const,
  ),
  [
    'two transfer codings',
    400,
    `POST ${records} HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'a length and a transfer coding',
    400,
    rawRequest(`POST ${records}`, { ...json, 'Content-Length': '2', 'Transfer-Encoding': 'chunked' }) +
      '2\r\n{}\r\n0\r\n\r\n',
  ],
  ['H-16 chunks in HTTP/1.0', 400, chunked.replace('HTTP/1.1', 'HTTP/1.0') + '2\r\n{}\r\n0\r\n\r\n'],
  ['H-18 a chunk size of 17 digits', 400, `${chunked}${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`],
  ['H-18 a negative chunk size', 400, `${chunked}-2\r\n{}\r\n0\r\n\r\n`],
  ['H-18 a chunk extension of 20 KB', 413, `${chunked}2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`],
  ['H-18 chunks ended by line feeds', 400, `${chunked}2\n{}\n0\n\n`],
  ['H-23 an unknown expectation', 417, rawRequest(`POST ${records}`, { Expect: 'foo' }, '{}')],
  ['H-68 a byte beyond ASCII in the path', 400, rawRequest('GET /api/\xff')],
];

test('bytes that are no request, or one that servers disagree about, are refused in the one form and end the connection', async (t) => {
  const service = await withPosts(t);
  for (const [what, status, bytes] of malformed) {
    const connection = RawConnection.open(t, service.url);
    connection.send(bytes);
    const [answer] = await connection.waitForAnswers(1);
    assert.ok(answer);
    assertRefusal(answer, status, what);
    await connection.waitForEnd();
  }
  await assertNothingHappened(service);
});

test('H-11 a Host that is no host with an optional port is refused', async (t) => {
  const service = await startService(t);
  const bad = [
    'a@b',
    'a:99999',
    'a:65536',
    'a:',
    'a:b',
    '../x',
    'a/b',
    '',
    'a b',
    'bücher.example',
    '[::1',
    '[g::]',
    'a,b',
    'a:1:2',
    'a'.repeat(300),
    'http://a',
    'a#',
    'a?b',
    'a\\b',
  ];
  for (const Host of bad)
    assertRefusal(await sendRaw(t, service.url, rawRequest('GET /api/health', { Host })), 400, Host);
  for (const Host of ['a', 'A.Example:65535', '127.0.0.1:1', '[::1]', '[::1]:8090', 'a_b-c.example.'])
    assert.equal((await sendRaw(t, service.url, rawRequest('GET /api/health', { Host }))).status, 200, Host);
});

test('H-28 A4 a known path answers another method with 405 and Allow, an unknown path with 404', async (t) => {
  const service = await withPosts(t);
  const one = `${records}/aaaaaaaaaaaaaaa`;
  const table: readonly (readonly [string, string])[] = [
    [`PUT ${records}`, 'GET, HEAD, OPTIONS, POST'],
    [`DELETE /api/records/posts`, 'GET, HEAD, OPTIONS, POST'],
    [`POST ${one}`, 'DELETE, GET, HEAD, OPTIONS, PATCH'],
    ['PUT /api/records/posts/x', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
    ['POST /api/health', 'GET, HEAD, OPTIONS'],
    ['PUT /api/collections', 'GET, HEAD, OPTIONS, POST'],
    ['POST /api/collections/posts', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
    ['GET /api/collections/_superusers/auth-refresh', 'OPTIONS, POST'],
    ['TRACE /api/health', 'GET, HEAD, OPTIONS'],
    ['PROPFIND /api/health', 'GET, HEAD, OPTIONS'],
    ['M-SEARCH /api/health', 'GET, HEAD, OPTIONS'],
    ['PUT /i/default/api/health', 'GET, HEAD, OPTIONS'],
  ];
  for (const [line, allow] of table) {
    const answer = await sendRaw(t, service.url, rawRequest(line, { 'X-Echo': 'canary' }));
    assertRefusal(answer, 405, line);
    assert.equal(answer.headers.get('allow'), allow, line);
    assert.doesNotMatch(answer.body, /canary/, line);
  }
  // Fastify refuses a QUERY without a type before it looks at the path.
  assertRefusal(await sendRaw(t, service.url, rawRequest('QUERY /api/health')), 400, 'QUERY');
  for (const path of [
    '/',
    '/api',
    '/api/',
    '/api/health/',
    '//api/health',
    '/API/health',
    '/api/nope',
    '/api/../api/health',
    '/api/collections/posts/nope',
    '/%2e%2e/api/health',
    '/api/health;a',
    '/api/collections//records',
  ]) {
    for (const method of ['GET', 'POST', 'TRACE']) {
      const answer = await sendRaw(t, service.url, rawRequest(`${method} ${path}`));
      assertRefusal(answer, 404, `${method} ${path}`);
      assert.equal(answer.headers.has('allow'), false);
    }
  }
  const sent = rawRequest('POST /api/nope', { 'Content-Type': 'text/csv' }, '{');
  assertRefusal(await sendRaw(t, service.url, sent), 404, 'a body that cannot be read, on an unknown path');
  await assertNothingHappened(service);
});

test('a query with a bare percent sign is refused as what it is, and says how one is written', async (t) => {
  const service = await withPosts(t);
  for (const [target, message] of [
    [
      "filter=title~'100%'",
      'The query is not valid percent-encoded UTF-8: a percent sign itself is written %25.',
    ],
    ["filter=title='%00'", 'The URL must not contain %00.'],
  ]) {
    const answer = await sendRaw(t, service.url, rawRequest(`GET ${records}?${target}`));
    assertRefusal(answer, 400, target ?? '');
    assert.equal(JSON.parse(answer.body).message, message);
  }
});

test('H-50 H-65 H-66 a path or a query that is not percent-encoded UTF-8 is refused, and nothing is decoded twice', async (t) => {
  const service = await withPosts(t);
  for (const bad of ['%', '%zz', '%C0%AF', '%ED%A0%80', '%00', '%FF', 'a%', 'a%2']) {
    for (const line of [
      `GET /api/collections/${bad}/records`,
      `GET ${records}?filter=${bad}`,
      `GET ${records}?${bad}=1`,
      `GET ${records}/${bad}`,
      `GET /i/nope/${bad}`,
    ])
      assertRefusal(await sendRaw(t, service.url, rawRequest(line)), 400, line);
  }
  for (const odd of [
    '%252e%252e%252f',
    '%2e%2e%2f',
    'a%2Fb',
    '%5c',
    'p%256Fsts',
    '.',
    '..',
    '__proto__',
    'constructor',
    'toString',
    'a'.repeat(2_000),
  ])
    assertRefusal(await sendRaw(t, service.url, rawRequest(`GET /api/collections/${odd}/records`)), 404, odd);
  assert.equal(
    (await sendRaw(t, service.url, rawRequest('GET /api/collections/p%6Fsts/records'))).status,
    200,
  );
  assert.equal(
    (await sendRaw(t, service.url, rawRequest(`GET ${records}?filter=title%3D%27%2525%27`))).status,
    200,
  );
});

test('H-20 a body that is announced too large is refused before it is read', async (t) => {
  const service = await withPosts(t);
  const length = { ...json, 'Content-Length': String(32 * 1024 * 1024 + 1) };
  const connection = RawConnection.open(t, service.url);
  connection.send(rawRequest(`POST ${records}`, length));
  const [answer] = await connection.waitForAnswers(1);
  assert.ok(answer);
  assertRefusal(answer, 413, 'announced');
  assert.equal(JSON.parse(answer.body).message, 'Request entity too large.');
  await connection.waitForEnd();
  await assertNothingHappened(service);
});

test('H-21 a body that grows too large is refused where it passes the limit', async (t) => {
  const service = await withPosts(t);
  const connection = RawConnection.open(t, service.url, true);
  connection.send(chunked);
  const chunk = `100000\r\n${' '.repeat(0x10_0000)}\r\n`;
  for (let sent = 0; sent < 34 && connection.answers.length === 0 && !connection.isClosed; sent += 1) {
    connection.send(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [answer] = await connection.waitForAnswers(1);
  assert.ok(answer);
  assertRefusal(answer, 413, 'chunked');
  await assertNothingHappened(service);
});

test('a body of exactly the limit is read', async (t) => {
  const service = await withPosts(t);
  const body = '{}'.padEnd(32 * 1024 * 1024, ' ');
  assert.equal((await service.request(records, { method: 'POST', body })).status, 201);
});

test('H-25 a client that goes away in the middle of a body leaves no record behind', async (t) => {
  const service = await withPosts(t);
  for (const leave of ['end', 'resetAndDestroy'] as const) {
    const connection = RawConnection.open(t, service.url);
    connection.send(rawRequest(`POST ${records}`, { ...json, 'Content-Length': '100' }) + '{"title":"half');
    // The half request has arrived when one that was sent after it is answered.
    await service.request('/api/health');
    connection.socket[leave]();
    await eventually('the connection is closed', () => connection.isClosed);
  }
  await assertNothingHappened(service);
});

test('pipelined requests are answered in their order, each once', async (t) => {
  const service = await withPosts(t);
  const connection = RawConnection.open(t, service.url);
  const create = (title: string): string => rawRequest(`POST ${records}`, {}, JSON.stringify({ title }));
  connection.send(
    create('one') + rawRequest('GET /api/nope') + create('two') + rawRequest('GET /api/health'),
  );
  const answers = await connection.waitForAnswers(4);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 404, 201, 200],
  );
  assert.match(answers[0]?.body ?? '', /"title":"one"/);
  assert.match(answers[2]?.body ?? '', /"title":"two"/);
  assert.equal(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size, 4);
});

test('what is no request is answered in its turn, behind the requests before it, and nothing has two answers', async (t) => {
  const service = await withPosts(t);
  const create = rawRequest(`POST ${records}`, {}, '{"title":"one"}');
  const broken = `${chunked}5\r\n{"a":\r\nzz\r\n`;
  const uncoded = chunked.replace(': chunked', ': xchunked');
  const oddType = broken.replace('application/json', 'text/plain');
  const cases: readonly (readonly [what: string, bytes: string, statuses: readonly number[]])[] = [
    ['no request', `${create}nonsense\r\n\r\n`, [201, 400]],
    [
      'headers too large',
      `${create}${create}${rawRequest('GET /', { X: 'x'.repeat(17_000) })}`,
      [201, 201, 431],
    ],
    ['CONNECT', create + rawRequest('CONNECT a.example:443'), [201, 400]],
    ['a body that breaks off', create + broken, [201, 400]],
    ['a body that nobody can read', uncoded, [400]],
    ['a body that breaks off when it was refused', oddType, [415]],
    [
      'a body that breaks off behind a path that is none',
      create + broken.replace(records, '/%zz'),
      [201, 400],
    ],
    [
      'a body that breaks off behind an expectation',
      create + broken.replace('Host:', 'Expect: a miracle\r\nHost:'),
      [201, 417],
    ],
  ];
  for (const [what, bytes, statuses] of cases) {
    const connection = RawConnection.open(t, service.url);
    connection.send(bytes);
    await connection.waitForEnd();
    const told = connection.answers.map(({ status }) => status);
    assert.deepEqual(told, statuses, what);
  }
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('H-36 an upgrade that is not offered is ignored, and Expect: 100-continue is met', async (t) => {
  const service = await withPosts(t);
  for (const Upgrade of ['websocket', 'h2c'])
    assert.equal(
      (await sendRaw(t, service.url, rawRequest('GET /api/health', { Connection: 'Upgrade', Upgrade })))
        .status,
      200,
    );
  const answer = await sendRaw(
    t,
    service.url,
    rawRequest(`POST ${records}`, { Expect: '100-continue' }, '{}'),
  );
  assert.equal(answer.status, 201);
});

test('H-01 a client that drips its headers, and one that never hangs up, are let go', async (t) => {
  const service = await startService(t);
  const dripping = RawConnection.open(t, service.url, true);
  dripping.send('GET /api/health HTTP/1.1\r\nHo');
  const staying = RawConnection.open(t, service.url, true);
  staying.send('\0\r\n\r\n');
  assertRefusal((await staying.waitForAnswers(1))[0]!, 400, 'nonsense');
  assertRefusal((await dripping.waitForAnswers(1))[0]!, 408, 'slow headers');
  // Neither of them has closed its side: only a closed socket refuses what is sent to it.
  for (const connection of [staying, dripping]) {
    await eventually('the connection is let go', () => {
      connection.send('x');
      return connection.isClosed;
    });
  }
});
