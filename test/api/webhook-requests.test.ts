// Both engines: bodies are written by SQL of each.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { version } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import type { ReceivedRequest, Receiver, ReceiverMode } from '../support/receiver.ts';
import { startWebhookService, type Json, type WebhookService } from '../support/webhook-service.ts';

/** Each header of ours is sent once, so each is one text. */
function headersOf(request: ReceivedRequest): Readonly<Record<string, string>> {
  // Node gives an array only for set-cookie.
  return request.headers as Record<string, string>;
}

/** `create` of `record.create`. */
function shortKind(kind: unknown): string {
  return String(kind).replace('record.', '');
}

/** What has arrived, in short: `create 1 Hello`. */
function storyOf(receiver: Receiver): readonly string[] {
  return receiver.requests.map((request) => {
    const { event, data } = JSON.parse(request.body.toString());
    return `${shortKind(event)} ${headersOf(request)['x-service-sequence']} ${data.title}`;
  });
}

/** Resolves when an event written after everything else has arrived: what was to come before it has. */
async function storyUpToNow(service: WebhookService): Promise<readonly string[]> {
  await service.addPost('end');
  await eventually('the end', () => storyOf(service.receiver).includes('create 1 end'));
  return storyOf(service.receiver).filter((line) => line !== 'create 1 end');
}

test('the body has five members in order, and the data of the record in schema order without what is hidden', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  await service.addEndpoint();
  const body = {
    extra: { b: [1, 'ü'] },
    note: 'for us only',
    rank: 1.5,
    title: 'Hé "there" <b>\n',
    isPublic: true,
  };
  const post = await service.call('POST', '/api/collections/posts/records', { body, status: 201 });
  const [request] = await service.receiver.waitForRequests(1);
  const instanceId = await service.withInstance('default', ({ id }) => Promise.resolve(id));
  const at = '2026-11-20 09:35:20.114Z';
  assert.equal(post.updated, at);
  assert.equal(
    request?.body.toString(),
    `{"event":"record.create","timestamp":"2026-11-20T09:35:20.114Z","instance_id":"${instanceId}","collection":"posts",` +
      `"data":{"id":"${post.id}","title":"Hé \\"there\\" <b>\\n","rank":1.5,"isPublic":true,` +
      `"extra":{"b":[1,"ü"]},"created":"${at}","updated":"${at}"}}`,
  );
});

test('a secret in plain text is accepted with a warning that says how a library verifies with it', async (t) => {
  const service = await startWebhookService(t);
  const warnings = [
    'The secret is not whsec_ followed by base64. ' +
      'Libraries for Standard Webhooks verify if they are given whsec_ and the base64 of the secret.',
  ];
  assert.deepEqual((await service.addEndpoint()).warnings, []);
  assert.deepEqual((await service.addEndpoint({ secret: 'whsec_AAECAwQFBgcICQoLDA0ODw==' })).warnings, []);
  const secret = 'a secret of our own';
  const { id, ...made } = await service.addEndpoint({ secret });
  assert.deepEqual([made.secret, made.warnings], [secret, warnings]);
  const shown = await service.call('GET', `/api/webhooks/endpoints/${id}`);
  assert.deepEqual(['warnings' in shown, 'secret' in shown], [false, false]);
  await service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body: made });
  await service.addPost();
  const requests = await service.receiver.waitForRequests(3);
  const library = new Webhook(`whsec_${Buffer.from(secret).toString('base64')}`);
  const isGenuine = ({ body, headers }: ReceivedRequest): boolean => {
    try {
      // Each of these headers is sent once, so each is one text.
      return library.verify(body, headers as Record<string, string>) !== undefined;
    } catch {
      return false;
    }
  };
  assert.equal(requests.filter(isGenuine).length, 1);
});

test('W-41 the headers are those of the contract, and both signatures are over the bytes that were sent', async (t) => {
  const service = await startWebhookService(t);
  for (const secret of ['', 'whsec_AAECAwQFBgcICQoLDA0ODw==', 'a secret of our own']) {
    const endpoint = await service.addEndpoint(secret === '' ? {} : { secret });
    await service.addPost('Füür');
    await service.receiver.waitForRequests(1);
    const [request] = service.receiver.requests.splice(0);
    assert.ok(request);
    const headers = headersOf(request);
    const [delivery] = await service.deliveries(`endpoint = '${endpoint.id}'`);
    const expected = {
      'content-type': 'application/json',
      'content-length': String(request.body.length),
      'user-agent': `Chancery/${version}`,
      'accept-encoding': 'identity',
      'x-service-event': 'record.create',
      'x-service-collection': 'posts',
      'x-service-delivery': delivery.id,
      'x-service-attempt': '1',
      'x-service-sequence': '1',
      'webhook-id': delivery.event,
    };
    for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value, name);
    assert.ok(!headers['webhook-id']?.includes('.'));
    assert.ok(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1_000) < 60);
    const digest = createHmac('sha256', endpoint.secret).update(request.body).digest('hex');
    assert.equal(headers['x-service-signature'], digest);
    const isOurs = String(endpoint.secret).startsWith('whsec_');
    new Webhook(endpoint.secret, isOurs ? {} : { format: 'raw' }).verify(request.body, headers);
    assert.equal(headers['x-service-signature-previous'], undefined);
    await service.call('DELETE', `/api/webhooks/endpoints/${endpoint.id}`, { status: 204 });
  }
});

test('every attempt and every replay sends the same bytes under the same id, and counts the attempts', async (t) => {
  const clock = new MovableClock();
  const mode = { kind: 'status', status: 500 } as const;
  const service = await startWebhookService(t, { mode, parts: { clock } });
  const { secret } = await service.addEndpoint({ schedule: [10, 10] });
  await service.addPost();
  for (let attempts = 1; attempts <= 3; attempts += 1) {
    await service.delivery(`attempt ${attempts}`, (delivery) => delivery.attempts.length === attempts);
    // Nothing that is changed meanwhile changes what was said.
    const [post] = (await service.call('GET', '/api/collections/posts/records')).items;
    await service.call('PATCH', '/api/collections/posts', { body: { name: `posts${attempts}` } });
    assert.equal(post.title, 'Hello');
    await service.call('PATCH', `/api/collections/posts${attempts}`, { body: { name: 'posts' } });
    clock.move(13_000);
    service.look();
  }
  const { id } = await service.delivery('the end', ({ status }) => status === 'exhausted');
  service.receiver.mode = { kind: 'ok' };
  await service.call('POST', `/api/webhooks/deliveries/${id}/retry`);
  await service.delivery('the replay', ({ status }) => status === 'delivered');
  const [first, ...others] = service.receiver.requests;
  assert.equal(others.length, 3);
  assert.ok(first);
  for (const [index, request] of service.receiver.requests.entries()) {
    const headers = headersOf(request);
    assert.deepEqual(request.body, first.body);
    assert.equal(headers['webhook-id'], headersOf(first)['webhook-id']);
    assert.equal(headers['x-service-delivery'], headersOf(first)['x-service-delivery']);
    assert.equal(headers['x-service-attempt'], String(index + 1));
    new Webhook(secret).verify(request.body, headers);
  }
});

test('a record tells its life by 1, 2, 3, its deletion with its last state, and an id made again begins at 1', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ maxInFlight: 1 });
  const path = '/api/collections/posts/records';
  const id = 'abcdefghijklmno';
  await service.call('POST', path, { body: { id, title: 'one' }, status: 201 });
  await service.call('PATCH', `${path}/${id}`, { body: { title: 'two' } });
  await service.call('DELETE', `${path}/${id}`, { status: 204 });
  await service.call('POST', path, { body: { id, title: 'again' }, status: 201 });
  const story = ['create 1 one', 'update 2 two', 'delete 3 two', 'create 1 again'];
  assert.deepEqual(await storyUpToNow(service), story);
});

test('an update that changes nothing tells nothing, and one that changes only what is hidden tells', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addPost('same');
  await service.addEndpoint({ maxInFlight: 1 });
  const path = `/api/collections/posts/records/${id}`;
  await service.call('PATCH', path, { body: { title: 'same' } });
  await service.call('PATCH', path, { body: {} });
  await service.call('PATCH', path, { body: { note: 'secret' } });
  assert.deepEqual(await storyUpToNow(service), ['update 2 same']);
  assert.ok(!service.receiver.requests[0]?.body.includes('secret'));
});

test('W-51 a write that was refused or rolled back tells nothing', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ maxInFlight: 1 });
  const path = '/api/collections/posts/records';
  const { id } = await service.addPost('first');
  await service.call('POST', path, { body: { id, title: 'twin' }, status: 400 });
  await service.call('POST', path, { body: { title: 'x', rank: 5_000 }, status: 400 });
  assert.equal((await service.request(path, { method: 'POST', body: { title: 'guest' } })).status, 403);
  await service.withInstance('default', async (instance) => {
    const created = '2026-11-20 09:35:20.114Z';
    const event = { kind: 'record.create', collection: 'c', collectionName: 'posts', record: 'r' } as const;
    const work = instance.database.write(async (tx) => {
      await instance.events.append(tx, { ...event, revision: 1, created, dataJson: '{"title":"undone"}' });
      throw new Error('after the event');
    });
    await assert.rejects(work, /after the event/);
  });
  assert.deepEqual(await storyUpToNow(service), ['create 1 first']);
  assert.equal((await service.deliveries()).length, 2);
});

test('collections whose names begin with _ tell nothing', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ maxInFlight: 1 });
  await service.call('POST', '/api/collections', { body: { name: '_inner', type: 'base' } });
  await service.call('POST', '/api/collections/_inner/records', { body: {}, status: 201 });
  assert.deepEqual(await storyUpToNow(service), []);
});

test('W-50 an endpoint hears of the events and collections that it asked for, and of no others', async (t) => {
  const service = await startWebhookService(t);
  await service.call('POST', '/api/collections', { body: { name: 'posts2', type: 'base' } });
  const wanted: readonly (readonly [settings: Json, expected: readonly string[]])[] = [
    [{}, ['create posts', 'create posts2', 'delete posts', 'update posts']],
    [{ events: ['record.update'] }, ['update posts']],
    [{ collections: ['posts2'] }, ['create posts2']],
    [
      { events: ['record.create', 'record.delete'], collections: ['posts'] },
      ['create posts', 'delete posts'],
    ],
  ];
  const ids = await Promise.all(wanted.map(async ([settings]) => (await service.addEndpoint(settings)).id));
  const { id } = await service.addPost();
  await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'changed' } });
  await service.call('DELETE', `/api/collections/posts/records/${id}`, { status: 204 });
  await service.call('POST', '/api/collections/posts2/records', { body: {}, status: 201 });
  const deliveries = await service.deliveries();
  for (const [index, [, expected]] of wanted.entries()) {
    const heard = deliveries.filter(({ endpoint }) => endpoint === ids[index]);
    assert.deepEqual(
      heard.map(({ kind, collection }) => `${shortKind(kind)} ${collection}`).toSorted(),
      expected,
    );
  }
});

const answers: readonly (readonly [mode: ReceiverMode, status: string, cause: RegExp])[] = [
  ...[200, 201, 202, 204, 299].map((status) => [{ kind: 'status', status }, 'delivered', /^$/] as const),
  ...[304, 400, 401, 404, 408, 429, 500, 503].map(
    (status) => [{ kind: 'status', status }, 'exhausted', new RegExp(`status ${status}`)] as const,
  ),
  [{ kind: 'close after request' }, 'exhausted', /closed without an answer/],
  [{ kind: 'half response' }, 'exhausted', /in the middle of the answer/],
  [{ kind: 'garbage' }, 'exhausted', /not valid HTTP/],
  [{ kind: 'reset on accept' }, 'exhausted', /./],
];

test('W-30 only a complete answer of 200 to 299 is success', async (t) => {
  const service = await startWebhookService(t);
  for (const [mode, status, cause] of answers) {
    // Another one each time, as one that has failed so often is left alone for a while.
    const { id } = await service.addEndpoint({ schedule: [] });
    service.receiver.mode = mode;
    const { id: record } = await service.addPost();
    const delivery = await eventually(`${JSON.stringify(mode)} settled`, async () => {
      const [found] = await service.deliveries(`record = '${record}' && status != 'pending'`);
      return found;
    });
    assert.equal(delivery.status, status, JSON.stringify(mode));
    assert.match(delivery.cause, cause);
    assert.equal(delivery.attempts.length, 1);
    await service.call('DELETE', `/api/webhooks/endpoints/${id}`, { status: 204 });
  }
});

test('a redirect is a failure and is not followed', async (t) => {
  const service = await startWebhookService(t);
  const mode = {
    kind: 'redirect',
    location: service.receiver.urlAt('127.0.0.1', '/elsewhere'),
    status: 307,
  } as const;
  service.receiver.mode = mode;
  await service.addEndpoint({ schedule: [] });
  await service.addPost();
  const delivery = await service.delivery('a failure', ({ status }) => status === 'exhausted');
  assert.equal(delivery.attempts[0].status, 307);
  assert.deepEqual(
    service.receiver.requests.map(({ path }) => path),
    ['/hook'],
  );
});
