// Both engines: transactions are cut off by clients that hang up.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import PocketBase, { type RecordModel, type RecordService } from 'pocketbase';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestService } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';

interface Post extends RecordModel {
  readonly title: string;
  readonly views: number;
  readonly published: boolean;
  readonly meta: unknown;
}

interface Stage {
  readonly service: TestService;
  readonly pb: PocketBase;
  readonly posts: RecordService<Post>;
}

const wireDate = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z$/;

describe('a record', () => {
  test('is created with an id, dates and the values that were given, and read again as it is', async (t) => {
    const { posts } = await setUp(t);
    const meta = { tags: ['a', 'b'], deep: { n: 1.5, none: null } };
    const created = await posts.create({ title: 'Grüße 🌍 "\\', views: -3.25, published: true, meta });
    assert.match(created.id, /^[a-z0-9]{15}$/);
    assert.equal(created.collectionName, 'posts');
    assert.match(String(created['created']), wireDate);
    assert.equal(created['created'], created['updated']);
    const { title, views, published, meta: kept } = await posts.getOne(created.id);
    assert.deepEqual({ title, views, published }, { title: 'Grüße 🌍 "\\', views: -3.25, published: true });
    assert.deepEqual(kept, meta);
    assert.deepEqual(await posts.getOne(created.id), created);
  });

  test('may bring its own id, which is taken once', async (t) => {
    const { posts } = await setUp(t);
    const id = 'abcdefghij01234';
    assert.equal((await posts.create({ id, title: 'first' })).id, id);
    const refusal = await refusalOf(posts.create({ id, title: 'second' }));
    assert.equal(refusal.status, 400);
    assert.equal(refusal.data['data'].id.code, 'validation_not_unique');
    assert.equal((await posts.getOne(id)).title, 'first');
  });

  test('keeps what an update leaves out, and an update that changes nothing changes no date', async (t) => {
    const { posts } = await setUp(t);
    const created = await posts.create({ title: 'a', views: 1 });
    const updated = await posts.update(created.id, { views: 2 });
    assert.deepEqual([updated.title, updated.views], ['a', 2]);
    assert.ok(String(updated['updated']) >= String(created['updated']));
    assert.deepEqual(await posts.update(created.id, { views: 2 }), updated);
  });

  test('is gone after delete, which answers true', async (t) => {
    const { posts } = await setUp(t);
    const { id } = await posts.create({ title: 'a' });
    assert.equal(await posts.delete(id), true);
    for (const ask of [() => posts.getOne(id), () => posts.update(id, {}), () => posts.delete(id)]) {
      assert.equal((await refusalOf(ask())).status, 404);
    }
  });
});

describe('a list', () => {
  test('comes in pages with totals, in the order of creation', async (t) => {
    const { posts } = await setUp(t, 7);
    const first = await posts.getList(1, 3);
    assert.deepEqual(titlesOf(first), ['post 1', 'post 2', 'post 3']);
    assert.deepEqual([first.page, first.perPage, first.totalItems, first.totalPages], [1, 3, 7, 3]);
    assert.deepEqual(titlesOf(await posts.getList(3, 3)), ['post 7']);
    assert.deepEqual(titlesOf(await posts.getList(4, 3)), []);
    assert.equal((await posts.getList()).perPage, 30);
    assert.equal((await posts.getList(1, 5000)).perPage, 1000);
  });

  test('without totals says -1', async (t) => {
    const { posts } = await setUp(t, 3);
    const page = await posts.getList(1, 2, { skipTotal: true });
    assert.deepEqual([page.items.length, page.totalItems, page.totalPages], [2, -1, -1]);
  });

  test('is filtered by pb.filter, whatever the values hold', async (t) => {
    const { pb, posts } = await setUp(t, 5);
    const find = async (raw: string, values: Record<string, unknown>): Promise<readonly string[]> =>
      titlesOf(await posts.getList(1, 50, { filter: pb.filter(raw, values) }));
    assert.deepEqual(await find('views >= {:from} && published = {:on}', { from: 20, on: true }), [
      'post 2',
      'post 4',
    ]);
    assert.deepEqual(await find('title ~ {:part} || views = {:views}', { part: 'ST 1', views: 50 }), [
      'post 1',
      'post 5',
    ]);
    for (const hostile of [`it's`, 'say "hi"', `x' || 1=1 || 'x`, 'a || b', 'Grüße 🌍', '%', '_', '{:x}']) {
      await posts.create({ title: hostile });
      assert.deepEqual(await find('title = {:title}', { title: hostile }), [hostile]);
    }
    const now = new Date();
    assert.deepEqual(await find('created > {:date}', { date: new Date(now.getTime() + 3_600_000) }), []);
    assert.equal(
      (await find('created <= {:date}', { date: new Date(now.getTime() + 3_600_000) })).length,
      13,
    );
    assert.deepEqual(await find('meta.n = {:n}', { n: 3 }), ['post 3']);
    assert.equal((await find('title != {:none}', { none: null })).length, 13);
  });

  test('is sorted by several fields, up and down', async (t) => {
    const { posts } = await setUp(t, 4);
    const page = await posts.getList(1, 10, { sort: '-published,views' });
    assert.deepEqual(titlesOf(page), ['post 2', 'post 4', 'post 1', 'post 3']);
    assert.deepEqual(titlesOf(await posts.getList(1, 1, { sort: '-views' })), ['post 4']);
    assert.equal((await posts.getList(1, 10, { sort: '@random' })).items.length, 4);
  });

  test('shows only the fields that were asked for', async (t) => {
    const { posts } = await setUp(t, 1);
    const { items } = await posts.getList(1, 1, { fields: 'title,meta.n' });
    assert.deepEqual(items, [{ title: 'post 1', meta: { n: 1 } }]);
    const id = (await posts.getFirstListItem('')).id;
    assert.deepEqual(await posts.getOne(id, { fields: 'id' }), { id });
  });

  test('can be had whole, over as many requests as it takes', async (t) => {
    const { posts } = await setUp(t, 7);
    let requests = 0;
    const counting = { batch: 3, fetch: countedFetch(() => (requests += 1)) };
    const all = await posts.getFullList(counting);
    assert.deepEqual(
      all.map(({ title }) => title),
      Array.from({ length: 7 }, (_, index) => `post ${index + 1}`),
    );
    assert.equal(requests, 3);
    assert.equal((await posts.getFullList()).length, 7);
  });

  test('gives its first item, or a 404 made by the SDK', async (t) => {
    const { pb, posts } = await setUp(t, 3);
    const found = await posts.getFirstListItem(pb.filter('views > {:min}', { min: 10 }), { sort: '-views' });
    assert.equal(found.title, 'post 3');
    assert.equal((await refusalOf(posts.getFirstListItem('views > 1000'))).status, 404);
  });
});

describe('a refusal', () => {
  test('carries status, message and the problem of each field', async (t) => {
    const { service, posts } = await setUp(t);
    const refusal = await refusalOf(posts.create({ title: '', views: 101 }));
    assert.equal(refusal.status, 400);
    assert.equal(refusal.url, `${service.url}/api/collections/posts/records`);
    assert.equal(refusal.isAbort, false);
    assert.equal(refusal.message, 'Failed to create record.');
    assert.deepEqual(refusal.response, {
      data: {
        title: { code: 'validation_required', message: 'Cannot be blank.' },
        views: {
          code: 'validation_max_number_constraint',
          message: 'Must be less or equal than 100.',
          params: { max: 100 },
        },
      },
      message: 'Failed to create record.',
      status: 400,
    });
    assert.deepEqual(refusal.data, refusal.response);
    const { id } = await posts.create({ title: 'a' });
    const onUpdate = await refusalOf(posts.update(id, { title: '' }));
    assert.equal(onUpdate.message, 'Failed to update record.');
    assert.equal(onUpdate.response['data'].title.code, 'validation_required');
  });

  test('of a list names no record, and of what is not there is a 404', async (t) => {
    const { pb, posts } = await setUp(t);
    for (const options of [{ filter: 'title =' }, { filter: 'nothing = 1' }, { sort: 'nothing' }]) {
      const refusal = await refusalOf(posts.getList(1, 1, options));
      assert.equal(refusal.status, 400, JSON.stringify(options));
    }
    const missing = await refusalOf(posts.getOne('abcdefghij01234'));
    assert.deepEqual(missing.response, {
      data: {},
      message: "The requested resource wasn't found.",
      status: 404,
    });
    const context = await refusalOf(pb.collection('nothing').getList());
    assert.deepEqual([context.status, context.message], [404, 'Missing collection context.']);
    // The SDK itself refuses to ask for the record without an id.
    assert.equal((await refusalOf(posts.getOne(''))).status, 404);
  });

  test('of a guest is 403 where only superusers may, and a rule that is empty lets everyone in', async (t) => {
    const { service, pb, posts } = await setUp(t, 1);
    const guest = new PocketBase(service.url).collection('posts');
    const { id } = await posts.getFirstListItem('');
    const asked = [
      () => guest.getList(),
      () => guest.getOne(id),
      () => guest.create({ title: 'b' }),
      () => guest.update(id, { title: 'b' }),
      () => guest.delete(id),
    ];
    for (const ask of asked) {
      const { status, message } = await refusalOf(ask());
      assert.deepEqual([status, message], [403, 'Only superusers can perform this action.']);
    }
    await pb.collections.update('posts', { listRule: '', viewRule: '', createRule: '' });
    assert.equal((await guest.getList()).totalItems, 1);
    assert.equal((await guest.getOne(id)).id, id);
    assert.equal((await guest.create({ title: 'b' })).title, 'b');
    assert.equal((await refusalOf(guest.delete(id))).status, 403);
  });
});

describe('cancelling', () => {
  test('the SDK cancels the earlier of two equal requests, and the later one is answered', async (t) => {
    const { posts } = await setUp(t, 2);
    const earlier = refusalOf(posts.getList(1, 1));
    const later = posts.getList(1, 1);
    const refusal = await earlier;
    assert.deepEqual([refusal.isAbort, refusal.status], [true, 0]);
    assert.equal((await later).items.length, 1);
    // With a key of their own, or none, both are answered.
    const both = await Promise.all([
      posts.getList(1, 1, { requestKey: 'a' }),
      posts.getList(1, 1, { requestKey: 'b' }),
      posts.getList(1, 1, { requestKey: null }),
      posts.getList(1, 1, { requestKey: null }),
    ]);
    assert.equal(both.length, 4);
  });

  test('clients that hang up at any moment leave no error and no record twice', async (t) => {
    const { service, pb, posts } = await setUp(t);
    const outcomes: Promise<unknown>[] = [];
    for (let round = 0; round < 60; round += 1) {
      const options = { requestKey: `round ${round}` };
      const asked =
        round % 2 === 0 ? posts.create({ title: `n ${round}` }, options) : posts.getList(1, 5, options);
      outcomes.push(
        asked.catch((error: unknown) => assert.ok(String(error).includes('autocancelled'), String(error))),
      );
      // From at once to long after the answer.
      await new Promise((resolve) => setTimeout(resolve, round % 6));
      pb.cancelRequest(options.requestKey);
    }
    await Promise.all(outcomes);
    pb.cancelAllRequests();
    const all = await posts.getFullList();
    const titles = all.map(({ title }) => title);
    assert.equal(new Set(titles).size, titles.length);
    assert.deepEqual(
      service.log.filter(({ level }) => level === 'error' || level === 'warn'),
      [],
    );
    const { data } = await pb.health.check();
    assert.equal(data?.['engine'], testEngine);
  });

  test('autoCancellation(false) lets equal requests live', async (t) => {
    const { pb, posts } = await setUp(t, 1);
    pb.autoCancellation(false);
    const pages = await Promise.all([posts.getList(), posts.getList(), posts.getList()]);
    assert.deepEqual(
      pages.map(({ totalItems }) => totalItems),
      [1, 1, 1],
    );
  });
});

/** A collection with so many posts: the n-th has 10 × n views, and every second one is published. */
async function setUp(t: TestContext, count = 0): Promise<Stage> {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  await pb.collections.create({
    name: 'posts',
    type: 'base',
    fields: [
      { name: 'title', type: 'text', required: true },
      { name: 'views', type: 'number', max: 100 },
      { name: 'published', type: 'bool' },
      { name: 'meta', type: 'json' },
    ],
  });
  const posts = pb.collection<Post>('posts');
  for (let n = 1; n <= count; n += 1) {
    await posts.create({ title: `post ${n}`, views: 10 * n, published: n % 2 === 0, meta: { n, text: 'x' } });
  }
  return { service, pb, posts };
}

function titlesOf({ items }: { readonly items: readonly Post[] }): readonly string[] {
  return items.map(({ title }) => title);
}

function countedFetch(count: () => void): typeof fetch {
  return (...args) => {
    count();
    return fetch(...args);
  };
}
