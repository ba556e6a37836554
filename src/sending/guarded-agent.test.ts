import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { after, test } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { makeCertificate } from '../../test/support/certificate.ts';
import { Receiver } from '../../test/support/receiver.ts';
import { StubDns, type StubDnsEntry } from '../../test/support/stub-dns.ts';
import { systemClock } from '../base/clock.ts';
import { loopbackRanges, type NetworkPolicy } from '../network/address-guard.ts';
import type { AttemptRequest, AttemptResult } from './attempt-result.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { parseCidr } from '../base/ip-address.ts';
import { refusedTarget } from './endpoint-request.ts';
import { GuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts';

const strict: NetworkPolicy = { allowHttp: true, allowed: [] };
const loopback: NetworkPolicy = { allowHttp: true, allowed: loopbackRanges };
/** Only this one address of the machine: the others stand for the operator's network. */
const onlySecond: NetworkPolicy = { allowHttp: true, allowed: [parseCidr('127.0.0.2/32')] };

interface ConnectTarget {
  readonly host: string;
  readonly port: number;
}

/** Set by the test of the last guard: sends a socket elsewhere than it was meant to. */
let redirect: ((target: ConnectTarget) => ConnectTarget) | undefined;

// The safety net of these tests: should a guard ever fail, its packet still does not leave this machine. Node hands a
// prepared list whose first element is the target to this method.
type PreparedConnect = (this: Socket, prepared: [ConnectTarget, ...unknown[]]) => Socket;
// The declared overloads know nothing of the prepared form, here and below.
// oxlint-disable-next-line typescript/unbound-method -- called with a socket as `this` below
const connect = Socket.prototype.connect as unknown as PreparedConnect;
const strays: string[] = [];
Socket.prototype.connect = function (this: Socket, prepared: [ConnectTarget, ...unknown[]]) {
  prepared[0] = redirect?.(prepared[0]) ?? prepared[0];
  if (/^(?:127\.|::1$)/.test(prepared[0].host)) return connect.call(this, prepared);
  strays.push(prepared[0].host);
  throw new Error('a test tried to reach another machine');
  // As above.
} as unknown as typeof Socket.prototype.connect;
after(() => assert.deepEqual(strays, []));

interface Setting extends Partial<GuardedAgentOptions> {
  readonly table?: Readonly<Record<string, StubDnsEntry>>;
}

interface Sending {
  readonly agent: GuardedAgent;
  readonly dns: StubDns;
  readonly send: (url: string, changes?: Partial<AttemptRequest>) => Promise<AttemptResult>;
}

/** At the second address, where nobody who asks for a free port or calls somebody has taken the same one; at the first they do. */
function openBeside({ port }: Receiver): Promise<Receiver> {
  return Receiver.open({ address: '127.0.0.2', port });
}

/** Runs with an agent that asks nobody but the stub name server. */
async function withAgent(setting: Setting, body: (sending: Sending) => Promise<void>): Promise<void> {
  await using dns = await StubDns.open(setting.table ?? {});
  const { clock = systemClock, policy = loopback } = setting;
  const agent = new GuardedAgent({ ...setting, policy, clock, dnsServers: [dns.server] });
  const parts = attemptParts({ agent, clock });
  const send = (url: string, changes: Partial<AttemptRequest> = {}) =>
    sendAttempt(attemptRequest(url, changes), parts);
  try {
    await body({ agent, dns, send });
  } finally {
    agent.stop();
  }
}

function assertRefused(result: AttemptResult): void {
  assert.deepEqual([result.kind, result.cause, result.status], ['refused', refusedTarget, null]);
  assert.equal(result.isEndpointWide, true);
}

test('a literal local address is refused without a packet, however it is written', async () => {
  await using receiver = await Receiver.open({ address: '0.0.0.0' });
  await withAgent({ policy: strict }, async ({ send }) => {
    for (const host of [
      '127.0.0.1',
      '127.1',
      '0',
      '2130706433',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '①②⑦.1',
      'localhost',
    ]) {
      assertRefused(await send(receiver.urlAt(host)));
    }
  });
  assert.equal(receiver.connectionCount, 0);
});

const forbidden: Readonly<Record<string, StubDnsEntry>> = {
  'private.test': ['10.0.0.1'],
  'loopback.test': ['127.0.0.1'],
  'six.test': ['::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  // The public one must not be tried either: nothing is sent to it, because all are refused together.
  'mixed.test': ['198.41.0.4', '127.0.0.1'],
  'mixed-six.test': ['198.41.0.4', 'fd00::1'],
  'alias.test': { cname: 'inside.example', addresses: ['127.0.0.1'] },
  'many.test': Array.from({ length: 25 }, (_, index) =>
    index === 24 ? '10.9.9.9' : `198.41.0.${index + 1}`,
  ),
};

for (const name of Object.keys(forbidden)) {
  test(`W-16: ${name} is refused when one of its addresses is, and nobody is called`, async () => {
    await using receiver = await Receiver.open();
    await withAgent({ policy: strict, table: forbidden }, async ({ send }) => {
      assertRefused(await send(receiver.urlAt(name)));
    });
    assert.equal(receiver.connectionCount, 0);
  });
}

test('W-16: an allowed address beside a forbidden one is not called', async () => {
  await using other = await Receiver.open();
  await using allowed = await openBeside(other);
  const table = { 'mixed.test': ['127.0.0.2', '127.0.0.1'] };
  await withAgent({ policy: onlySecond, table }, async ({ send }) => {
    assertRefused(await send(allowed.urlAt('mixed.test')));
  });
  assert.deepEqual([allowed.connectionCount, other.connectionCount], [0, 0]);
});

test('W-16: a name that changes its address between attempts is judged again, and asked once for each connection', async () => {
  await using other = await Receiver.open();
  await using allowed = await openBeside(other);
  const table: Record<string, StubDnsEntry> = {
    'rebind.test': (asked) => (asked === 0 ? ['127.0.0.2'] : ['127.0.0.1']),
  };
  await withAgent({ policy: onlySecond, table }, async ({ send, dns }) => {
    allowed.mode = { kind: 'status', status: 200, headers: { connection: 'close' } };
    assert.equal((await send(allowed.urlAt('rebind.test'))).isSuccess, true);
    assert.deepEqual(dns.questions.map(({ type }) => type).toSorted(), ['A', 'AAAA']);
    assertRefused(await send(allowed.urlAt('rebind.test')));
  });
  assert.deepEqual([allowed.connectionCount, other.connectionCount], [1, 0]);
});

test('W-16: an open connection does not outlive its judgement by more than a minute', async () => {
  await using receiver = await Receiver.open({ address: '127.0.0.2' });
  let laterMs = 0;
  const clock = { now: () => systemClock.now(), monotonic: () => systemClock.monotonic() + laterMs };
  const table: Record<string, StubDnsEntry> = {
    'rebind.test': (asked) => (asked === 0 ? ['127.0.0.2'] : ['127.0.0.1']),
  };
  await withAgent({ policy: onlySecond, table, clock }, async ({ send }) => {
    assert.equal((await send(receiver.urlAt('rebind.test'))).isSuccess, true);
    laterMs = 59_000;
    assert.equal((await send(receiver.urlAt('rebind.test'))).isSuccess, true);
    laterMs = 61_000;
    assertRefused(await send(receiver.urlAt('rebind.test')));
  });
  assert.equal(receiver.connectionCount, 1);
});

test('a socket that leads elsewhere than it was meant to is dropped before a byte is written', async (context) => {
  await using other = await Receiver.open();
  await using meant = await openBeside(other);
  // What a proxy preloaded into the process would do.
  const leadAway = (target: ConnectTarget): ConnectTarget => ({ ...target, host: '127.0.0.1' });
  redirect = leadAway;
  context.after(() => (redirect = undefined));
  await withAgent({ policy: loopback }, async ({ send }) => {
    assertRefused(await send(meant.urlAt('127.0.0.2')));
  });
  assert.deepEqual([meant.connectionCount, other.requests.length], [0, 0]);
});

test('a name is resolved, timed, and sent as the host', async () => {
  await using receiver = await Receiver.open();
  await withAgent({ table: { 'hook.test': ['127.0.0.1'] } }, async ({ send }) => {
    const result = await send(receiver.urlAt('hook.test'));
    assert.equal(result.isSuccess, true);
    assert.ok(result.timings.dnsMs !== null && result.timings.connectMs !== null);
  });
  assert.equal(receiver.requests[0]?.headers.host, `hook.test:${receiver.port}`);
});

test('the next address is tried when nobody listens at the first', async () => {
  await using receiver = await Receiver.open({ address: '127.0.0.3' });
  await withAgent({ table: { 'hook.test': ['127.0.0.2', '127.0.0.3'] } }, async ({ send }) => {
    assert.equal((await send(receiver.urlAt('hook.test'))).isSuccess, true);
  });
});

test('localhost means loopback and is not asked of any name server', async () => {
  await using receiver = await Receiver.open();
  await withAgent({}, async ({ send, dns }) => {
    assert.equal((await send(receiver.urlAt('localhost'))).isSuccess, true);
    assert.equal((await send(receiver.urlAt('a.localhost'), { endpointId: 'other' })).isSuccess, true);
    assert.deepEqual(dns.questions, []);
  });
});

test('localhost means the loopback addresses that the operator allows', async () => {
  await using receiver = await Receiver.open();
  const policy = { allowHttp: true, allowed: [parseCidr('127.0.0.1/32')] };
  await withAgent({ policy }, async ({ send }) => {
    assert.equal((await send(receiver.urlAt('localhost'))).isSuccess, true);
  });
  await withAgent({ policy: onlySecond }, async ({ send }) =>
    assertRefused(await send(receiver.urlAt('localhost'))),
  );
  assert.equal(receiver.connectionCount, 1);
});

test('attempts that start together ask for the name once', async () => {
  await using receiver = await Receiver.open();
  await withAgent({ table: { 'hook.test': ['127.0.0.1'] } }, async ({ send, dns }) => {
    const results = await Promise.all(Array.from({ length: 20 }, () => send(receiver.urlAt('hook.test'))));
    assert.ok(results.every(({ isSuccess }) => isSuccess));
    assert.equal(dns.questions.length, 2);
  });
});

test('W-18: a name server that fails, knows nothing or says nothing is a value', async () => {
  const table: Record<string, StubDnsEntry> = {
    'empty.test': [],
    'broken.test': 'server failure',
    'mute.test': 'silence',
  };
  await withAgent({ table }, async ({ send }) => {
    const cause = async (name: string, timeoutMs: number) => {
      const { kind, cause, isEndpointWide } = await send(`http://${name}:9/`, { timeoutMs });
      return [kind, cause, isEndpointWide];
    };
    assert.deepEqual(await cause('absent.test', 10_000), ['dns', 'The host name has no address.', true]);
    assert.deepEqual(await cause('empty.test', 10_000), ['dns', 'The host name has no address.', true]);
    assert.deepEqual(await cause('broken.test', 10_000), [
      'dns',
      'The host name could not be resolved.',
      true,
    ]);
    assert.deepEqual(await cause('mute.test', 300), ['timeout', 'No complete answer within 0.3 s.', true]);
  });
});

test('http to a name is refused when only a range was opened and the name leads outside of it', async () => {
  await using receiver = await Receiver.open();
  const policy = { allowHttp: false, allowed: [parseCidr('127.0.0.2/32')] };
  await withAgent({ policy, table: { 'public.test': ['198.41.0.4'] } }, async ({ send }) => {
    assertRefused(await send(receiver.urlAt('public.test')));
  });
});

test('W-20: proxy variables of the environment are ignored', async () => {
  await using proxy = await Receiver.open();
  await using receiver = await Receiver.open();
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
  for (const name of names)
    process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${proxy.port}`;
  try {
    await withAgent({}, async ({ send }) => assert.equal((await send(receiver.url)).isSuccess, true));
  } finally {
    for (const name of names) delete process.env[name];
  }
  assert.equal(proxy.connectionCount, 0);
});

test('W-21: TLS is verified against the name of the URL, which is also what the greeting says', async () => {
  const tls = makeCertificate({ names: ['hook.test'] });
  await using receiver = await Receiver.open({ tls });
  const table = { 'hook.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] };
  await withAgent({ table, trustedCertificates: tls.cert }, async ({ send }) => {
    const result = await send(receiver.urlAt('hook.test'));
    assert.equal(result.isSuccess, true, result.cause);
    assert.ok(result.timings.tlsMs !== null);
    assert.equal((await send(receiver.urlAt('hook.test'))).timings.tlsMs, null);
    const wrong = await send(receiver.urlAt('other.test'), { endpointId: 'other' });
    assert.deepEqual([wrong.kind, wrong.cause], ['tls', 'The certificate is for another name.']);
    const bare = await send(receiver.urlAt('127.0.0.1'), { endpointId: 'bare' });
    assert.equal(bare.kind, 'tls');
  });
  assert.deepEqual(receiver.serverNames, ['hook.test']);
  assert.equal(receiver.requests.length, 2);
});

test('FW-09: a certificate that has expired, is not trusted, or is none at all is named', async () => {
  const old = makeCertificate({
    names: ['hook.test'],
    notBefore: new Date(0),
    notAfter: new Date(86_400_000),
  });
  const fresh = makeCertificate({ names: ['hook.test'] });
  await using expired = await Receiver.open({ tls: old });
  await using unknown = await Receiver.open({ tls: fresh });
  await using plain = await Receiver.open();
  await withAgent(
    { table: { 'hook.test': ['127.0.0.1'] }, trustedCertificates: old.cert },
    async ({ send }) => {
      const cause = async (port: number) => {
        const result = await send(`https://hook.test:${port}/`, { endpointId: String(port) });
        return `${result.kind}: ${result.cause}`;
      };
      assert.equal(await cause(expired.port), 'tls: The certificate has expired.');
      assert.equal(await cause(unknown.port), 'tls: The certificate is self-signed.');
      assert.match(await cause(plain.port), /^tls: The TLS handshake failed/);
    },
  );
  assert.deepEqual([expired.requests.length, unknown.requests.length], [0, 0]);
});

test('verification cannot be turned off by the environment', async () => {
  await using receiver = await Receiver.open({ tls: makeCertificate({ names: ['hook.test'] }) });
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  try {
    await withAgent({ table: { 'hook.test': ['127.0.0.1'] } }, async ({ send }) => {
      assert.equal((await send(receiver.urlAt('hook.test'))).kind, 'tls');
    });
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  }
});

test('a TLS receiver that accepts and says nothing costs the deadline of the attempt', async () => {
  await using mute = await Receiver.open({ mode: { kind: 'never answers' } });
  await withAgent({ table: { 'hook.test': ['127.0.0.1'] } }, async ({ send }) => {
    // A plain server that waits for the rest of a request that never becomes one.
    const result = await send(`https://hook.test:${mute.port}/`, { timeoutMs: 300 });
    assert.ok(result.kind === 'timeout' || result.kind === 'tls', result.kind);
  });
});

test('an endpoint whose URL changes gets new connections', async () => {
  await using first = await Receiver.open();
  await using second = await Receiver.open();
  await withAgent({}, async ({ send, agent }) => {
    await send(first.url);
    await send(second.url);
    assert.deepEqual([first.requests.length, second.requests.length, agent.poolCount], [1, 1, 1]);
  });
});

test('pools are bounded: the one that was used longest ago goes first', async () => {
  await using receiver = await Receiver.open();
  await withAgent({ poolsMax: 2 }, async ({ send, agent }) => {
    for (const endpointId of ['a', 'b', 'a', 'c', 'a']) await send(receiver.url, { endpointId });
    assert.equal(agent.poolCount, 2);
    assert.equal(receiver.connectionCount, 3);
    await send(receiver.url, { endpointId: 'b' });
    assert.equal(receiver.connectionCount, 4);
  });
});

test('a handshake connects as an attempt would, sends nothing, and tells whether that worked', async () => {
  const certificate = makeCertificate({ names: ['handshake.test'] });
  const table = { 'handshake.test': ['127.0.0.1'], 'elsewhere.test': ['127.0.0.1'] };
  await using plain = await Receiver.open();
  await using secure = await Receiver.open({ tls: certificate });
  await withAgent({ table, trustedCertificates: certificate.cert }, async ({ agent }) => {
    assert.equal(await agent.handshake(plain.url), true);
    assert.equal(await agent.handshake(`https://handshake.test:${secure.port}/`), true);
    assert.equal(
      await agent.handshake(`https://elsewhere.test:${secure.port}/`),
      false,
      'not its certificate',
    );
    assert.equal(await agent.handshake(`https://handshake.test:${plain.port}/`), false, 'no TLS');
    assert.equal(await agent.handshake('http://unknown.test/'), false);
  });
  const { port } = plain;
  assert.equal(plain.requests.length + secure.requests.length, 0);
  await plain.close();
  await withAgent({}, async ({ agent }) =>
    assert.equal(await agent.handshake(`http://127.0.0.1:${port}/`), false),
  );
});

test('a handshake goes to no address that an attempt may not go to', async () => {
  await using receiver = await Receiver.open();
  await withAgent({ policy: strict, table: { 'loopback.test': ['127.0.0.1'] } }, async ({ agent }) => {
    for (const host of ['127.0.0.1', 'loopback.test'])
      assert.equal(await agent.handshake(receiver.urlAt(host)), false);
  });
  assert.equal(receiver.connectionCount, 0);
});
