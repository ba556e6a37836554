// Both engines: certificates are columns of the endpoint, and their keys are sealed there.
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { type Certificate, makeCertificate } from '../support/certificate.ts';
import { Receiver } from '../support/receiver.ts';
import { type Json, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const masked = '********';
const dayMs = 86_400_000;
const authority = makeCertificate({ names: ['ca.test'], commonName: 'Our authority', isAuthority: true });
const stranger = makeCertificate({ names: ['ca.test'], commonName: 'A stranger', isAuthority: true });
const server = issue('localhost');
const client = issue('client.test');
const other = issue('other.test');

function issue(name: string, more: Partial<Parameters<typeof makeCertificate>[0]> = {}): Certificate {
  return makeCertificate({ names: [name], commonName: name, issuer: authority, ...more });
}

function shownTo({ cert: certificate, key }: Certificate): Json {
  return { clientCertificate: { certificate, key } };
}

/** A receiver that takes requests only of clients with a certificate of the authority. */
function openMutual(): Promise<Receiver> {
  return Receiver.open({ tls: { ...server, ca: authority.cert } });
}

function change(service: WebhookService, id: string, body: Json): Promise<Json> {
  return service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body });
}

/** Fails to change an endpoint, and returns the answer. */
function refuse(service: WebhookService, id: string, body: Json): Promise<Json> {
  return service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body, status: 400 });
}

/** Sends a test and returns its attempt. */
async function attemptOf(service: WebhookService, id: string): Promise<Json> {
  return (await service.call('POST', `/api/webhooks/endpoints/${id}/test`)).attempts[0];
}

test('a receiver is shown the client certificate of the endpoint, and nobody is shown its key', async (t) => {
  await using receiver = await openMutual();
  const service = await startWebhookService(t);
  const url = receiver.urlAt('localhost');
  const endpoint = await service.addEndpoint({ url, ca: authority.cert, ...shownTo(client) });
  const { clientCertificate, ca } = endpoint;
  assert.deepEqual(Object.keys(clientCertificate), [
    'certificate',
    'key',
    'subject',
    'issuer',
    'fingerprint',
    'expires',
  ]);
  assert.deepEqual(
    [clientCertificate.key, clientCertificate.subject, clientCertificate.issuer],
    [masked, 'CN=client.test', 'CN=Our authority'],
  );
  assert.match(clientCertificate.expires, /^20\d\d-\d\d-\d\d /);
  assert.equal(ca, authority.cert);
  await service.addPost();
  await service.delivery('is delivered', ({ status }) => status === 'delivered');
  assert.deepEqual(receiver.clientFingerprints, [clientCertificate.fingerprint]);
  // Everything that the service has shown or logged is searched for the key at the end; its own rows here.
  const rows = () =>
    service.withInstance('default', ({ database }) => {
      const { names } = database;
      return database.all(sql`SELECT * FROM ${names.table('$endpoint')} WHERE ${names.instance.condition}`);
    });
  assert.ok(!JSON.stringify(await rows()).includes(client.key.split('\n')[1] ?? ''), 'it is sealed');
  await service.call('DELETE', `/api/webhooks/endpoints/${endpoint.id}`);
  assert.deepEqual(
    (await rows()).map((row) => row['client_certificate']),
    [null],
  );
});

test('W-64: without the certificate that it wants, a receiver gets no request', async (t) => {
  await using receiver = await openMutual();
  const service = await startWebhookService(t);
  const url = receiver.urlAt('localhost');
  for (const shown of [{}, shownTo(stranger)]) {
    const { id } = await service.addEndpoint({ url, ca: authority.cert, ...shown });
    assert.ok(['connect', 'tls'].includes((await attemptOf(service, id)).kind));
  }
  assert.equal(receiver.requests.length, 0);
});

test('another certificate or authority is used by the next request, over a connection of its own', async (t) => {
  await using receiver = await openMutual();
  const service = await startWebhookService(t);
  const url = receiver.urlAt('localhost');
  const first = await service.addEndpoint({ url, ca: authority.cert, ...shownTo(client) });
  const second = await service.addEndpoint({ url, ca: authority.cert, ...shownTo(other) });
  for (const { id } of [first, second, first])
    assert.equal((await attemptOf(service, id)).kind, 'success', 'connections stay open');
  const changed = await change(service, first.id, shownTo(other));
  assert.equal((await attemptOf(service, first.id)).kind, 'success');
  const [one, two] = [first, second].map(({ clientCertificate }) => clientCertificate.fingerprint);
  assert.equal(changed.clientCertificate.fingerprint, two);
  assert.deepEqual(receiver.clientFingerprints, [one, two, two]);
  await change(service, first.id, { ca: stranger.cert });
  const { kind, cause } = await attemptOf(service, first.id);
  assert.equal(kind, 'tls', cause);
  await change(service, first.id, { ca: authority.cert, clientCertificate: null });
  assert.notEqual((await attemptOf(service, first.id)).kind, 'success');
  assert.equal(receiver.clientFingerprints.length, 3);
});

test('W-65: with a ca of its own, an endpoint trusts nothing else, and others do not trust it', async (t) => {
  await using receiver = await Receiver.open({ tls: server });
  await using elsewhere = await Receiver.open({ tls: issue('elsewhere.test') });
  await using expired = await Receiver.open({
    tls: issue('localhost', { notBefore: new Date(0), notAfter: new Date(dayMs) }),
  });
  await using selfSigned = await Receiver.open({ tls: makeCertificate({ names: ['localhost'] }) });
  const service = await startWebhookService(t);
  const tried = async (target: Receiver, ca: string) => {
    const { id } = await service.addEndpoint({ url: target.urlAt('localhost'), ca });
    return (await attemptOf(service, id)).cause;
  };
  assert.equal(await tried(receiver, authority.cert), '');
  assert.equal(await tried(receiver, `${stranger.cert}# both\n${authority.cert}`), '');
  assert.match(await tried(receiver, ''), /^The certificate/);
  assert.match(await tried(receiver, stranger.cert), /^The certificate/);
  assert.equal(await tried(elsewhere, authority.cert), 'The certificate is for another name.');
  assert.equal(await tried(expired, authority.cert), 'The certificate has expired.');
  assert.equal(await tried(selfSigned, authority.cert), 'The certificate is self-signed.');
  assert.deepEqual(
    [elsewhere, expired, selfSigned].map(({ requests }) => requests.length),
    [0, 0, 0],
  );
});

const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength });
const encrypted = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
}).privateKey;
const weak = issue('client.test', { keyPair: rsa(1_024) });
const oldCurve = issue('client.test', { keyPair: generateKeyPairSync('ec', { namedCurve: 'P-224' }) });
const ended = issue('client.test', { notBefore: new Date(0), notAfter: new Date(dayMs) });
const early = issue('client.test', {
  notBefore: new Date(Date.now() + dayMs),
  notAfter: new Date(Date.now() + 2 * dayMs),
});
const { cert: certificate, key } = client;

const refused: Readonly<Record<string, readonly [value: Json, member: string, message: RegExp]>> = {
  'the key of another': [{ certificate, key: other.key }, 'key', /^Is not the key of the certificate\.$/],
  'an encrypted key': [{ certificate, key: encrypted }, 'key', /^Must not be encrypted/],
  'a key that is none': [{ certificate, key: 'secret' }, 'key', /^Must be a private key in PEM\.$/],
  'a certificate for a key': [{ certificate, key: certificate }, 'key', /^Must be a private key in PEM\.$/],
  'no key': [{ certificate }, 'key', /Cannot be blank/],
  'a masked key without one': [{ certificate, key: masked }, 'key', /^Must be set/],
  'a number for a key': [{ certificate, key: 7 }, 'key', /^Must be text/],
  'W-66: a huge key': [{ certificate, key: key.padEnd(16_385) }, 'key', /^Must be text of at most 16384/],
  'an expired certificate': [ended, 'certificate', /^Expired on 1970-01-02/],
  'one that is not valid yet': [early, 'certificate', /^Is not valid before 20/],
  'a weak key': [weak, 'certificate', /^Its key must be RSA of at least 2048 bits/],
  'a weak curve': [oldCurve, 'certificate', /^Its key must be/],
  'a certificate that is none': [
    { certificate: 'x', key },
    'certificate',
    /^Must be a certificate in PEM\.$/,
  ],
  'a damaged certificate': [
    { certificate: certificate.replace(/\n.{30}/, `\n${'A'.repeat(30)}`), key },
    'certificate',
    /^Certificate 1 cannot be read\.$/,
  ],
  'a key among certificates': [
    { certificate: certificate + key, key },
    'certificate',
    /^Must not contain a private key/,
  ],
  'W-66: a huge certificate': [
    { certificate: certificate.padEnd(16_385), key },
    'certificate',
    /at most 16384/,
  ],
  'W-66: very many certificates': [
    { certificate: certificate.repeat(11), key },
    'certificate',
    /^Must be at most 10/,
  ],
  'an unknown member': [{ certificate, key, pass: 'x' }, 'pass', /./],
};

test('W-66: a client certificate that could not be used is refused, and nothing is stored', async (t) => {
  const service = await startWebhookService(t);
  const url = 'https://localhost/hook';
  for (const [what, [value, member, message]] of Object.entries(refused)) {
    const { cert, commonName: _, ...rest } = value;
    const clientCertificate = cert === undefined ? rest : { ...rest, certificate: cert };
    const body = { url, clientCertificate };
    const { data } = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
    assert.match(data.clientCertificate?.[member]?.message ?? JSON.stringify(data), message, what);
    assert.doesNotMatch(JSON.stringify(data), /-----BEGIN/, what);
  }
  for (const [ca, message] of [
    ['x', /PEM/],
    [key, /private key/],
    [certificate.repeat(11), /at most 10/],
    [certificate.padEnd(16_385), /at most 16384/],
    [7, /text/],
  ] as const) {
    const { data } = await service.call('POST', '/api/webhooks/endpoints', {
      body: { url, ca },
      status: 400,
    });
    assert.match(data.ca.message, message);
  }
  const body = { url: 'http://localhost/hook', ca: authority.cert, ...shownTo(client) };
  const { data } = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
  assert.deepEqual(
    [data.ca.message, data.clientCertificate.message],
    ['Requires a URL that begins with https://.', 'Requires a URL that begins with https://.'],
  );
  assert.equal((await service.call('GET', '/api/webhooks/endpoints')).totalItems, 0);
});

test('W-67: a masked key stays, for the same server and for a certificate that it fits', async (t) => {
  const service = await startWebhookService(t);
  const endpoint = await service.addEndpoint({ url: 'https://localhost/hook', ...shownTo(client) });
  const { id, clientCertificate, warnings: _, secret: __, ...rest } = endpoint;
  assert.deepEqual(
    (await change(service, id, { ...rest, clientCertificate, description: 'sent back' })).clientCertificate,
    clientCertificate,
  );
  const keyPair = { privateKey: createPrivateKey(client.key), publicKey: createPublicKey(client.key) };
  const renewed = issue('client.test', { keyPair, notAfter: new Date(Date.now() + 90 * dayMs) });
  const withMask = (certificate: string) => ({ clientCertificate: { certificate, key: masked } });
  const { fingerprint } = (await change(service, id, withMask(renewed.cert))).clientCertificate;
  assert.notEqual(fingerprint, clientCertificate.fingerprint);
  const wrong = await refuse(service, id, withMask(other.cert));
  assert.equal(wrong.data.clientCertificate.key.message, 'Is not the key of the certificate.');
  const url = 'https://127.0.0.1/hook';
  for (const body of [{ url }, { url, ...withMask(renewed.cert) }]) {
    const { data } = await refuse(service, id, body);
    assert.match(data.clientCertificate.message, /^Must be set again, with its key/);
  }
  const draft = { id, url };
  const { problems } = await service.call('POST', '/api/webhooks/endpoints/check', { body: draft });
  assert.match(problems.clientCertificate.message, /^Must be set again/);
  assert.equal((await change(service, id, { url, ...shownTo(client) })).url, url);
  assert.equal(
    (await change(service, id, { url: 'https://localhost/', clientCertificate: null })).clientCertificate,
    null,
  );
});
