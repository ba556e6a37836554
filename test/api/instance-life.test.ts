// Both engines: an instance is a file or a schema, and its state is seen by other nodes.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { routes } from '../../src/http/server/routes.ts';
import { eventually } from '../support/eventually.ts';
import { EventStream } from '../support/event-stream.ts';
import { addPost, closeInstance, makeInstance } from '../support/instance-fleet.ts';
import { issueSuperuserToken } from '../support/issue-superuser-token.ts';
import { rawRequest, sendRaw } from '../support/raw-http.ts';
import { Receiver, type ReceiverMode } from '../support/receiver.ts';
import { startService, type TestService, type TestServiceOptions } from '../support/service.ts';

const suspended = { data: {}, message: 'The instance is suspended.', status: 403 };
const posts = '/i/shop/api/collections/posts/records';

interface Stage {
  readonly service: TestService;
  readonly receiver: Receiver;
  readonly id: string;
  /** Of a superuser of the instance. */
  readonly token: string;
}

/** A service with the instance `shop`, whose webhooks go to a receiver. */
async function startShop(
  t: TestContext,
  mode: ReceiverMode = { kind: 'ok' },
  options: TestServiceOptions = {},
): Promise<Stage> {
  const receiver = await Receiver.open({ mode });
  t.after(() => receiver.close());
  const service = await startService(t, options);
  await makeInstance(service, 'shop', { url: receiver.url, timeoutMs: 30_000 });
  const token = await service.withInstance('shop', (instance) =>
    issueSuperuserToken(instance, 'root@example.com'),
  );
  return { service, receiver, id: idOf(service, 'shop'), token };
}

function idOf({ app }: TestService, slug: string): string {
  const entry = app.data.directory.findBySlug(slug);
  assert.ok(entry !== undefined);
  return entry.id;
}

async function countPosts(service: TestService, path = posts): Promise<number> {
  const { status, json, text } = await service.request(`${path}?perPage=1`);
  assert.equal(status, 200, text);
  return json.totalItems;
}

test('a suspended instance refuses every route but health, whoever asks', async (t) => {
  const { service, id, token } = await startShop(t);
  const pageStatus = async (): Promise<number> => (await fetch(`${service.url}/i/shop/_/`)).status;
  const status = await pageStatus();
  await service.app.data.directory.suspend(id);
  for (const route of routes) {
    if (route.kind !== 'instance' || route.id === 'health') continue;
    for (const path of route.paths) {
      const { status, json } = await service.request(`/i/shop${path.replaceAll(/:[a-zA-Z]+/g, 'posts')}`, {
        method: route.method,
        token,
        ...(route.method !== 'GET' && { body: {} }),
      });
      assert.deepEqual([status, json], [403, suspended], `${route.method} ${path}`);
    }
  }
  const health = await service.request('/i/shop/api/health', { token });
  assert.deepEqual(health.json, { code: 200, message: suspended.message, data: { suspended: true } });
  const member = await service.request('/i/shop/api/health?fields=message');
  assert.deepEqual(member.json, { message: suspended.message });
  assert.equal(await pageStatus(), status);
  assert.equal((await service.request('/api/health')).json.message, 'API is healthy.');
  await service.app.data.directory.resume(id);
  assert.equal((await service.request('/i/shop/api/health')).json.message, 'API is healthy.');
  assert.equal(await countPosts(service), 0);
});

test('webhooks of a suspended instance wait, those on their way are settled, and all are sent once', async (t) => {
  const held = Promise.withResolvers<void>();
  const { service, receiver, id } = await startShop(t, { kind: 'held', until: held.promise });
  const { directory, instances } = service.app.data;
  for (let count = 0; count < 40; count += 1) await addPost(service, 'shop');
  await eventually('attempts are on their way', () => receiver.requests.length > 0);
  await directory.suspend(id);
  receiver.mode = { kind: 'ok' };
  held.resolve();
  await eventually('it is closed once these are settled', () => !instances.isOpen(id));
  await instances.closed(id);
  const sent = receiver.requests.length;
  assert.ok(sent < 40, `${sent} were sent`);
  await directory.resume(id);
  await eventually('all are sent', () => receiver.requests.length === 40);
  const deliveries = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
  assert.equal(deliveries.size, 40);
});

test('a start sends nothing of a suspended instance, and a resume all that waits', async (t) => {
  const first = await startShop(t, { kind: 'status', status: 500 });
  await addPost(first.service, 'shop');
  await eventually('it was tried', () => first.receiver.requests.length > 0);
  await first.service.app.data.directory.suspend(first.id);
  await first.service.stop();
  const tried = first.receiver.requests.length;
  first.receiver.mode = { kind: 'ok' };
  const second = await startService(t, { data: first.service.data });
  const { directory, instances } = second.app.data;
  assert.equal((await second.request(posts)).status, 403);
  assert.equal(instances.isOpen(first.id), false);
  assert.equal(first.receiver.requests.length, tried);
  await directory.resume(first.id);
  await eventually('it is sent', () => first.receiver.requests.length === tried + 1);
});

test('realtime connections of a suspended instance are ended, and new ones refused', async (t) => {
  const { service, id } = await startShop(t);
  const stream = await EventStream.open(t, `${service.url}/i/shop`);
  await service.app.data.directory.suspend(id);
  await eventually('it is ended', () => stream.isOver);
  assert.deepEqual((await service.request('/i/shop/api/realtime')).json, suspended);
  await service.app.data.directory.resume(id);
  assert.ok((await EventStream.open(t, `${service.url}/i/shop`)).clientId !== '');
});

test('a deleted instance is not found at once, and is restored with its records and waiting webhooks', async (t) => {
  const { service, receiver, id } = await startShop(t, { kind: 'status', status: 500 });
  const { directory } = service.app.data;
  await directory.setHost(id, 'shop.example');
  await addPostByHost(t, service);
  const tried = await eventually(
    'it was tried',
    () => receiver.requests.length > 0 && receiver.requests.length,
  );
  const stream = await EventStream.open(t, service.url, { host: 'shop.example' });
  await directory.delete(id);
  assert.equal((await service.request(posts)).status, 404);
  const byHost = await sendRaw(
    t,
    service.url,
    rawRequest('GET /api/collections/posts/records', { Host: 'shop.example' }),
  );
  assert.equal(byHost.status, 404, 'the default instance has no such collection');
  await eventually('realtime ends', () => stream.isOver);
  receiver.mode = { kind: 'ok' };

  // Another can have its names meanwhile.
  const other = await directory.create('shop', 'shop.example');
  await assert.rejects(directory.restore(id), /The (slug|host) shop.* belongs|is bound/);
  await directory.delete(other.id);
  assert.ok(receiver.requests.length <= tried + 1);

  await directory.restore(id);
  await eventually('what waited is sent', () => receiver.requests.length > tried);
  await directory.setHost(id, null);
  assert.equal(await countPosts(service), 1);
});

async function addPostByHost(t: TestContext, service: TestService): Promise<void> {
  const head = rawRequest('POST /api/collections/posts/records', {
    Host: 'shop.example',
    'Content-Type': 'application/json',
    'Content-Length': '2',
  });
  assert.equal((await sendRaw(t, service.url, `${head}{}`)).status, 201);
}

test('an instance that is suspended when it is deleted is suspended when it is restored', async (t) => {
  const { service, id } = await startShop(t);
  const { directory } = service.app.data;
  await directory.suspend(id);
  await directory.delete(id);
  assert.equal((await service.request(posts)).status, 404);
  await directory.restore(id);
  assert.deepEqual((await service.request(posts)).json, suspended);
});

test('renames under load lose no write, and the old slug is not found', async (t) => {
  const { service, id } = await startShop(t);
  const { directory } = service.app.data;
  const over = new AbortController();
  let written = 0;
  let slug = 'shop';
  let isRenaming = false;
  const writers = Array.from({ length: 3 }, async () => {
    while (!over.signal.aborted) {
      const before = slug;
      const path = `/i/${before}/api/collections/posts/records`;
      const { status, text } = await service.request(path, { method: 'POST', body: {} });
      if (status === 404) assert.ok(isRenaming || slug !== before, text);
      else assert.equal(status, 201, text);
      if (status === 201) written += 1;
    }
  });
  for (let round = 0; round < 12; round += 1) {
    const next = `shop${round}`;
    const before = slug;
    isRenaming = true;
    await directory.rename(id, next);
    slug = next;
    isRenaming = false;
    assert.equal((await service.request(`/i/${before}/api/health`)).status, 404);
    const enough = written + 3;
    await eventually('writes go on', () => written >= enough);
  }
  over.abort();
  await Promise.all(writers);
  assert.equal(await countPosts(service, `/i/${slug}/api/collections/posts/records`), written);
  await closeInstance(service.app.data, slug);
});
