import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { Receiver, type ReceiverMode } from '../../test/support/receiver.ts';
import { systemClock } from '../base/clock.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import type { AttemptKind, AttemptRequest, AttemptResult } from './attempt-result.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { GuardedAgent } from './guarded-agent.ts';
import { signBody } from './signature.ts';

const clock = systemClock;
const agent = new GuardedAgent({ policy: { allowHttp: true, allowed: loopbackRanges }, clock });
const parts = attemptParts({ agent, clock });
const { inFlight } = parts;
after(() => agent.stop());

/** Long enough that no working answer misses it on a slow machine, short enough to wait for. */
const SHORT_MS = 1_500;

async function attemptAt(mode: ReceiverMode, changes: Partial<AttemptRequest> = {}): Promise<AttemptResult> {
  await using receiver = await Receiver.open({ mode });
  return await sendAttempt(attemptRequest(receiver.url, changes), parts);
}

test('a request carries the exact body and every header of the contract', async () => {
  await using receiver = await Receiver.open();
  const [current, previous] = [
    'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
    'the secret before that one',
  ];
  const request = attemptRequest(`${receiver.url}?token=a%20b`, {
    secrets: [current, previous],
    attempt: 3,
    customHeaders: { Authorization: 'Bearer of news', 'x-tenant': 'acme' },
  });
  const result = await sendAttempt(request, parts);
  assert.equal(result.isSuccess, true);
  const [received] = receiver.requests;
  assert.ok(received);
  assert.equal(received.method, 'POST');
  assert.equal(received.path, '/hook?token=a%20b');
  assert.deepEqual(received.body, Buffer.from(request.body));
  const seconds = String(Math.floor(result.startedAt / 1_000));
  // None of these headers is sent twice, so each is one text.
  const { 'webhook-signature': standard = '', ...headers } = received.headers as Record<string, string>;
  assert.deepEqual(headers, {
    host: new URL(receiver.url).host,
    connection: 'keep-alive',
    'content-type': 'application/json',
    'content-length': String(request.body.length),
    'user-agent': 'Chancery/0.1.0',
    'accept-encoding': 'identity',
    'x-service-signature': signBody(request.body, current),
    'x-service-signature-previous': signBody(request.body, previous),
    'x-service-event': 'record.create',
    'x-service-collection': 'posts',
    'x-service-delivery': request.deliveryId,
    'x-service-attempt': '3',
    'x-service-sequence': '7',
    'webhook-id': request.eventId,
    'webhook-timestamp': seconds,
    authorization: 'Bearer of news',
    'x-tenant': 'acme',
  });
  const verified = {
    'webhook-id': request.eventId,
    'webhook-timestamp': seconds,
    'webhook-signature': standard,
  };
  new Webhook(current).verify(received.body, verified);
  new Webhook(previous, { format: 'raw' }).verify(received.body, verified);
});

test('without a rotation there is one signature of each kind', async () => {
  await using receiver = await Receiver.open();
  await sendAttempt(attemptRequest(receiver.url), parts);
  const headers = receiver.requests[0]?.headers ?? {};
  assert.ok(!('x-service-signature-previous' in headers));
  assert.match(String(headers['webhook-signature']), /^v1,[A-Za-z0-9+/]{43}=$/);
});

test("an endpoint's own headers never replace ours", async () => {
  await using receiver = await Receiver.open();
  const customHeaders = {
    Host: 'evil.example',
    'Content-Type': 'text/html',
    'webhook-id': 'forged',
    'X-Service-Signature': 'forged',
    'User-Agent': 'forged',
    'Transfer-Encoding': 'chunked',
    Connection: 'close',
    'x-fine': 'kept',
  };
  const result = await sendAttempt(attemptRequest(receiver.url, { customHeaders }), parts);
  assert.equal(result.isSuccess, true);
  const raw = JSON.stringify(receiver.requests[0]?.rawHeaders);
  assert.ok(!raw.includes('forged') && !raw.includes('evil.example') && !raw.includes('text/html'));
  assert.ok(raw.includes('kept'));
});

test('W-38: a header with a line break makes a failed attempt, not a forged request', async () => {
  await using receiver = await Receiver.open();
  const customHeaders = { 'x-note': 'a\r\nx-injected: yes' };
  const result = await sendAttempt(attemptRequest(receiver.url, { customHeaders }), parts);
  assert.equal(result.kind, 'protocol');
  assert.equal(receiver.requests.length, 0);
});

test('W-30: every 2xx is a success', async () => {
  for (const status of [200, 201, 202, 204, 226, 299]) {
    const result = await attemptAt({ kind: 'status', status });
    assert.deepEqual(
      [result.isSuccess, result.kind, result.status, result.cause],
      [true, 'success', status, ''],
    );
  }
});

test('W-30: every other status is a failure, and some speak of the whole endpoint', async () => {
  const statuses = [300, 304, 400, 401, 404, 408, 410, 425, 429, 499, 500, 502, 503, 599];
  for (const status of statuses) {
    const result = await attemptAt({ kind: 'status', status });
    assert.deepEqual([result.isSuccess, result.kind, result.status], [false, 'status', status]);
    assert.equal(result.isEndpointWide, status >= 500 || [408, 425, 429].includes(status), String(status));
    assert.equal(result.cause, `The receiver answered with status ${status}.`);
  }
});

test('Retry-After is honoured on 429 and 503 only', async () => {
  const ask = (status: number) =>
    attemptAt({ kind: 'status', status, headers: { 'retry-after': '17' } }).then(
      (result) => result.retryAfterSeconds,
    );
  assert.equal(await ask(429), 17);
  assert.equal(await ask(503), 17);
  assert.equal(await ask(500), null);
  assert.equal(await ask(200), null);
});

test('a redirect is a failure and is not followed', async () => {
  await using other = await Receiver.open();
  for (const status of [301, 302, 303, 307, 308]) {
    const result = await attemptAt({ kind: 'redirect', location: other.url, status });
    assert.deepEqual([result.kind, result.status, result.isEndpointWide], ['status', status, false]);
    assert.equal(
      result.cause,
      `The receiver answered with a redirect (status ${status}), which is not followed.`,
    );
  }
  assert.equal(other.connectionCount, 0);
});

test('the response is stored unchanged: headers as JSON, body as bytes', async () => {
  const body = Buffer.from([0, 0xff, 0xfe, 10, 13, 60]);
  const result = await attemptAt({ kind: 'status', status: 418, headers: { 'x-why': 'teapot' }, body });
  assert.deepEqual(Buffer.from(result.responseBody), body);
  const headers: unknown = JSON.parse(result.responseHeaders);
  assert.ok(typeof headers === 'object' && headers !== null && 'x-why' in headers);
  assert.equal(headers['x-why'], 'teapot');
});

test('at most 4 KiB of headers are stored, whole ones only', async () => {
  const headers: Record<string, string> = { 'x-first': 'kept' };
  for (let count = 0; count < 10; count += 1) headers[`x-long-${count}`] = 'v'.repeat(900);
  const result = await attemptAt({ kind: 'status', status: 200, headers });
  assert.equal(result.isSuccess, true);
  assert.ok(Buffer.byteLength(result.responseHeaders) <= 4_096);
  const kept: unknown = JSON.parse(result.responseHeaders);
  assert.ok(typeof kept === 'object' && kept !== null && 'x-first' in kept && 'x-long-0' in kept);
  assert.ok(!('x-long-9' in kept));
});

test('W-26: a compressed answer is not expanded', async () => {
  const body = Buffer.from('1f8b08000000000000034b4c4a4e01004bfdb2ca05000000', 'hex');
  const result = await attemptAt({
    kind: 'status',
    status: 200,
    headers: { 'content-encoding': 'gzip' },
    body,
  });
  assert.deepEqual(Buffer.from(result.responseBody), body);
});

test('W-25: of an endless body 16 KiB are read, the status decides, and the connection is given up', async () => {
  for (const [status, isSuccess] of [
    [200, true],
    [500, false],
  ] as const) {
    await using receiver = await Receiver.open({ mode: { kind: 'endless body', status } });
    const result = await sendAttempt(attemptRequest(receiver.url), parts);
    assert.deepEqual(
      [result.isSuccess, result.status, result.responseBody.length],
      [isSuccess, status, 16_384],
    );
    receiver.mode = { kind: 'ok' };
    assert.equal((await sendAttempt(attemptRequest(receiver.url), parts)).isSuccess, true);
    assert.equal(receiver.connectionCount, 2);
  }
});

test('a 2xx whose body drips beyond the deadline is a failure that keeps the status', async () => {
  const result = await attemptAt({ kind: 'drip', intervalMs: 20 }, { timeoutMs: SHORT_MS });
  assert.deepEqual([result.isSuccess, result.kind, result.status], [false, 'timeout', 200]);
  assert.equal(result.cause, 'No complete answer within 1.5 s.');
  assert.ok(result.responseBody.length > 0);
  assert.ok(result.timings.firstByteMs !== null && result.timings.firstByteMs < SHORT_MS);
});

test('W-23: a receiver that never answers costs its deadline and no more', async () => {
  const result = await attemptAt({ kind: 'never answers' }, { timeoutMs: SHORT_MS });
  assert.deepEqual([result.kind, result.status, result.isEndpointWide], ['timeout', null, true]);
  assert.ok(result.timings.totalMs !== null && result.timings.totalMs >= SHORT_MS);
});

const rude: readonly (readonly [ReceiverMode, AttemptKind])[] = [
  [{ kind: 'reset on accept' }, 'connect'],
  [{ kind: 'close on accept' }, 'connect'],
  [{ kind: 'reset after request' }, 'connect'],
  [{ kind: 'close after request' }, 'connect'],
  [{ kind: 'half response' }, 'protocol'],
  [{ kind: 'garbage' }, 'protocol'],
  [{ kind: 'huge headers' }, 'protocol'],
  [{ kind: 'endless headers' }, 'protocol'],
  [{ kind: 'interim flood' }, 'protocol'],
  [{ kind: 'raw', bytes: 'HTTP/1.1 100 Continue\r\n\r\n' }, 'protocol'],
  [
    { kind: 'raw', bytes: 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n' },
    'protocol',
  ],
  [
    { kind: 'raw', bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!' },
    'protocol',
  ],
  [{ kind: 'raw', bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello' }, 'protocol'],
  [{ kind: 'raw', bytes: 'HTTP/1.1 20 OK\r\n\r\n' }, 'protocol'],
  [{ kind: 'raw', bytes: '<html>HTTP 0.9 has no headers</html>' }, 'protocol'],
];

for (const [mode, kind] of rude) {
  test(`W-28: a receiver that does "${'bytes' in mode ? JSON.stringify(mode.bytes) : mode.kind}" is a value`, async () => {
    const result = await attemptAt(mode);
    assert.equal(result.isSuccess, false);
    assert.equal(result.kind, kind, result.cause);
    assert.match(result.cause, /^[A-Z].*\.$/);
    assert.equal(inFlight.size, 0);
  });
}

test('an answer before the request is a failure, and the receiver is not called again and again', async () => {
  await using receiver = await Receiver.open({
    mode: { kind: 'raw on accept', bytes: 'HTTP/1.1 200 OK\r\n\r\n' },
  });
  const result = await sendAttempt(attemptRequest(receiver.url, { timeoutMs: SHORT_MS }), parts);
  assert.equal(result.isSuccess, false);
  assert.ok(receiver.connectionCount <= 2, String(receiver.connectionCount));
});

test('a 100 Continue before the answer is a failure whose cause names it', async () => {
  const bytes = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
  const result = await attemptAt({ kind: 'raw', bytes });
  assert.deepEqual([result.kind, result.isSuccess], ['protocol', false]);
  assert.match(result.cause, /such as 100 Continue/);
});

test('one early hint before the answer is fine', async () => {
  const bytes =
    'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
  const result = await attemptAt({ kind: 'raw', bytes });
  assert.deepEqual([result.isSuccess, result.status], [true, 200]);
});

test('W-31: bytes after the answer never become the answer of the next request', async () => {
  const answer = (status: number) => `HTTP/1.1 ${status} X\r\ncontent-length: 2\r\n\r\nok`;
  await using receiver = await Receiver.open({ mode: { kind: 'raw', bytes: answer(500) + answer(200) } });
  assert.equal((await sendAttempt(attemptRequest(receiver.url), parts)).status, 500);
  receiver.mode = { kind: 'status', status: 404 };
  assert.equal((await sendAttempt(attemptRequest(receiver.url), parts)).status, 404);
  assert.equal(receiver.connectionCount, 2);
});

test('a connection is used again, its steps are timed once, and endpoints share none', async () => {
  await using receiver = await Receiver.open();
  const first = await sendAttempt(attemptRequest(receiver.url), parts);
  const second = await sendAttempt(attemptRequest(receiver.url), parts);
  assert.equal(receiver.connectionCount, 1);
  assert.ok(
    first.timings.connectMs !== null && first.timings.totalMs !== null && first.timings.firstByteMs !== null,
  );
  assert.ok(
    first.timings.connectMs <= first.timings.firstByteMs &&
      first.timings.firstByteMs <= first.timings.totalMs,
  );
  assert.equal(first.timings.dnsMs, null);
  assert.equal(second.timings.connectMs, null);
  await sendAttempt(attemptRequest(receiver.url, { endpointId: 'another00000000' }), parts);
  assert.equal(receiver.connectionCount, 2);
});

for (const kind of ['close after request', 'reset after request'] as const) {
  test(`what a receiver does to a connection that it had kept fails no attempt: ${kind}`, async () => {
    await using receiver = await Receiver.open();
    const once = attemptRequest(receiver.url);
    await sendAttempt(once, parts);
    receiver.mode = { kind };
    void receiver.waitForRequests(2).then(() => (receiver.mode = { kind: 'ok' }));
    const second = await sendAttempt({ ...once, attempt: 2 }, parts);
    assert.deepEqual([second.kind, second.status, second.cause], ['success', 200, '']);
    assert.ok(second.timings.connectMs !== null, 'of the connection that it was answered on');
    const [, sent, again] = receiver.requests;
    assert.deepEqual([again?.rawHeaders, again?.body], [sent?.rawHeaders, sent?.body]);
    assert.deepEqual([receiver.requests.length, receiver.connectionCount], [3, 2]);
  });
}

test('a request is repeated only once, and only without a response on a reused connection', async () => {
  await using receiver = await Receiver.open();
  const request = attemptRequest(receiver.url);
  await sendAttempt(request, parts);
  receiver.mode = { kind: 'close after request' };
  assert.equal((await sendAttempt(request, parts)).kind, 'connect');
  assert.deepEqual([receiver.requests.length, receiver.connectionCount], [3, 2]);
  assert.equal((await sendAttempt(request, parts)).kind, 'connect');
  assert.deepEqual([receiver.requests.length, receiver.connectionCount], [4, 3]);
  receiver.mode = { kind: 'ok' };
  await sendAttempt(request, parts);
  receiver.mode = { kind: 'half response' };
  assert.equal((await sendAttempt(request, parts)).kind, 'protocol');
  assert.deepEqual([receiver.requests.length, receiver.connectionCount], [6, 4]);
});

for (const lengths of [
  'content-length: 2\r\ncontent-length: 2',
  'content-length: 2\r\ntransfer-encoding: chunked',
]) {
  test(`an answer with two lengths says so: ${JSON.stringify(lengths)}`, async () => {
    const result = await attemptAt({
      kind: 'raw',
      bytes: `HTTP/1.1 200 OK\r\n${lengths}\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    });
    assert.deepEqual(
      [result.kind, result.cause],
      ['protocol', 'The answer has another length than it announced.'],
    );
  });
}

test('a closed port is a failed connection with a plain cause', async () => {
  const receiver = await Receiver.open();
  const { url } = receiver;
  await receiver.close();
  const result = await sendAttempt(attemptRequest(url), parts);
  assert.deepEqual([result.kind, result.cause], ['connect', 'The connection was refused.']);
  assert.equal(result.isEndpointWide, true);
});

test('attempts that the service aborts have that cause', async () => {
  await using receiver = await Receiver.open({ mode: { kind: 'never answers' } });
  const pending = sendAttempt(attemptRequest(receiver.url), parts);
  await receiver.waitForRequests(1);
  inFlight.abortAll();
  const result = await pending;
  assert.deepEqual([result.kind, result.isSuccess, result.isEndpointWide], ['aborted', false, false]);
});
