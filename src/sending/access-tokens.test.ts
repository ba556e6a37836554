import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { Receiver } from '../../test/support/receiver.ts';
import { StubDns } from '../../test/support/stub-dns.ts';
import { json, TokenServer } from '../../test/support/token-server.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import { refusedTarget } from './endpoint-request.ts';
import type { AttemptRequest, AttemptResult } from './attempt-result.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { GuardedAgent } from './guarded-agent.ts';

interface Stage {
  readonly tokens: TokenServer;
  readonly receiver: Receiver;
  readonly send: (changes?: Partial<AttemptRequest>) => Promise<AttemptResult>;
  /** Moves the time of tokens, and of nothing that waits. */
  readonly passMs: (ms: number) => void;
}

/** Runs with a receiver, an authorization server, and an agent that asks nobody but a stub name server. */
async function onStage(
  body: (stage: Stage) => Promise<void>,
  table: Readonly<Record<string, readonly string[]>> = {},
): Promise<void> {
  await using dns = await StubDns.open(table);
  await using tokens = await TokenServer.open();
  await using receiver = await Receiver.open();
  let passedMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
  const policy = { allowHttp: true, allowed: loopbackRanges };
  const agent = new GuardedAgent({ policy, clock, dnsServers: [dns.server] });
  const parts = attemptParts({ agent, clock });
  const oauth2 = { ...tokens.credentials, updated: '1' };
  const send = (changes: Partial<AttemptRequest> = {}): Promise<AttemptResult> =>
    sendAttempt(attemptRequest(receiver.url, { oauth2, ...changes }), parts);
  try {
    await body({ tokens, receiver, send, passMs: (ms) => (passedMs += ms) });
  } finally {
    agent.stop();
  }
}

function authorizations({ requests }: Receiver): readonly (string | undefined)[] {
  return requests.map(({ headers }) => headers.authorization);
}

test('a token is fetched as RFC 6749 has it, and sent with the request', () =>
  onStage(async ({ tokens, receiver, send }) => {
    const oauth2 = {
      ...tokens.credentials,
      scope: 'hooks write',
      audience: 'https://a.example/?b',
      updated: '1',
    };
    assert.equal((await send({ oauth2 })).isSuccess, true);
    assert.deepEqual(authorizations(receiver), ['Bearer token-0001']);
    const [request] = tokens.requests;
    assert.deepEqual([request?.method, request?.path], ['POST', '/token']);
    assert.equal(request?.headers['content-type'], 'application/x-www-form-urlencoded');
    assert.equal(request?.headers.accept, 'application/json');
    assert.deepEqual(Object.fromEntries(new URLSearchParams(request?.body.toString())), {
      grant_type: 'client_credentials',
      scope: 'hooks write',
      audience: 'https://a.example/?b',
    });
  }));

test('attempts share a token until half a minute before it expires, and the request that fetches it', () =>
  onStage(async ({ tokens, receiver, send, passMs }) => {
    await Promise.all(Array.from({ length: 20 }, () => send()));
    passMs(3_569_000);
    await send();
    assert.equal(tokens.requests.length, 1);
    passMs(2_000);
    await Promise.all([send(), send()]);
    assert.equal(tokens.requests.length, 2);
    assert.deepEqual(
      authorizations(receiver).slice(-3),
      ['token-0001', 'token-0002', 'token-0002'].map((one) => `Bearer ${one}`),
    );
  }));

test('a token without expires_in is cached for five minutes, and none for less than a second', () =>
  onStage(async ({ tokens, send, passMs }) => {
    tokens.members = {};
    await send();
    passMs(295_000);
    await send();
    assert.equal(tokens.requests.length, 1);
    tokens.members = { expires_in: '5' };
    passMs(6_000);
    await Promise.all([send(), send()]);
    passMs(900);
    await send();
    assert.equal(tokens.requests.length, 2);
    passMs(100);
    await send();
    assert.equal(tokens.requests.length, 3);
  }));

test('endpoints share no token, and a change of an endpoint makes its token void', () =>
  onStage(async ({ tokens, receiver, send }) => {
    const oauth2 = { ...tokens.credentials, updated: '2' };
    await send();
    await send({ endpointId: 'another' });
    await send({ oauth2 });
    assert.deepEqual(authorizations(receiver), [
      'Bearer token-0001',
      'Bearer token-0002',
      'Bearer token-0003',
    ]);
  }));

test('a token that the receiver rejects is fetched again once, within the same attempt', () =>
  onStage(async ({ tokens, receiver, send }) => {
    await send();
    receiver.mode = { kind: 'status', status: 401, body: 'x'.repeat(40_000) };
    const refused = await send();
    assert.deepEqual([refused.kind, refused.status, refused.isEndpointWide], ['status', 401, false]);
    assert.deepEqual([tokens.requests.length, receiver.requests.length], [2, 3]);
    receiver.mode = { kind: 'ok' };
    assert.equal((await send()).isSuccess, true);
    assert.deepEqual(authorizations(receiver).slice(1), [
      'Bearer token-0001',
      'Bearer token-0002',
      'Bearer token-0002',
    ]);
  }));

test('attempts whose token is rejected at one time fetch one other', () =>
  onStage(async ({ tokens, receiver, send }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await send();
    receiver.mode = { kind: 'held', until: promise, status: 401 };
    const sent = Promise.all(Array.from({ length: 5 }, () => send()));
    await receiver.waitForRequests(6);
    receiver.mode = { kind: 'ok' };
    resolve();
    assert.deepEqual(
      (await sent).map(({ isSuccess }) => isSuccess),
      Array(5).fill(true),
    );
    assert.equal(tokens.requests.length, 2);
  }));

const answers: readonly (readonly [name: string, mode: TokenServer['mode'], cause: RegExp, kind?: string])[] =
  [
    [
      'an error',
      json(400, { error: 'invalid_scope', error_description: 'No such\nscope.' }),
      /the server answered with status 400\. It said: invalid_scope: No such scope\.$/,
    ],
    [
      'a status without words',
      { kind: 'status', status: 503, body: '<html>' },
      /the server answered with status 503\.$/,
    ],
    [
      'a redirect',
      { kind: 'redirect', location: 'http://127.0.0.1/' },
      /the server answered with status 302\.$/,
    ],
    [
      'no JSON',
      { kind: 'status', status: 200, body: 'access_token=abc' },
      /the answer is not a JSON object\.$/,
    ],
    ['no token', json(200, { token_type: 'Bearer' }), /has no token that can be sent\.$/],
    [
      'a token with a line break',
      json(200, { access_token: 'a\r\nx-forged: yes', token_type: 'bearer' }),
      /no token that can be sent\.$/,
    ],
    [
      'a token of another type',
      json(200, { access_token: 'abc', token_type: 'mac' }),
      /of a type other than Bearer\.$/,
    ],
    ['too much', { kind: 'endless body' }, /the answer is larger than 64 KiB\.$/],
    [
      'half an answer',
      { kind: 'half response' },
      /the connection was closed in the middle of the answer\.$/i,
    ],
    [
      'a closed connection',
      { kind: 'close after request' },
      /the connection was closed without an answer\.$/,
      'connect',
    ],
  ];

for (const [name, mode, cause, kind = 'protocol'] of answers)
  test(`an authorization server that answers with ${name} makes a failed attempt of the whole endpoint`, () =>
    onStage(async ({ tokens, receiver, send }) => {
      tokens.mode = mode;
      const result = await send();
      assert.match(result.cause, /^The token request failed: /);
      assert.match(result.cause, cause);
      assert.deepEqual([result.kind, result.status, result.isEndpointWide], [kind, null, true]);
      assert.equal(receiver.requests.length, 0);
      tokens.mode = undefined;
      assert.equal((await send()).isSuccess, true);
    }));

test('a token that takes longer than the attempt may is a time-out that says so', () =>
  onStage(async ({ tokens, send }) => {
    tokens.mode = { kind: 'never answers' };
    const [one, other] = await Promise.all([send({ timeoutMs: 1_000 }), send({ timeoutMs: 1_000 })]);
    for (const { kind, cause } of [one, other]) {
      assert.equal(kind, 'timeout');
      assert.match(cause, /^The token request failed: (?:no|there was no) complete answer /);
    }
    assert.equal(tokens.requests.length, 1);
  }));

test('a token is fetched from no address that an endpoint may not have', () =>
  onStage(
    async ({ tokens, receiver, send }) => {
      const hosts = ['10.0.0.1', '169.254.169.254', '[fd00::1]', 'inside.example.com'];
      for (const host of hosts) {
        const oauth2 = { ...tokens.credentials, tokenUrl: `http://${host}:${tokens.port}/`, updated: host };
        const { kind, cause, isEndpointWide } = await send({ oauth2 });
        const reason = refusedTarget.replace('This', 'this');
        assert.deepEqual(
          [kind, cause, isEndpointWide],
          ['refused', `The token request failed: ${reason}`, true],
        );
      }
      assert.deepEqual([tokens.requests.length, receiver.requests.length], [0, 0]);
    },
    { 'inside.example.com': ['127.0.0.1', '10.0.0.1'] },
  ));

test('a stored attempt has neither the token nor the client secret', () =>
  onStage(async ({ tokens, receiver, send }) => {
    const { clientSecret } = tokens.credentials;
    receiver.mode = { kind: 'echo', status: 500 };
    const { responseBody, responseHeaders } = await send();
    assert.match(JSON.stringify(receiver.requests[0]?.headers), /token-0001/);
    assert.doesNotMatch(responseHeaders + Buffer.from(responseBody).toString(), /token-0001/);
    const encoded = new URLSearchParams({ a: clientSecret }).toString().slice(2);
    const basic = String(tokens.requests[0]?.headers.authorization).slice('Basic '.length);
    tokens.mode = json(401, { error: `${clientSecret} ${encoded}`, error_description: basic });
    const { cause } = await send({ endpointId: 'another' });
    assert.match(cause, /It said: \*+ \*+: \*+$/);
  }));
