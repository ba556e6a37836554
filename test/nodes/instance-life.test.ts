import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { EventStream } from '../support/event-stream.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup } from './node-group.ts';
import { startPoll } from './start-poll.ts';

const posts = '/i/shop/api/collections/posts/records';

test('every node sees within a second that an instance is suspended, renamed, deleted or restored', async (t) => {
  const group = await NodeGroup.open(t);
  const [one, two] = [await group.start(), await group.start()];
  await group.divided(one, 2);
  await group.makeInstance(one, 'shop');
  const { directory } = one.data;
  const { id = '' } = directory.findBySlug('shop') ?? {};
  const statusOf = async (path = posts): Promise<number> => (await group.ask(two, `GET ${path}`)).status;
  /** A second, and what a busy machine takes. */
  const seen = (status: number, path = posts): Promise<unknown> =>
    eventually(`${path} is ${status}`, async () => (await statusOf(path)) === status, 10_000);
  await seen(200);
  const stream = await EventStream.open(t, `${two.url}/i/shop`);
  const held = Promise.withResolvers<void>();
  group.receiver.mode = { kind: 'held', until: held.promise };
  for (let count = 0; count < 40; count += 1) await group.get(two, `POST ${posts}`, {});
  await eventually('attempts are on their way', () => group.receiver.requests.length > 0);

  await directory.suspend(id);
  await seen(403);
  await eventually('realtime ends', () => stream.isOver);
  group.receiver.mode = { kind: 'ok' };
  held.resolve();
  for (const node of [one, two])
    await eventually('it is closed once its attempts are settled', () => !node.data.instances.isOpen(id));
  const sent = group.receiver.requests.length;
  assert.ok(sent < 40, `${sent} were sent`);

  await directory.rename(id, 'store');
  await directory.resume(id);
  await seen(200, '/i/store/api/collections/posts/records');
  assert.equal(await statusOf(), 404);
  await eventually('all are sent', () => group.receiver.requests.length === 40);
  const deliveries = new Set(group.receiver.requests.map(({ headers }) => headers['webhook-id']));
  assert.equal(deliveries.size, 40);

  await directory.delete(id);
  await seen(404, '/i/store/api/health');
  await two.data.directory.create('store', null);
  await assert.rejects(directory.restore(id), /The slug store belongs to another instance\./);
  const other = two.data.directory.findBySlug('store');
  await two.data.directory.rename(other?.id ?? '', 'other');
  await directory.restore(id);
  await seen(200, '/i/store/api/collections/posts/records');
});

test('a node that hears of events before it knows their new instance delivers them', async (t) => {
  const group = await NodeGroup.open(t);
  const [one, two] = [await group.start(), await group.start()];
  await group.divided(one, 2);
  // As if its next look at the directory took long.
  await two.data.directory.stop();
  const slugs = Array.from({ length: 8 }, (_, index) => `shop${index}`);
  for (const slug of slugs) {
    await group.makeInstance(one, slug);
    await group.get(one, `POST /i/${slug}/api/collections/posts/records`, {});
  }
  const paths = (): ReadonlySet<string> => new Set(group.receiver.requests.map(({ path }) => path));
  await using look = startPoll(two);
  const [row] = await ask(group.postgres, 'SELECT max(position) AS last FROM chancery.event');
  await eventually('all is safe', () => look.poll.safePosition >= Number(row?.['last']));
  await look.looked(3);
  assert.ok(paths().size < slugs.length, 'each node has some of eight');
  await two.data.directory.refresh();
  await eventually('all are sent', () => paths().size === slugs.length);
});
