import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { makeCertificate } from '../../test/support/certificate.ts';
import { ConnectProxy } from '../../test/support/connect-proxy.ts';
import { systemClock } from '../base/clock.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import type { AttemptRequest, AttemptResult } from './attempt-result.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { GuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts';
import { streamsMax } from './http2-session.ts';

const certificate = makeCertificate({ names: ['localhost'] });

interface Peer {
  readonly url: string;
  readonly sessions: ServerHttp2Session[];
  readonly requests: { readonly headers: IncomingHttpHeaders; readonly body: string }[];
  send(more?: Partial<AttemptRequest>): Promise<AttemptResult>;
}

interface PeerOptions extends SecureServerOptions {
  readonly agent?: Partial<GuardedAgentOptions>;
}

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, count: number) => void;

const ok: OnStream = (stream) => {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'x-by': 'h2' });
  stream.end('ok');
};

/** Opens a receiver that speaks HTTP/2 over TLS, and an agent that sends to it. */
async function openPeer(
  t: TestContext,
  onStream: OnStream,
  { agent: agentOptions, ...options }: PeerOptions = {},
): Promise<Peer> {
  const server: Http2SecureServer = createSecureServer({
    key: certificate.key,
    cert: certificate.cert,
    ...options,
  });
  const sessions: ServerHttp2Session[] = [];
  const requests: Peer['requests'] = [];
  server.on('session', (session) => sessions.push(session.on('error', () => undefined)));
  server.on('sessionError', () => undefined);
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      requests.push({ headers, body: Buffer.concat(chunks).toString() });
      onStream(stream, headers, requests.length);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new GuardedAgent({
    policy: { allowHttp: true, allowed: loopbackRanges },
    clock: systemClock,
    trustedCertificates: certificate.cert,
    ...agentOptions,
  });
  const parts = attemptParts({ agent, clock: systemClock });
  t.after(() => {
    agent.stop();
    for (const session of sessions) session.destroy();
    server.close();
  });
  // The cast holds: a server that listens has such an address.
  const url = `https://localhost:${(server.address() as AddressInfo).port}/hook?x=1`;
  const send = (more: Partial<AttemptRequest> = {}): Promise<AttemptResult> =>
    sendAttempt(attemptRequest(url, more), parts);
  return { url, sessions, requests, send };
}

const uncaught: unknown[] = [];
process.on('uncaughtExceptionMonitor', (error) => uncaught.push(error));
after(() => assert.deepEqual(uncaught, []));

test('a receiver that chooses HTTP/2 gets the same request, over one connection', async (t) => {
  const peer = await openPeer(t, ok, { allowHTTP1: true });
  const first = await peer.send();
  assert.deepEqual(
    [first.kind, first.status, Buffer.from(first.responseBody).toString()],
    ['success', 200, 'ok'],
  );
  assert.equal(JSON.parse(first.responseHeaders)['x-by'], 'h2');
  assert.ok(first.timings.tlsMs !== null && first.timings.firstByteMs !== null);
  const [request] = peer.requests;
  assert.ok(request);
  assert.deepEqual(
    [request.headers[':method'], request.headers[':path'], request.headers[':authority']],
    ['POST', '/hook?x=1', new URL(peer.url).host],
  );
  assert.match(String(request.headers['webhook-signature']), /^v1,/);
  assert.equal(request.body, Buffer.from(attemptRequest(peer.url).body).toString());
  const all = await Promise.all(Array.from({ length: 20 }, () => peer.send()));
  assert.deepEqual(new Set(all.map(({ kind }) => kind)), new Set(['success']));
  assert.equal(all[0]?.timings.tlsMs, null);
  assert.equal(peer.sessions.length, 1);
});

test('the first requests at once share the connection that is being opened, and others follow when it is full', async (t) => {
  const open: ServerHttp2Stream[] = [];
  const peer = await openPeer(t, (stream) => void open.push(stream));
  const sent = Array.from({ length: streamsMax + 8 }, () => peer.send());
  while (open.length < streamsMax + 8) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(peer.sessions.length, 2);
  for (const stream of open) stream.respond({ ':status': 204 }, { endStream: true });
  const results = await Promise.all(sent);
  assert.ok(results.every(({ isSuccess }) => isSuccess));
});

test('a receiver takes no more requests at once than it says', async (t) => {
  const most = { open: 0, at: 0 };
  const peer = await openPeer(
    t,
    (stream) => {
      most.open += 1;
      most.at = Math.max(most.at, most.open);
      setImmediate(() => {
        most.open -= 1;
        stream.respond({ ':status': 200 }, { endStream: true });
      });
    },
    { settings: { maxConcurrentStreams: 2 } },
  );
  await peer.send();
  const results = await Promise.all(Array.from({ length: 10 }, () => peer.send()));
  assert.deepEqual(
    results.filter(({ isSuccess }) => !isSuccess),
    [],
  );
  assert.ok(peer.sessions.length > 1);
});

test('what a receiver does to a request or the connection is a failure in words, each once', async (t) => {
  const failing: Readonly<Record<string, readonly [OnStream, string, RegExp]>> = {
    reset: [(stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR), 'protocol', /reset the request/],
    'reset without a reason': [
      (stream) => stream.close(constants.NGHTTP2_NO_ERROR),
      'connect',
      /closed without an answer/,
    ],
    refused: [(stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM), 'connect', /REFUSED_STREAM/],
    'a connection that ends': [(stream) => stream.session?.destroy(), 'connect', /closed without an answer/],
    'a socket that is reset': [
      (stream) => stream.session?.socket.destroy(),
      'connect',
      /closed without an answer/,
    ],
    'half an answer': [
      (stream) => {
        stream.respond({ ':status': 200, 'content-length': '10' });
        stream.write('half', () => stream.session?.destroy());
      },
      'protocol',
      /in the middle of the answer/,
    ],
    'a silent one': [() => undefined, 'timeout', /No complete answer within/],
    'too many header fields': [
      (stream) => {
        const many = Array.from({ length: 400 }, (_, index) => [`x-${index}`, 'a'.repeat(60)] as const);
        stream.respond({ ':status': 200, ...Object.fromEntries(many) }, { endStream: true });
      },
      'protocol',
      /./,
    ],
    'a flood of interim answers': [
      (stream) => {
        for (let count = 0; count < 60; count += 1) stream.additionalHeaders({ ':status': 103 });
        stream.respond({ ':status': 200 }, { endStream: true });
      },
      'protocol',
      /too many headers or interim answers/,
    ],
  };
  for (const [name, [onStream, kind, cause]] of Object.entries(failing)) {
    let isFailing = true;
    const peer = await openPeer(t, (stream, headers, count) =>
      isFailing ? onStream(stream, headers, count) : ok(stream, headers, count),
    );
    const result = await peer.send({ timeoutMs: 1_000 });
    assert.equal(result.kind, kind, `${name}: ${result.cause}`);
    assert.match(result.cause, cause, name);
    // Only what the receiver says it has not read is sent again, once.
    assert.equal(peer.requests.length, name === 'refused' ? 2 : 1, name);
    isFailing = false;
    assert.equal((await peer.send()).kind, 'success', name);
  }
});

test('an answer that is too long is cut, and its status decides', async (t) => {
  const peer = await openPeer(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('x'.repeat(1_000_000));
  });
  const result = await peer.send();
  assert.deepEqual([result.kind, result.responseBody.length], ['success', 16 * 1_024]);
});

test('a receiver that goes away lets open requests end, and what it has not read is sent again once', async (t) => {
  const open: ServerHttp2Stream[] = [];
  const peer = await openPeer(t, (stream, headers, count) =>
    count === 2 ? open.push(stream) : ok(stream, headers, count),
  );
  await peer.send();
  const waiting = peer.send();
  while (open.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const [session] = peer.sessions;
  session?.goaway(constants.NGHTTP2_NO_ERROR);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal((await peer.send()).kind, 'success');
  assert.equal(peer.sessions.length, 2);
  open[0]?.respond({ ':status': 200 }, { endStream: true });
  assert.equal((await waiting).kind, 'success');
  const refusing = await openPeer(t, (stream, headers, count) =>
    count === 2 ? stream.close(constants.NGHTTP2_REFUSED_STREAM) : ok(stream, headers, count),
  );
  await refusing.send();
  assert.equal((await refusing.send()).kind, 'success');
  assert.equal(refusing.requests.length, 3);
});

test('a receiver that does not read holds up its own request until the deadline', async (t) => {
  const peer = await openPeer(t, ok, { settings: { initialWindowSize: 0 } });
  // Its settings are known once it has answered.
  await peer.send();
  const stalled = await peer.send({ timeoutMs: 1_000 });
  assert.equal(stalled.kind, 'timeout');
  assert.equal(peer.requests.length, 1);
});

test('a flood of frames that answer nothing ends the connection', async (t) => {
  const peer = await openPeer(t, (stream) => {
    const flood = (): void => {
      const { session } = stream;
      if (session === undefined || session.destroyed) return;
      for (let count = 0; count < 5; count += 1) if (!session.destroyed) session.ping(() => undefined);
      setImmediate(flood);
    };
    flood();
  });
  const started = systemClock.monotonic();
  const result = await peer.send({ timeoutMs: 30_000 });
  assert.equal(result.kind, 'connect');
  assert.ok(systemClock.monotonic() - started < 25_000);
});

test('many large requests at once arrive whole', async (t) => {
  const peer = await openPeer(t, ok);
  const body = Buffer.from(JSON.stringify({ data: 'x'.repeat(300_000) }));
  const results = await Promise.all(Array.from({ length: streamsMax * 2 }, () => peer.send({ body })));
  assert.deepEqual([...new Set(results.map(({ kind, cause }) => kind + cause))], ['success']);
  const large = await peer.send({ body: Buffer.alloc(4 * 1024 * 1024, 'y') });
  assert.equal(large.kind, 'success');
  assert.deepEqual([...new Set(peer.requests.map((one) => one.body.length))], [body.length, 4 * 1024 * 1024]);
});

test('a header that HTTP/2 does not have fails its own request, and no other', async (t) => {
  const peer = await openPeer(t, ok);
  const wrong = await peer.send({ customHeaders: { 'http2-settings': 'x' } });
  assert.deepEqual([wrong.kind, /headers is not valid/.test(wrong.cause)], ['protocol', true]);
  assert.equal((await peer.send()).kind, 'success');
  assert.equal(peer.sessions.length, 1);
});

test('a receiver that does not answer is sent other requests over another connection', async (t) => {
  const peer = await openPeer(t, (stream, headers, count) =>
    count === 1 ? undefined : ok(stream, headers, count),
  );
  assert.equal((await peer.send({ timeoutMs: 1_000 })).kind, 'timeout');
  assert.equal((await peer.send()).kind, 'success');
  assert.equal(peer.sessions.length, 2);
});

test('HTTP/2 goes through the proxy of the operator, which gets the address and no name', async (t) => {
  await using proxy = await ConnectProxy.open();
  const peer = await openPeer(t, ok, { agent: { proxy: { host: '127.0.0.1', port: proxy.port } } });
  assert.equal((await peer.send()).kind, 'success');
  assert.deepEqual(proxy.targets, [`127.0.0.1:${new URL(peer.url).port}`]);
});

test('a receiver over HTTP/2 is shown the certificate of its endpoint, and another one needs another connection', async (t) => {
  const authority = makeCertificate({ names: ['ca.test'], commonName: 'Our authority', isAuthority: true });
  const peer = await openPeer(t, ok, { requestCert: true, ca: authority.cert });
  const [one, other] = ['one', 'other'].map((commonName) =>
    makeCertificate({ names: ['client.test'], issuer: authority, commonName }),
  );
  assert.ok(one && other);
  for (const { cert, key } of [one, one, other]) {
    const tls = { ca: certificate.cert, client: { certificate: cert, key } };
    assert.equal((await peer.send({ tls })).kind, 'success');
  }
  assert.equal(peer.sessions.length, 2);
  assert.equal((await peer.send()).isSuccess, false, 'without one');
});

test('a connection to a receiver is closed once it has been idle', async (t) => {
  const peer = await openPeer(t, ok);
  await peer.send();
  const [session] = peer.sessions;
  assert.ok(session);
  if (!session.destroyed) await once(session, 'close');
});
