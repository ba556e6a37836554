import assert from 'node:assert/strict';
import type { default as PocketBase, RecordModel } from 'pocketbase';
import type { StartedReceiver } from './child-processes.ts';
import type { Printer } from './printer.ts';
import type { ReceivedWebhook } from './receiver-message.ts';

/** What the demo did with each record. The webhooks must repeat it: in this order, each change once, with this state. */
export type History = Map<
  string,
  { readonly event: string; readonly title: string; readonly views: number }[]
>;

interface Post extends RecordModel {
  readonly title: string;
  readonly views: number;
}

export interface StoryOptions {
  readonly pb: PocketBase;
  readonly printer: Printer;
}

/** Creates a collection, and an endpoint at the receiver that is told of its records. */
export async function prepare(pb: PocketBase, receiver: StartedReceiver): Promise<void> {
  await pb.collections.create({
    name: 'posts',
    type: 'base',
    fields: [
      { name: 'title', type: 'text', required: true },
      { name: 'views', type: 'number' },
      { name: 'published', type: 'bool' },
    ],
  });
  const { secret } = await pb.send<{ readonly secret: string }>('/api/webhooks/endpoints', {
    method: 'POST',
    // One attempt at a time, so that webhooks arrive in the order of their events.
    body: { url: `${receiver.url}/hook`, collections: ['posts'], maxInFlight: 1 },
  });
  receiver.setSecret(secret);
}

/** Changes records and reads them back. Returns the history that the receiver must have been told in the end. */
export async function tellStory({ pb, printer }: StoryOptions): Promise<History> {
  const posts = pb.collection<Post>('posts');
  const history: History = new Map();
  const remember = (event: string, { id, title, views }: Post): void => {
    history.set(id, [...(history.get(id) ?? []), { event, title, views }]);
  };

  async function create(values: { title: string; views: number; published: boolean }): Promise<Post> {
    const post = await posts.create(values);
    assert.equal(post.title, values.title, 'the answer to create shows the record');
    printer.asked('create', post.title);
    remember('record.create', post);
    return post;
  }
  async function update(post: Post, values: Partial<Post>): Promise<void> {
    const updated = await posts.update(post.id, values);
    assert.equal(updated.views, values.views, 'the answer to update shows the new state');
    printer.asked('update', updated.title);
    remember('record.update', updated);
  }
  async function list(filter: string, sort: string, titles: readonly string[]): Promise<void> {
    const page = await posts.getList(1, 20, { filter, sort });
    const found = page.items.map((post) => post.title);
    printer.asked('list', `${filter} by ${sort}: ${found.join(', ')}`);
    assert.deepEqual(found, titles, `the list of ${filter}`);
    assert.equal(page.totalItems, titles.length, `the number of ${filter}`);
  }

  const hello = await create({ title: 'Hello, world', views: 12, published: true });
  const greetings = await create({ title: 'Grüße 🌍', views: 40, published: true });
  const draft = await create({ title: 'A draft', views: 0, published: false });
  await update(hello, { views: 13 });
  await update(draft, { title: 'A second draft', views: 1 });
  await list(pb.filter('published = {:published} && views > 10', { published: true }), '-views', [
    'Grüße 🌍',
    'Hello, world',
  ]);
  assert.equal(await posts.delete(greetings.id), true, 'delete is confirmed');
  printer.asked('delete', greetings.title);
  remember('record.delete', greetings);
  await list('views >= 0', 'title', ['A second draft', 'Hello, world']);
  return history;
}

/** Throws unless the webhooks match the history: each event once, in order for each record, genuine and with the right state. */
export function checkWebhooks(webhooks: readonly ReceivedWebhook[], history: History): void {
  const told: History = new Map();
  for (const { headers, body, verdicts } of webhooks) {
    assert.deepEqual(verdicts, { byHand: true, byPackage: true }, 'every signature is right');
    // The cast holds: both checks have just confirmed that the service wrote this body.
    const payload = JSON.parse(body) as { readonly event: string; readonly data: Post };
    const { id, title, views } = payload.data;
    const events = [...(told.get(id) ?? []), { event: payload.event, title, views }];
    told.set(id, events);
    assert.equal(headers['x-service-sequence'], String(events.length), 'events of a record are numbered');
    assert.deepEqual(Object.keys(payload), ['event', 'timestamp', 'instance_id', 'collection', 'data']);
  }
  assert.deepEqual(Object.fromEntries(told), Object.fromEntries(history), 'each event came once, in order');
}

/** Sends the receiver an earlier webhook with one thing changed. Returns the status of its answer. */
export async function sendTampered(receiver: StartedReceiver, webhook: ReceivedWebhook): Promise<number> {
  const { host: _, 'content-length': __, connection: ___, ...headers } = webhook.headers;
  const body = webhook.body.replace('"views":12', '"views":1200');
  assert.notEqual(body, webhook.body, 'the copy differs');
  const response = await fetch(`${receiver.url}/hook`, { method: 'POST', headers, body });
  return response.status;
}
