// Both engines: the keys are a row of the instance, made by the first endpoint that needs them.
import assert from 'node:assert/strict';
import { createHmac, createPublicKey, verify as verifyBytes } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type JwkSet, SecretError, SignatureError, verify } from '../../kit/src/verify.ts';
import { sql } from '../../src/sql/sql.ts';
import { EndpointStore } from '../../src/endpoints/endpoint-store.ts';
import { makeInstance } from '../support/instance-fleet.ts';
import { MovableClock } from '../support/movable-clock.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const dayMs = 86_400_000;

async function jwksOf(service: WebhookService, prefix = ''): Promise<JwkSet> {
  const answer = await service.request(`${prefix}/.well-known/jwks.json`);
  assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'public, max-age=300']);
  return answer.json;
}

/** Has a record created and returns the request that tells of it. */
async function nextRequest(service: WebhookService): Promise<ReceivedRequest> {
  const count = service.receiver.requests.length + 1;
  await service.addPost();
  return (await service.receiver.waitForRequests(count))[count - 1] ?? assert.fail();
}

function versionsOf({ headers }: ReceivedRequest): readonly string[] {
  return String(headers['webhook-signature'])
    .split(' ')
    .map((one) => one.split(',')[0] ?? '');
}

/** What a signature covers. */
function contentOf({ headers, body }: Pick<ReceivedRequest, 'headers' | 'body'>): string {
  return [headers['webhook-id'], headers['webhook-timestamp'], body.toString()].map(String).join('.');
}

function isVerified({ headers, body }: ReceivedRequest, publicKey: JwkSet): Promise<boolean> {
  // The clock of these tests moves.
  const nowMs = () => Number(headers['webhook-timestamp']) * 1_000;
  return verify({ publicKey, nowMs }, headers, body).then(
    () => true,
    (error: unknown) => {
      if (error instanceof SignatureError) return false;
      throw error;
    },
  );
}

test('an endpoint that asks for it gets an asymmetric signature as well, which the published key verifies', async (t) => {
  const service = await startWebhookService(t);
  const { secret } = await service.addEndpoint();
  assert.deepEqual(await jwksOf(service), { keys: [] });
  assert.deepEqual(versionsOf(await nextRequest(service)), ['v1']);
  await service.call('PATCH', `/api/webhooks/endpoints/${await onlyId(service)}`, {
    body: { ed25519: true },
  });
  const request = await nextRequest(service);
  assert.deepEqual(versionsOf(request), ['v1', 'v1a']);
  const { headers, body } = request;
  const jwks = await jwksOf(service);
  const { items } = await service.call('GET', '/api/webhooks/keys');
  const [key = {}] = jwks.keys;
  assert.deepEqual(
    { ...key, kid: '', x: '' },
    { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA', kid: '', x: '' },
  );
  assert.deepEqual(
    listOf(items).map(({ id, publicKey, until }) => [id, publicKey, until]),
    [[Object(key).kid, `whpk_${Buffer.from(String(key.x), 'base64url').toString('base64')}`, '']],
  );
  const [, signature = ''] = String(headers['webhook-signature']).split(' v1a,');
  const signed = contentOf({ headers, body });
  const published = createPublicKey({ key: { ...key }, format: 'jwk' });
  assert.ok(verifyBytes(null, Buffer.from(signed), published, Buffer.from(signature, 'base64')));
  for (const publicKey of [jwks, items[0].publicKey, [items[0].publicKey]])
    assert.equal((await verify({ publicKey }, headers, body)).event.event, 'record.create');
  // A stock verifier passes over what it does not know.
  const stock = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  assert.ok(new Webhook(secret).verify(body.toString(), stock));
  assert.ok((await verify(secret, headers, body)).id);
  const feed = await service.call(
    'GET',
    `/api/webhooks/feed?signed=${await onlyId(service)}&perPage=1&wait=10`,
  );
  const ofFeed = feed.items[0];
  await verify({ publicKey: jwks }, ofFeed.headers, ofFeed.body);
});

async function onlyId(service: WebhookService): Promise<string> {
  return (await service.call('GET', '/api/webhooks/endpoints')).items[0].id;
}

test('while a rotation overlaps both keys sign and are published, and afterwards the new one alone', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  await service.addEndpoint({ ed25519: true });
  const first = await jwksOf(service);
  const rotate = async (body: Json): Promise<JwkSet> => {
    await service.call('POST', '/api/webhooks/keys/rotate', { body });
    return jwksOf(service);
  };
  const both = await rotate({});
  assert.equal(both.keys.length, 2);
  const second = { keys: both.keys.slice(0, 1) };
  assert.deepEqual(both.keys.slice(1), first.keys);
  const [current, previous] = (await service.call('GET', '/api/webhooks/keys')).items;
  assert.deepEqual([current.until, Date.parse(previous.until) - clock.now()], ['', dayMs]);
  const during = await nextRequest(service);
  assert.deepEqual(versionsOf(during), ['v1', 'v1a', 'v1a']);
  assert.deepEqual([await isVerified(during, first), await isVerified(during, second)], [true, true]);
  clock.move(dayMs);
  await service.signIn();
  const after = await nextRequest(service);
  assert.deepEqual([await isVerified(after, first), await isVerified(after, second)], [false, true]);
  assert.deepEqual(await jwksOf(service), second);
  const third = await rotate({ overlapSeconds: 0 });
  const last = await nextRequest(service);
  assert.deepEqual(
    [
      third.keys.length,
      versionsOf(last).length,
      await isVerified(last, second),
      await isVerified(last, third),
    ],
    [1, 2, false, true],
  );
  for (const body of [
    { overlapSeconds: -1 },
    { overlapSeconds: 604_801 },
    { overlapSeconds: 1.5 },
    { key: 'x' },
  ])
    await service.call('POST', '/api/webhooks/keys/rotate', { body, status: 400 });
  assert.deepEqual(await jwksOf(service), third);
  const { items } = await service.call(
    'GET',
    `/api/audit?filter=${encodeURIComponent("action = 'signing-key.rotate'")}`,
  );
  assert.deepEqual(
    new Set(listOf(items).map(({ target }) => target)),
    new Set([...both.keys.slice(0, 1), ...third.keys].map((key) => Object(key).kid)),
  );
});

test('another process signs with the new key after a rotation', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ ed25519: true });
  await nextRequest(service);
  // As a process has it that has read the endpoints before.
  const another = (): Promise<EndpointStore> =>
    service.withInstance('default', async ({ database, sealer }) => {
      const store = new EndpointStore(sealer);
      await store.stored(database);
      return store;
    });
  const other = await another();
  assert.equal(other.signingKeys?.rotation, 1);
  const before = await service.call('GET', '/api/webhooks/endpoints');
  await service.call('POST', '/api/webhooks/keys/rotate', { body: { overlapSeconds: 0 } });
  const { items } = await service.call('GET', '/api/webhooks/endpoints');
  assert.ok(items[0].updated > before.items[0].updated, 'it learns of it as of a change of the endpoint');
  await service.withInstance('default', ({ database }) => other.stored(database));
  const [key] = (await jwksOf(service)).keys;
  assert.deepEqual([other.signingKeys?.rotation, other.signingKeys?.current.x], [2, key?.x]);
});

test('W-68: the keys of one instance verify nothing of another', async (t) => {
  const service = await startWebhookService(t);
  await makeInstance(service, 'shop', { url: service.receiver.url, ed25519: true });
  await service.addEndpoint({ ed25519: true });
  const [own, other] = [await jwksOf(service), await jwksOf(service, '/i/shop')];
  assert.deepEqual([own.keys.length, other.keys.length], [1, 1]);
  const request = await nextRequest(service);
  assert.deepEqual([await isVerified(request, own), await isVerified(request, other)], [true, false]);
});

test('W-69: an HMAC by a public key proves nothing, and a public key is no secret', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint({ ed25519: true });
  const { headers, body } = await nextRequest(service);
  const [{ publicKey }] = (await service.call('GET', '/api/webhooks/keys')).items;
  const raw = Buffer.from(String(publicKey).slice('whpk_'.length), 'base64');
  const signed = contentOf({ headers, body });
  for (const key of [raw, publicKey]) {
    const digest = createHmac('sha256', key).update(signed).digest('base64');
    for (const version of ['v1', 'v1a']) {
      const forged = { ...headers, 'webhook-signature': `${version},${digest}` };
      await assert.rejects(verify({ publicKey }, forged, body), SignatureError);
    }
    await assert.rejects(
      verify(publicKey, { ...headers, 'webhook-signature': `v1,${digest}` }, body),
      SecretError,
    );
  }
  const genuine = String(headers['webhook-signature']);
  const withoutV1a = { ...headers, 'webhook-signature': genuine.split(' ')[0] };
  await assert.rejects(verify({ publicKey }, withoutV1a, body), /no signature of version v1a/);
  const path = `/api/webhooks/endpoints/${id}/secret/rotate`;
  for (const secret of [publicKey, `whsk_${String(publicKey).slice(5)}`])
    assert.match(
      (await service.call('POST', path, { body: { secret }, status: 400 })).data.secret.message,
      /must not be a key/,
    );
});

test('W-70: the private key is sealed, and neither shown nor copied into a template', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ ed25519: true });
  const { d } = await service.withInstance('default', ({ endpoints }) =>
    Promise.resolve(endpoints.signingKeys?.current ?? assert.fail()),
  );
  const rows = await service.withInstance('default', ({ database }) =>
    database.all(sql`SELECT * FROM ${database.names.table('$instance_setting')}`),
  );
  assert.ok(!JSON.stringify(rows).includes(d));
  await nextRequest(service);
  await service.request('/api/webhooks/keys', { token: true });
  // All that the service has answered and logged is searched for the key at the end of a test.
});
