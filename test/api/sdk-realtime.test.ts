import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import PocketBase, { type RecordSubscription } from 'pocketbase';
import { EventSource } from 'undici';
import { Accounts } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// What the SDK's documentation asks of those who use it in Node.
Object.assign(globalThis, { EventSource });

interface Stage {
  readonly service: TestService;
  /** Signed in as a superuser: changes records. */
  readonly admin: PocketBase;
}

async function setUp(t: TestContext): Promise<Stage> {
  const service = await startService(t);
  const admin = await superuserSdk(service);
  admin.autoCancellation(false);
  await admin.collections.create({
    name: 'posts',
    listRule: '',
    viewRule: '',
    fields: [
      { name: 'title', type: 'text' },
      { name: 'owner', type: 'text' },
    ],
  });
  return { service, admin };
}

/** Runs a test with a client that gives up its connection in the end: one that connects again and again would keep the process. */
async function listening(url: string, run: (pb: PocketBase) => Promise<void>): Promise<void> {
  const pb = new PocketBase(url);
  try {
    await run(pb);
  } finally {
    await pb.realtime.unsubscribe();
  }
}

/** Collects what a callback is told: `create a`. */
function noting(told: string[]): (message: RecordSubscription) => void {
  return ({ action, record }) => void told.push(`${action} ${record['title']}`);
}

async function areTold(
  lists: readonly (readonly string[])[],
  expected: readonly (readonly string[])[],
): Promise<void> {
  await eventually(JSON.stringify(expected), () => JSON.stringify(lists) === JSON.stringify(expected));
}

test('the SDK subscribes to all records, to one, and to both with options, and unsubscribes in every way', async (t) => {
  const { service, admin } = await setUp(t);
  await listening(service.url, async (pb) => {
    const posts = pb.collection('posts');
    const { id } = await admin.collection('posts').create({ title: 'a', owner: 'x' });
    const all: string[] = [];
    const one: string[] = [];
    const some: string[] = [];
    const titles: string[] = [];
    const again: string[] = [];
    const byId: string[] = [];
    await posts.subscribe('*', noting(all));
    const unsubscribeOne = await posts.subscribe(id, noting(one));
    await posts.subscribe('*', noting(some), { filter: 'owner = "x"' });
    await posts.subscribe('*', ({ record }) => void titles.push(Object.keys(record).join()), {
      fields: 'title',
    });
    assert.ok(pb.realtime.isConnected);

    await admin.collection('posts').update(id, { title: 'b' });
    await admin.collection('posts').create({ title: 'c', owner: 'y' });
    await areTold(
      [all, one, some, titles],
      [['update b', 'create c'], ['update b'], ['update b'], ['title', 'title']],
    );

    await unsubscribeOne();
    await admin.collection('posts').update(id, { title: 'd' });
    await areTold(
      [all, one, some],
      [['update b', 'create c', 'update d'], ['update b'], ['update b', 'update d']],
    );

    await posts.unsubscribe('*');
    await posts.subscribe(id, noting(byId));
    await pb.realtime.subscribe('posts/*', noting(again));
    await admin.collection('posts').update(id, { title: 'e' });
    await areTold([again, byId, all.slice(3), some.slice(2)], [['update e'], ['update e'], [], []]);

    await pb.realtime.unsubscribeByPrefix(`posts/${id}`);
    await admin.collection('posts').update(id, { title: 'f' });
    await areTold([again, byId], [['update e', 'update f'], ['update e']]);

    await posts.unsubscribe();
    assert.equal(pb.realtime.isConnected, false);
    await admin.collection('posts').delete(id);
    await posts.subscribe('*', noting(byId));
    await admin.collection('posts').create({ title: 'g' });
    await areTold(
      [again, byId],
      [
        ['update e', 'update f'],
        ['update e', 'create g'],
      ],
    );
  });
});

test('the SDK listens as its account, with related records and its own headers, and is told why it may not change to another', async (t) => {
  const { service, admin } = await setUp(t);
  await listening(service.url, async (pb) => {
    const accounts = new Accounts(service);
    const ann = await accounts.account('ann');
    await accounts.account('bob');
    await admin.collections.update('posts', {
      listRule: 'owner = @request.auth.id && @request.headers.x_word = "w"',
    });
    const told: string[] = [];
    await pb.collection('users').authWithPassword(ann.email, 'correct horse');
    await pb
      .collection('posts')
      .subscribe('*', noting(told), { headers: { 'X-Word': 'w' }, expand: 'owner' });
    await admin.collection('posts').create({ title: 'not for ann', owner: 'x' });
    await admin.collection('posts').create({ title: 'for ann', owner: ann.id });
    await areTold([told], [['create for ann']]);
    await pb.collection('users').authWithPassword('bob@example.com', 'correct horse');
    const refused = await refusalOf(pb.collection('posts').subscribe(ann.id, noting(told)));
    assert.equal(refused.status, 403);
  });
});

test('after a restart of the server the SDK connects again, and is told of what comes then', async (t) => {
  const data = temporaryFolder(t);
  const first = await startService(t, { data });
  const port = new URL(first.url).port;
  const admin = await superuserSdk(first);
  await admin.collections.create({ name: 'posts', listRule: '', fields: [{ name: 'title', type: 'text' }] });
  await listening(first.url, async (pb) => {
    const told: string[] = [];
    await pb.collection('posts').subscribe('*', noting(told));
    await admin.collection('posts').create({ title: 'before' });
    await areTold([told], [['create before']]);
    const { clientId } = pb.realtime;
    await first.stop();

    await startService(t, { data, flags: { port } });
    await eventually(
      'it is connected again',
      () => pb.realtime.isConnected && pb.realtime.clientId !== clientId,
    );
    const again = await superuserSdk(first);
    again.autoCancellation(false);
    // The connection is there before its subscriptions are.
    await eventually('it is told again', async () => {
      await again.collection('posts').create({ title: 'after' });
      return told.includes('create after');
    });
  });
});
