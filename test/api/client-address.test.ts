import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { ConfigError } from '../../src/config/config-error.ts';
import { readConfig } from '../../src/config/config.ts';
import { eventually } from '../support/eventually.ts';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const notTrusted = '127.0.0.1';

function change(service: TestService, body: unknown): Promise<TestAnswer> {
  return service.request('/api/settings', { method: 'PATCH', token: true, body });
}

/** Where the service thinks that this request comes from. */
async function originOf(service: TestService, headers: Readonly<Record<string, string>>): Promise<string> {
  const { json } = await service.request('/api/health', { token: true, headers });
  return json.data.realIP;
}

function startBehindProxies(t: TestContext): Promise<TestService> {
  return startService(t, { flags: { 'trusted-proxies': '127.0.0.0/8, 10.0.0.0/8,2001:db8:1::/48' } });
}

test('A-16 what a stranger writes into a header changes nothing, whatever the settings say', async (t) => {
  const service = await startService(t, { flags: { 'trusted-proxies': '10.0.0.0/8' } });
  const spoofed = { 'x-forwarded-for': '192.0.2.1', 'x-real-ip': '192.0.2.1', forwarded: 'for=192.0.2.1' };
  assert.equal(await originOf(service, spoofed), notTrusted);
  await change(service, { trustedProxy: { headers: ['X-Real-IP', 'X-Forwarded-For'] } });
  assert.equal(await originOf(service, spoofed), notTrusted);
  await change(service, { trustedProxy: { useLeftmostIP: true } });
  assert.equal(await originOf(service, spoofed), notTrusted);
  const { json } = await service.request('/api/health', { token: true, headers: spoofed });
  assert.equal(json.data.possibleProxyHeader, 'X-Forwarded-For');
});

test('behind a trusted proxy a client is the right-most address that is no proxy, IPv6 expanded', async (t) => {
  const service = await startBehindProxies(t);
  const cases: readonly (readonly [string, string])[] = [
    ['192.0.2.1', '192.0.2.1'],
    ['203.0.113.9, 192.0.2.1', '192.0.2.1'],
    ['203.0.113.9, 192.0.2.1, 10.1.2.3', '192.0.2.1'],
    ['203.0.113.9,192.0.2.1,10.1.2.3 , 2001:db8:1::5', '192.0.2.1'],
    ['203.0.113.9, nonsense, 192.0.2.1, unknown', '192.0.2.1'],
    ['10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['2001:DB8::a', '2001:0db8:0000:0000:0000:0000:0000:000a'],
    ['[2001:db8::a]:5000', '2001:0db8:0000:0000:0000:0000:0000:000a'],
    ['192.0.2.1:5000', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1%0', notTrusted],
    ['nonsense', notTrusted],
    ['', notTrusted],
    [','.repeat(5_000), notTrusted],
  ];
  for (const [header, expected] of cases)
    assert.equal(await originOf(service, { 'x-forwarded-for': header }), expected, header.slice(0, 50));
  assert.equal(await originOf(service, { 'x-real-ip': '192.0.2.1' }), notTrusted);
});

test('the settings say which header proxies write: the first that is there, from the left if they say so', async (t) => {
  const service = await startBehindProxies(t);
  await change(service, { trustedProxy: { headers: ['X-Real-IP', 'X-Other'] } });
  assert.equal(await originOf(service, { 'x-forwarded-for': '192.0.2.1' }), notTrusted);
  assert.equal(await originOf(service, { 'x-other': '192.0.2.1' }), '192.0.2.1');
  assert.equal(await originOf(service, { 'x-other': '192.0.2.1', 'x-real-ip': '192.0.2.2' }), '192.0.2.2');
  await change(service, { trustedProxy: { useLeftmostIP: true } });
  assert.equal(await originOf(service, { 'x-other': 'x, 192.0.2.1, 192.0.2.2' }), '192.0.2.1');
});

test('ranges may be written as those of IPv4 addresses inside of IPv6, in flags and in settings', async (t) => {
  const service = await startService(t, { flags: { 'trusted-proxies': '::ffff:127.0.0.0/104' } });
  const headers = { 'x-forwarded-for': '::ffff:192.0.2.9' };
  assert.equal(await originOf(service, headers), '192.0.2.9');
  const asked = (body: object): Promise<TestAnswer> =>
    service.request('/api/settings', { method: 'PATCH', token: true, headers, body });
  const { status, text, json } = await asked({ superuserIPs: ['::ffff:192.0.2.0/120'] });
  assert.deepEqual([status, json.superuserIPs], [200, ['::ffff:192.0.2.0/120']], text);
  assert.equal((await asked({})).status, 200);
  assert.equal((await change(service, {})).status, 403);
});

test('superusers come from where the settings say, to every route and to sign in; nobody shuts himself out', async (t) => {
  const service = await startBehindProxies(t);
  const foreign = { 'x-forwarded-for': '192.0.2.1' };
  const own = { 'x-forwarded-for': '192.0.2.200' };
  const superuserIPs = ['192.0.2.192/26'];
  const shutOut = await change(service, { superuserIPs });
  assert.deepEqual(shutOut.json.data.superuserIPs.code, 'validation_in_invalid');
  const options = { method: 'PATCH', token: true, headers: own, body: { superuserIPs } } as const;
  assert.equal((await service.request('/api/settings', options)).status, 200);
  const { email: identity, password } = service.superuser;
  const signIn = (name: string, headers: Readonly<Record<string, string>>): Promise<TestAnswer> =>
    service.request(`/api/collections/${name}/auth-with-password`, {
      method: 'POST',
      headers,
      body: { identity, password },
    });
  for (const path of ['/api/collections', '/api/settings', '/api/health', '/api/records/_superusers']) {
    const refused = await service.request(path, { token: true, headers: foreign });
    assert.deepEqual(
      [refused.status, refused.json.message],
      [403, 'You are not allowed to perform this request.'],
    );
    assert.equal((await service.request(path, { token: true, headers: own })).status, 200);
  }
  for (const name of ['_superusers', '_SUPERUSERS', 'pbc_3142635823']) {
    assert.equal((await signIn(name, foreign)).status, 403, name);
    assert.equal((await signIn(name, own)).status, 200, name);
  }
  assert.equal((await service.request('/api/health', { headers: foreign })).status, 200);
});

test('nobody shuts himself out by another way to read where he is either', async (t) => {
  const service = await startBehindProxies(t);
  const headers = { 'x-forwarded-for': '203.0.113.9, 192.0.2.200' };
  const asked = (body: object): Promise<TestAnswer> =>
    service.request('/api/settings', { method: 'PATCH', token: true, headers, body });
  const superuserIPs = ['192.0.2.192/26'];
  assert.equal((await asked({ superuserIPs })).status, 200);
  for (const trustedProxy of [{ headers: ['X-Real-IP'] }, { useLeftmostIP: true }]) {
    const { status, json } = await asked({ trustedProxy });
    assert.deepEqual([status, json.data.superuserIPs?.code], [400, 'validation_in_invalid']);
  }
  assert.equal((await asked({ meta: { appName: 'Still here' } })).status, 200);
  // Both at once, so that he stays inside.
  const moved = await asked({ superuserIPs: ['203.0.113.9'], trustedProxy: { useLeftmostIP: true } });
  assert.equal(moved.status, 200);
  assert.equal((await asked({})).status, 200);
});

test('ranges that cannot be read are told to the operator', () => {
  for (const text of ['x', '10.0.0.1/8', '10.0.0.0/33'])
    assert.throws(() => readConfig({ 'trusted-proxies': text }, {}), ConfigError);
  assert.deepEqual(readConfig({}, {}).trustedProxies, []);
});

test('A-16 a client that resets its connection after a request is known all the same', async (t) => {
  const service = await startService(t);
  const rules = [{ label: 'POST /api/keys', audience: '', duration: 60, maxRequests: 1 }];
  await change(service, { rateLimits: { enabled: true, rules } });
  const body = JSON.stringify({ name: 'hidden', scopes: ['records:read'] });
  // A guest's request is counted by the address, and the superuser's is audited with it.
  for (const authorization of ['', service.superuser.token]) {
    const connection = RawConnection.open(t, service.url);
    // Accepted by the time of its answer, and nothing has asked for its address yet.
    connection.send(rawRequest('OPTIONS /'));
    await connection.waitForAnswers(1);
    connection.send(rawRequest('POST /api/keys', { Authorization: authorization }, body));
    connection.socket.resetAndDestroy();
  }
  const entry = await eventually('the key is audited', async () => {
    const { json } = await service.request('/api/audit?filter=action="key.create"', { token: true });
    return json.items[0];
  });
  assert.equal(entry.address, notTrusted);
  const again = await service.request('/api/keys', { method: 'POST', body: JSON.parse(body) });
  assert.equal(again.status, 429);
});

test('a connection that was reset before it was accepted, whose peer nobody knows, is dropped', async (t) => {
  const { app } = await startService(t);
  const connection = new Socket();
  app.server.server.emit('connection', connection);
  assert.equal(connection.destroyed, true);
});
