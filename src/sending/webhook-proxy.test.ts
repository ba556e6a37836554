import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { makeCertificate } from '../../test/support/certificate.ts';
import { ConnectProxy, type ConnectProxyMode } from '../../test/support/connect-proxy.ts';
import { Receiver } from '../../test/support/receiver.ts';
import { StubDns, type StubDnsEntry } from '../../test/support/stub-dns.ts';
import { parseCidr } from '../base/ip-address.ts';
import { systemClock } from '../base/clock.ts';
import { loopbackRanges, type NetworkPolicy } from '../network/address-guard.ts';
import type { EgressProxy } from '../network/proxy-tunnel.ts';
import type { AttemptRequest, AttemptResult } from './attempt-result.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { refusedTarget } from './endpoint-request.ts';
import { GuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts';

const loopback: NetworkPolicy = { allowHttp: true, allowed: loopbackRanges };
const strict: NetworkPolicy = { allowHttp: true, allowed: [] };

interface Setting extends Partial<GuardedAgentOptions> {
  readonly table?: Readonly<Record<string, StubDnsEntry>>;
}

interface Sending {
  readonly proxy: ConnectProxy;
  readonly agent: GuardedAgent;
  readonly send: (url: string, changes?: Partial<AttemptRequest>) => Promise<AttemptResult>;
}

/** Runs with an agent that sends through a proxy. */
async function throughProxy(setting: Setting, body: (sending: Sending) => Promise<void>): Promise<void> {
  await using dns = await StubDns.open(setting.table ?? {});
  await using proxy = await ConnectProxy.open();
  const agent = new GuardedAgent({
    policy: loopback,
    clock: systemClock,
    proxy: { host: '127.0.0.1', port: proxy.port },
    ...setting,
    dnsServers: [dns.server],
  });
  const parts = attemptParts({ agent, clock: systemClock });
  try {
    await body({ agent, proxy, send: (url, changes) => sendAttempt(attemptRequest(url, changes), parts) });
  } finally {
    agent.stop();
  }
}

test('requests to HTTP and HTTPS receivers go through the proxy, which gets their addresses and no names', async () => {
  const tls = makeCertificate({ names: ['hook.test'] });
  await using plain = await Receiver.open();
  await using secure = await Receiver.open({ tls });
  const table = { 'hook.test': ['127.0.0.1'] };
  await throughProxy({ table, trustedCertificates: tls.cert }, async ({ send, proxy }) => {
    for (const [endpointId, receiver] of [
      ['plain', plain],
      ['secure', secure],
    ] as const) {
      for (const again of [false, true]) {
        const result = await send(receiver.urlAt('hook.test'), { endpointId });
        assert.equal(result.isSuccess, true, result.cause);
        assert.equal(result.timings.connectMs === null, again, 'the connection is used again');
      }
    }
    assert.deepEqual(proxy.targets, [`127.0.0.1:${plain.port}`, `127.0.0.1:${secure.port}`]);
    assert.doesNotMatch(proxy.heads.join(''), /hook\.test|webhook-|Authorization/i);
  });
  assert.equal(plain.requests[0]?.headers.host, `hook.test:${plain.port}`);
  assert.deepEqual(secure.serverNames, ['hook.test'], 'the greeting has the name');
});

test('the proxy gets the credentials of its URL, and the receiver does not', async () => {
  await using receiver = await Receiver.open();
  await throughProxy({}, async ({ proxy }) => {
    const authorization = `Basic ${Buffer.from('user:pa:ss').toString('base64')}`;
    const withCredentials: EgressProxy = { host: 'localhost', port: proxy.port, authorization };
    await throughProxy({ proxy: withCredentials }, async ({ send }) => {
      assert.equal((await send(receiver.url)).isSuccess, true);
    });
    assert.match(proxy.heads[0] ?? '', /\r\nProxy-Authorization: Basic dXNlcjpwYTpzcw==\r\n/);
  });
  assert.equal(receiver.requests[0]?.headers['proxy-authorization'], undefined);
});

test('W-62: an address that is not allowed is not asked of the proxy, literal or resolved', async () => {
  const table: Record<string, StubDnsEntry> = {
    'private.test': ['10.0.0.1'],
    'metadata.test': ['169.254.169.254'],
    'mixed.test': ['198.41.0.4', '127.0.0.1'],
    'alias.test': { cname: 'inside.example', addresses: ['::1'] },
  };
  const hosts = ['127.0.0.1', '[::1]', '2130706433', '10.0.0.1', '169.254.169.254', ...Object.keys(table)];
  await throughProxy({ table, policy: strict }, async ({ send, proxy, agent }) => {
    for (const host of hosts) {
      const { kind, cause } = await send(`http://${host}/`);
      assert.deepEqual([kind, cause], ['refused', refusedTarget], host);
      assert.equal(await agent.handshake(`http://${host}/`), false, host);
    }
    assert.equal(proxy.connectionCount, 0);
  });
});

test('W-62: a name that turns private between two connections is refused at the second', async () => {
  await using receiver = await Receiver.open();
  receiver.mode = { kind: 'status', status: 200, headers: { connection: 'close' } };
  const policy = { allowHttp: true, allowed: [parseCidr('127.0.0.2/32')] };
  const table: Record<string, StubDnsEntry> = {
    'rebind.test': (asked) => (asked === 0 ? ['127.0.0.2'] : ['127.0.0.1']),
  };
  await throughProxy({ table, policy }, async ({ send, proxy }) => {
    proxy.routes.set(`127.0.0.2:${receiver.port}`, receiver.port);
    assert.equal((await send(receiver.urlAt('rebind.test'))).isSuccess, true);
    assert.equal((await send(receiver.urlAt('rebind.test'))).kind, 'refused');
    assert.deepEqual(proxy.targets, [`127.0.0.2:${receiver.port}`]);
  });
});

test('W-62: a redirect is not followed through the proxy', async () => {
  await using other = await Receiver.open();
  await using receiver = await Receiver.open({ mode: { kind: 'redirect', location: other.url } });
  await throughProxy({}, async ({ send, proxy }) => {
    assert.equal((await send(receiver.url)).kind, 'status');
    assert.equal(proxy.targets.length, 1);
  });
  assert.equal(other.connectionCount, 0);
});

test('W-63: through the proxy, a certificate must be for the name and trusted', async () => {
  const tls = makeCertificate({ names: ['hook.test'] });
  await using receiver = await Receiver.open({ tls });
  const table = { 'hook.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] };
  await throughProxy({ table, trustedCertificates: tls.cert }, async ({ send }) => {
    const { kind, cause } = await send(receiver.urlAt('other.test'));
    assert.deepEqual([kind, cause], ['tls', 'The certificate is for another name.']);
  });
  await throughProxy({ table }, async ({ send }) => {
    assert.equal((await send(receiver.urlAt('hook.test'))).cause, 'The certificate is self-signed.');
  });
  assert.equal(receiver.requests.length, 0);
});

const tooLarge = `HTTP/1.1 200 OK\r\nX-Filler: ${'x'.repeat(20_000)}\r\n\r\n`;
const failures: Readonly<Record<string, readonly [ConnectProxyMode, kind: string, cause: string]>> = {
  'that requires other credentials': [
    { kind: 'raw', bytes: 'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n' },
    'proxy',
    'The proxy refused the credentials of this service (407).',
  ],
  'that forbids the target': [
    { kind: 'raw', bytes: 'HTTP/1.1 403 Forbidden\r\n\r\n' },
    'proxy',
    'The proxy refused to connect to the receiver (403).',
  ],
  'that cannot reach the receiver': [
    { kind: 'raw', bytes: 'HTTP/1.0 502 Bad Gateway\r\n\r\n', isClosed: true },
    'connect',
    'The proxy could not connect to the receiver (502).',
  ],
  'that redirects': [
    { kind: 'raw', bytes: 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n' },
    'proxy',
    'The proxy refused to connect to the receiver (302).',
  ],
  'that closes the connection': [{ kind: 'close' }, 'proxy', 'The proxy closed the connection.'],
  'that says nothing': [{ kind: 'silence' }, 'timeout', 'The proxy did not answer in time.'],
  'that does not speak HTTP': [
    { kind: 'raw', bytes: 'SSH-2.0-test\r\n\r\n' },
    'proxy',
    'The proxy did not answer in HTTP/1.1.',
  ],
  'whose headers are huge': [
    { kind: 'raw', bytes: tooLarge },
    'proxy',
    "The proxy's answer is larger than 16 KiB.",
  ],
  'whose headers do not end': [
    { kind: 'raw', bytes: `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(4_000)}` },
    'proxy',
    "The proxy's answer is larger than 16 KiB.",
  ],
  'that answers in the name of the receiver': [
    { kind: 'raw', bytes: 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n' },
    'proxy',
    'The proxy sent more than its answer before the request.',
  ],
};

for (const [what, [mode, kind, cause]] of Object.entries(failures)) {
  test(`a proxy ${what} fails the attempt in words of its own`, async () => {
    await using receiver = await Receiver.open();
    await throughProxy({}, async ({ send, proxy, agent }) => {
      proxy.mode = mode;
      const result = await send(receiver.url, { timeoutMs: 2_000 });
      assert.deepEqual([result.kind, result.cause, result.status], [kind, cause, null]);
      if (mode.kind !== 'silence') assert.equal(await agent.handshake(receiver.url), false);
    });
    assert.equal(receiver.connectionCount, 0);
  });
}

test('a proxy that is not there fails the attempt, and requests go through it once it is back', async () => {
  await using receiver = await Receiver.open();
  await throughProxy({}, async ({ send, proxy, agent }) => {
    assert.equal((await send(receiver.url)).isSuccess, true);
    await proxy.close();
    const { kind, cause } = await send(receiver.url);
    assert.deepEqual([kind, cause], ['proxy', 'The proxy could not be reached: the connection was refused.']);
    assert.equal(await agent.handshake(receiver.url), false);
  });
  assert.equal(receiver.connectionCount, 1, 'and never past it');
});

test('the request for an access token goes through the proxy, and its server is checked', async () => {
  await using receiver = await Receiver.open();
  await using tokens = await Receiver.open({
    mode: { kind: 'status', status: 200, body: '{"access_token":"t0ken","token_type":"Bearer"}' },
  });
  await throughProxy({}, async ({ send, proxy }) => {
    const oauth2 = { tokenUrl: tokens.url, clientId: 'c', clientSecret: 's', updated: '' };
    assert.equal((await send(receiver.url, { oauth2 })).isSuccess, true);
    assert.deepEqual(proxy.targets, [`127.0.0.1:${tokens.port}`, `127.0.0.1:${receiver.port}`]);
  });
  await throughProxy({ policy: strict }, async ({ send, proxy }) => {
    const oauth2 = { tokenUrl: tokens.url, clientId: 'c', clientSecret: 's', updated: '' };
    assert.equal((await send('https://hook.test/', { oauth2 })).kind, 'refused');
    assert.equal(proxy.connectionCount, 0);
  });
});
