// Both engines: every process that sends must use the proxy, whichever engine it runs on.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigError } from '../../src/config/config-error.ts';
import { readConfig } from '../../src/config/config.ts';
import { atEnd } from '../support/at-end.ts';
import { makeCertificate } from '../support/certificate.ts';
import { ConnectProxy } from '../support/connect-proxy.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWebhookService } from '../support/webhook-service.ts';

async function startProxy(t: TestContext): Promise<ConnectProxy> {
  const proxy = await ConnectProxy.open();
  atEnd(t, () => proxy.close());
  return proxy;
}

test('deliveries, tests and webhooks of the operator go through --webhook-proxy and trust --webhook-ca', async (t) => {
  const tls = makeCertificate({ names: ['localhost'] });
  const other = makeCertificate({ names: ['other.example'], commonName: 'another' });
  const file = join(temporaryFolder(t), 'ca.pem');
  writeFileSync(file, `Our authorities:\n${other.cert}${tls.cert}`);
  const proxy = await startProxy(t);
  const receiver = await Receiver.open({ tls });
  const webhookProxy = `http://chancery:pass%20word@127.0.0.1:${proxy.port}`;
  const service = await startWebhookService(t, {
    flags: { 'webhook-proxy': webhookProxy, 'webhook-ca': file },
  });
  t.after(() => receiver.close());
  const url = receiver.urlAt('localhost');
  const { id } = await service.addEndpoint({ url });
  await service.addPost();
  await service.delivery('is delivered', ({ status }) => status === 'delivered');
  assert.equal((await service.call('POST', `/api/webhooks/endpoints/${id}/test`)).status, 'delivered');
  const call = operatorCaller(service, (await makeOperatorKey(service)).key);
  const { id: ofOperator } = (await call(201, 'POST /endpoints', { body: { url, events: ['*'] } })).json;
  const before = proxy.targets.length;
  assert.equal((await call(200, `POST /endpoints/${ofOperator}/test`)).json.isDelivered, true);
  assert.ok(proxy.targets.length > before, 'the operator has a sender of its own');
  // Connections of the receiver are those of the proxy.
  assert.equal(receiver.connectionCount, proxy.targets.length);
  assert.deepEqual(new Set(proxy.targets), new Set([`127.0.0.1:${receiver.port}`]));
  const authorization = `Basic ${Buffer.from('chancery:pass word').toString('base64')}`;
  assert.ok(proxy.heads.every((head) => head.includes(`Proxy-Authorization: ${authorization}\r\n`)));
  const said = JSON.stringify([service.log, await service.deliveries()]);
  assert.ok(!said.includes('pass') && !said.includes(authorization.slice(6)), 'the password is nowhere');
});

test('a proxy that is away is named in the attempt, and no request goes past it', async (t) => {
  const proxy = await startProxy(t);
  const { port } = proxy;
  await proxy.close();
  const service = await startWebhookService(t, {
    flags: { 'webhook-proxy': `http://127.0.0.1:${port}` },
  });
  const { id } = await service.addEndpoint();
  const { status, attempts } = await service.call('POST', `/api/webhooks/endpoints/${id}/test`);
  assert.deepEqual(
    [status, attempts[0].kind, attempts[0].cause],
    ['exhausted', 'proxy', 'The proxy could not be reached: the connection was refused.'],
  );
  assert.equal(service.receiver.connectionCount, 0);
});

test('--webhook-proxy takes the URL of an HTTP proxy, and errors do not show it', () => {
  const proxyOf = (url: string) => readConfig({ 'webhook-proxy': url }, {}).egress.proxy;
  assert.deepEqual(proxyOf('http://proxy.example:3128'), { host: 'proxy.example', port: 3128 });
  assert.deepEqual(proxyOf('http://[::1]/'), { host: '::1', port: 80 });
  assert.equal(readConfig({}, {}).egress.proxy, undefined);
  assert.equal(
    readConfig({}, { CHANCERY_WEBHOOK_PROXY: 'http://a:b@10.0.0.1' }).egress.proxy?.authorization,
    'Basic YTpi',
  );
  for (const url of [
    'proxy.example:3128',
    'https://u:hidden@proxy.example',
    'socks5://u:hidden@proxy.example',
    'http://u:hidden@proxy.example/path',
    'http://u:hidden@proxy.example/?x',
    'http://u:hidden%zz@proxy.example',
  ])
    assert.throws(
      () => proxyOf(url),
      (error) =>
        error instanceof ConfigError &&
        error.message.startsWith('--webhook-proxy') &&
        !error.message.includes('hidden'),
      url,
    );
});

test('--webhook-ca takes a file of certificates', (t) => {
  const folder = temporaryFolder(t);
  const { cert, key } = makeCertificate({ names: ['hook.test'] });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const read = (file: string) => readConfig({ 'webhook-ca': file }, {}).egress.authorities;
  assert.deepEqual(read(write('one.pem', cert)), [cert]);
  const broken = cert.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
  assert.throws(
    () => read(write('two.pem', cert + broken)),
    /--webhook-ca: certificate 2 of .* cannot be read/,
  );
  assert.throws(() => read(write('key.pem', key)), /--webhook-ca: .* holds no certificate \(PEM\)/);
  assert.throws(() => read(join(folder, 'absent.pem')), /--webhook-ca: ENOENT/);
});
