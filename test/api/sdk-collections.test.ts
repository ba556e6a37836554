import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import PocketBase, { type CollectionModel } from 'pocketbase';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestService } from '../support/service.ts';

interface Stage {
  readonly service: TestService;
  readonly pb: PocketBase;
}

type Field = Readonly<Record<string, unknown>>;

describe('collections', () => {
  test('one is created with an id, dates and rules for superusers only', async (t) => {
    const { pb } = await setUp(t);
    const created = await pb.collections.create({
      name: 'posts',
      type: 'base',
      fields: [{ name: 'title', type: 'text', required: true }],
      indexes: ['CREATE UNIQUE INDEX idx_title ON posts (title)'],
    });
    assert.match(created.id, /^pbc_\d+$/);
    assert.deepEqual(namesOf(created), ['id', 'title', 'created', 'updated']);
    assert.deepEqual(created.indexes, ['CREATE UNIQUE INDEX `idx_title` ON `posts` (`title`)']);
    const { listRule, viewRule, createRule, updateRule, deleteRule } = created;
    assert.deepEqual(
      [listRule, viewRule, createRule, updateRule, deleteRule],
      [null, null, null, null, null],
    );
    assert.deepEqual(await pb.collections.getOne('posts'), created);
    assert.deepEqual(await pb.collections.getOne('POSTS'), created);
    assert.deepEqual(await pb.collections.getOne(created.id), created);
  });

  test('the query of a view is tried', async (t) => {
    const { pb } = await setUp(t);
    await pb.collections.create({ name: 'posts', type: 'base' });
    // The SDK declares the answer as a list.
    const answer: object = await pb.collections.dryRunViewQuery('SELECT id FROM posts');
    assert.deepEqual(Object.keys(answer), ['fields', 'sample']);
    assert.equal((await refusalOf(pb.collections.dryRunViewQuery('SELECT 1'))).status, 400);
  });

  test('they are listed, filtered, sorted and found as records are', async (t) => {
    const { pb } = await setUp(t);
    for (const name of ['alpha', 'beta', 'gamma']) await pb.collections.create({ name, type: 'base' });
    const page = await pb.collections.getList(1, 2, {
      sort: '-name',
      filter: 'type = "base" && system = false',
    });
    assert.deepEqual(
      [page.items.map(({ name }) => name), page.totalItems, page.totalPages],
      [['gamma', 'beta'], 3, 2],
    );
    const all = await pb.collections.getFullList({ batch: 2, sort: 'name' });
    assert.deepEqual(
      all.map(({ name }) => name),
      ['_authOrigins', '_externalAuths', '_mfas', '_otps', '_superusers', 'alpha', 'beta', 'gamma', 'users'],
    );
    const found = await pb.collections.getFirstListItem(pb.filter('name = {:name}', { name: 'beta' }));
    assert.equal(found.name, 'beta');
    assert.equal((await refusalOf(pb.collections.getFirstListItem('name = "delta"'))).status, 404);
    assert.deepEqual(await pb.collections.getOne('beta', { fields: 'name' }), { name: 'beta' });
  });

  test('one made from a scaffold is imported under another name, emptied, and deleted when it is missing', async (t) => {
    const { pb } = await setUp(t);
    const { base } = await pb.collections.getScaffolds();
    const [{ name, logo } = { name: '', logo: '' }] = await pb.collections.getAllOAuth2Providers();
    assert.deepEqual([name, logo.startsWith('<svg ')], ['apple', true]);
    const created = await pb.collections.create({ ...base, name: 'posts' });
    await pb.collection('posts').create({});
    assert.equal(await pb.collections.import([{ ...created, name: 'articles' }]), true);
    assert.equal((await pb.collection('articles').getList()).totalItems, 1);
    assert.equal(await pb.collections.truncate('articles'), true);
    assert.equal((await pb.collection('articles').getList()).totalItems, 0);
    const refused = await refusalOf(pb.collections.import([{ ...created, id: 'other', name: '' }]));
    assert.deepEqual([refused.status, refused.message], [400, 'Failed to import collections.']);
    const other = { ...created, id: 'other', name: 'notes' };
    assert.equal(await pb.collections.import([other], true), true);
    const all = await pb.collections.getFullList({ filter: 'system = false' });
    assert.deepEqual(
      all.map(({ name }) => name),
      ['notes'],
    );
  });

  test('a renamed one keeps its records, its id and its indexes, and its old name is free', async (t) => {
    const { pb } = await setUp(t);
    const created = await createPosts(pb, ['CREATE INDEX idx_a ON posts (title)']);
    const post = await pb.collection('posts').create({ title: 'kept', views: 3 });
    const renamed = await pb.collections.update('posts', { name: 'articles' });
    assert.equal(renamed.id, created.id);
    assert.deepEqual(renamed.indexes, ['CREATE INDEX `idx_a` ON `articles` (`title`)']);
    const kept = await pb.collection('articles').getOne(post.id);
    assert.deepEqual([kept['title'], kept['views'], kept.collectionName], ['kept', 3, 'articles']);
    assert.equal((await refusalOf(pb.collection('posts').getList())).status, 404);
    assert.equal((await pb.collection(created.id).getOne(post.id)).id, post.id);
    await pb.collections.create({ id: 'another', name: 'posts', type: 'base' });
    assert.equal((await pb.collection('posts').getList()).totalItems, 0);
  });

  test('a renamed field keeps its values, and an index on it follows', async (t) => {
    const { pb } = await setUp(t);
    const created = await createPosts(pb, ['CREATE UNIQUE INDEX idx_a ON posts (title)']);
    const post = await pb.collection('posts').create({ title: 'kept', views: 3 });
    const fields = fieldsOf(created).map((field) =>
      field['name'] === 'title' ? { ...field, name: 'heading' } : field,
    );
    const changed = await pb.collections.update('posts', { fields });
    assert.deepEqual(namesOf(changed), ['id', 'heading', 'views', 'created', 'updated']);
    assert.deepEqual(changed.indexes, ['CREATE UNIQUE INDEX `idx_a` ON `posts` (`heading`)']);
    const kept = await pb.collection('posts').getOne(post.id);
    assert.deepEqual([kept['heading'], kept['views'], 'title' in kept], ['kept', 3, false]);
    const found = await pb.collection('posts').getList(1, 1, { filter: 'heading = "kept"' });
    assert.equal(found.totalItems, 1);
    assert.equal((await refusalOf(pb.collection('posts').create({ heading: 'kept' }))).status, 400);
  });

  test('a dropped field is gone with its values, the others keep theirs; a new one starts empty', async (t) => {
    const { pb } = await setUp(t);
    const created = await createPosts(pb);
    const post = await pb.collection('posts').create({ title: 'kept', views: 3 });
    const without = fieldsOf(created).filter(({ name }) => name !== 'views');
    await pb.collections.update('posts', { fields: [...without, { name: 'done', type: 'bool' }] });
    const kept = await pb.collection('posts').getOne(post.id);
    assert.deepEqual([kept['title'], 'views' in kept, kept['done']], ['kept', false, false]);
    // A field of the same name and type comes back as another one, not with the values of before.
    await pb.collections.update('posts', { fields: [...without, { name: 'views', type: 'number' }] });
    const again = await pb.collection('posts').getOne(post.id);
    assert.deepEqual([again['title'], again['views'], 'done' in again], ['kept', 0, false]);
  });

  test('a unique index refuses the second record, an update to it, and to be made over equal values', async (t) => {
    const { pb } = await setUp(t);
    await createPosts(pb, ['CREATE UNIQUE INDEX idx_a ON posts (title)']);
    const posts = pb.collection('posts');
    await posts.create({ title: 'one', views: 1 });
    const two = await posts.create({ title: 'two', views: 1 });
    for (const ask of [() => posts.create({ title: 'one' }), () => posts.update(two.id, { title: 'one' })]) {
      const refusal = await refusalOf(ask());
      assert.equal(refusal.status, 400);
      assert.deepEqual(refusal.data['data'], {
        title: { code: 'validation_not_unique', message: 'Value must be unique.' },
      });
    }
    const indexes = ['CREATE UNIQUE INDEX idx_b ON posts (views)'];
    const refusal = await refusalOf(pb.collections.update('posts', { indexes }));
    assert.deepEqual([refusal.status, refusal.message], [400, 'Failed to update collection.']);
    assert.equal((await posts.getList()).totalItems, 2);
    assert.deepEqual((await pb.collections.getOne('posts')).indexes, [
      'CREATE UNIQUE INDEX `idx_a` ON `posts` (`title`)',
    ]);
  });

  test('a deleted one is gone with its records, and a new one of its name is empty', async (t) => {
    const { pb } = await setUp(t);
    await createPosts(pb);
    await pb.collection('posts').create({ title: 'gone' });
    assert.equal(await pb.collections.delete('posts'), true);
    assert.equal((await refusalOf(pb.collections.getOne('posts'))).status, 404);
    assert.equal((await refusalOf(pb.collections.delete('posts'))).status, 404);
    assert.equal((await refusalOf(pb.collection('posts').getList())).status, 404);
    await createPosts(pb);
    assert.equal((await pb.collection('posts').getList()).totalItems, 0);
  });

  test('a definition that is wrong is refused with the place of each problem', async (t) => {
    const { pb } = await setUp(t);
    await createPosts(pb);
    const cases = [
      { definition: { name: '' }, path: ['name'], code: 'validation_required' },
      { definition: { name: 'a b' }, path: ['name'], code: 'validation_match_invalid' },
      { definition: { name: 'Posts' }, path: ['name'], code: 'validation_collection_name_exists' },
      { definition: { name: 'a', type: 'none' }, path: ['type'], code: 'validation_in_invalid' },
      {
        definition: {
          name: 'a',
          fields: [
            { name: 'b', type: 'text' },
            { name: 'B', type: 'number' },
          ],
        },
        path: ['fields', '2', 'name'],
        code: 'validation_duplicated_field_name',
      },
      {
        definition: { name: 'a', indexes: ['DROP TABLE posts'] },
        path: ['indexes', '0'],
        code: 'validation_invalid_index_expression',
      },
    ];
    for (const { definition, path, code } of cases) {
      const refusal = await refusalOf(pb.collections.create(definition));
      assert.deepEqual([refusal.status, refusal.message], [400, 'Failed to create collection.']);
      let problem: unknown = refusal.response['data'];
      for (const name of path) problem = memberOf(problem, name);
      assert.equal(memberOf(problem, 'code'), code, JSON.stringify(refusal.response));
    }
    assert.equal((await pb.collections.getFullList({ filter: 'system = false' })).length, 2);
  });

  test('the system’s own cannot be renamed or deleted', async (t) => {
    const { pb } = await setUp(t);
    const refusal = await refusalOf(pb.collections.update('_superusers', { name: 'people' }));
    assert.equal(refusal.response['data'].name.code, 'validation_collection_system_name_change');
    assert.equal((await refusalOf(pb.collections.delete('_superusers'))).status, 400);
    assert.equal((await pb.collections.getOne('_superusers')).system, true);
  });

  test('guests may neither see nor change any', async (t) => {
    const { service, pb } = await setUp(t);
    await createPosts(pb);
    const guest = new PocketBase(service.url).collections;
    const asked = [
      () => guest.getList(),
      () => guest.getOne('posts'),
      () => guest.create({ name: 'mine', type: 'base' }),
      () => guest.update('posts', { name: 'mine' }),
      () => guest.delete('posts'),
    ];
    for (const ask of asked) {
      const { status, message } = await refusalOf(ask());
      assert.deepEqual([status, message], [401, 'The request requires valid record authorization token.']);
    }
    assert.equal((await pb.collections.getOne('posts')).name, 'posts');
  });
});

async function setUp(t: TestContext): Promise<Stage> {
  const service = await startService(t);
  return { service, pb: await superuserSdk(service) };
}

function createPosts(pb: PocketBase, indexes: readonly string[] = []): Promise<CollectionModel> {
  return pb.collections.create({
    name: 'posts',
    type: 'base',
    fields: [
      { name: 'title', type: 'text' },
      { name: 'views', type: 'number' },
    ],
    indexes,
  });
}

function fieldsOf(collection: CollectionModel): readonly Field[] {
  return collection.fields;
}

function namesOf(collection: CollectionModel): readonly unknown[] {
  return fieldsOf(collection).map(({ name }) => name);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
