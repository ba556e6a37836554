// Both engines: deletes follow relations under locks.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { touchedMax } from '../../src/records/delete-record.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const failed = (where = ''): string =>
  `Failed to delete record. Make sure that the record is not part of a required relation reference${where}.`;
const missing = {
  code: 'validation_missing_rel_records',
  message: 'Failed to find all relation records with the provided ids.',
};
const id = (letter: string): string => letter.repeat(15);

interface Stage {
  readonly service: TestService;
  readonly clock: MovableClock;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<TestAnswer>;
  /** Makes a record, whose id is this letter 15 times. */
  readonly add: (collection: string, letter: string, values?: object) => Promise<TestAnswer>;
  readonly remove: (collection: string, letter: string) => Promise<TestAnswer>;
  /** What happened since the last look, in order: `update posts a 2`. */
  readonly news: () => Promise<readonly string[]>;
}

/** Collections `authors` and `posts`, the ids of which are their names; `fields` are those of the posts. */
async function setUp(t: TestContext, fields: readonly object[], more: object = {}): Promise<Stage> {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock } });
  const ask = (method: string, path: string, body?: unknown): Promise<TestAnswer> =>
    service.request(`/api/collections${path}`, { method, token: true, body });
  for (const name of ['authors', 'posts']) {
    const own = name === 'posts' ? { fields: [{ name: 'title', type: 'text' }, ...fields], ...more } : {};
    const made = await ask('POST', '', { id: name, name, ...open, ...own });
    assert.equal(made.status, 200, made.text);
  }
  let seen = 0;
  const news = async (): Promise<readonly string[]> => {
    const all = await service.withInstance('default', ({ database }) =>
      database.tuples(sql`
        SELECT kind, collection_name, record, revision FROM ${database.names.table('$event')} ORDER BY position`),
    );
    const fresh = all.slice(seen);
    seen = all.length;
    return fresh.map(([kind, collection, record, revision]) =>
      [String(kind).slice('record.'.length), collection, String(record).slice(0, 1), revision].join(' '),
    );
  };
  return {
    service,
    clock,
    ask,
    add: async (collection, letter, values = {}) => {
      const made = await ask('POST', `/${collection}/records`, { id: id(letter), ...values });
      assert.equal(made.status, 201, made.text);
      return made;
    },
    remove: (collection, letter) => ask('DELETE', `/${collection}/records/${id(letter)}`),
    news,
  };
}

const author = { name: 'author', type: 'relation', collectionId: 'authors' };
const readers = { name: 'readers', type: 'relation', collectionId: 'authors', maxSelect: 2_000 };
const parent = { name: 'parent', type: 'relation', collectionId: 'posts' };

test('section 9, I-11: records that are referred to exist, or the field is refused, on create and on update', async (t) => {
  const { ask, add, news } = await setUp(t, [author, readers, parent]);
  for (const letter of ['a', 'b']) await add('authors', letter);
  await add('posts', 'p', { author: id('a'), readers: [id('b'), id('a'), id('b')] });
  await news();
  const many = Array.from({ length: 1_000 }, (_, index) => `none${index}`);
  const refused: readonly (readonly [object, readonly string[]])[] = [
    [{ author: id('z') }, ['author']],
    [{ author: id('p') }, ['author']],
    [{ author: id('A') }, ['author']],
    [{ readers: [id('a'), id('z')] }, ['readers']],
    [{ readers: many, author: id('z'), parent: id('a') }, ['author', 'readers', 'parent']],
    [{ author: `' OR ''='` }, ['author']],
  ];
  for (const [body, names] of refused) {
    const made = await ask('POST', '/posts/records', body);
    const changed = await ask('PATCH', `/posts/records/${id('p')}`, body);
    for (const [answer, verb] of [[made, 'create'] as const, [changed, 'update'] as const]) {
      assert.deepEqual([answer.status, answer.json.message], [400, `Failed to ${verb} record.`]);
      assert.deepEqual(answer.json.data, Object.fromEntries(names.map((name) => [name, missing])));
    }
  }
  assert.deepEqual(await news(), []);
  // Itself, once it exists.
  assert.equal((await ask('POST', '/posts/records', { id: id('q'), parent: id('q') })).status, 400);
  assert.equal((await ask('PATCH', `/posts/records/${id('p')}`, { parent: id('p') })).status, 200);
});

test('section 6: a deleted record is taken out of all that refer to it, with one update each, before its own event', async (t) => {
  const { ask, add, remove, news, clock } = await setUp(t, [author, { ...readers, minSelect: 2 }]);
  for (const letter of ['a', 'b']) await add('authors', letter);
  const both = [id('a'), id('b')];
  await add('posts', 'p', { author: id('a') });
  await add('posts', 'q', { author: id('a'), readers: both });
  await add('posts', 'r', { author: id('b'), readers: both });
  await add('posts', 's', { author: id('b') });
  const before = await ask('GET', '/posts/records?sort=id');
  await news();
  clock.move(1_000);
  assert.equal((await remove('authors', 'a')).status, 204);
  assert.deepEqual(await news(), [
    'update posts p 2',
    'update posts q 2',
    'update posts r 2',
    'delete authors a 2',
  ]);
  const after = await ask('GET', '/posts/records?sort=id');
  // A page of posts, which have these fields.
  const shown = after.json.items as readonly { author: string; readers: string[]; updated: string }[];
  assert.deepEqual(
    shown.map((post) => [post.author, post.readers]),
    [
      ['', []],
      // Fewer than it asks for: nobody could mend that in a delete.
      ['', [id('b')]],
      [id('b'), [id('b')]],
      [id('b'), []],
    ],
  );
  assert.deepEqual(shown[3], before.json.items[3]);
  const moments = shown.map(({ updated }) => Date.parse(updated) - clock.now());
  assert.deepEqual(moments, [0, 0, 0, -1_000]);
  assert.equal((await ask('GET', `/posts/records/${id('q')}`)).headers.get('etag')?.slice(0, 3), '"2-');
});

test('section 6: what is left without a record goes with it, if its relation says so, and what refers to that, too', async (t) => {
  const cascade = { cascadeDelete: true };
  const fields = [
    { ...author, ...cascade, required: true },
    { ...readers, ...cascade },
    { ...parent, ...cascade },
  ];
  const { ask, add, remove, news } = await setUp(t, fields);
  for (const letter of ['a', 'b']) await add('authors', letter);
  await add('posts', 'p', { author: id('a') });
  await add('posts', 'q', { author: id('b'), parent: id('p') });
  await add('posts', 'r', { author: id('b'), readers: [id('a'), id('b')] });
  await add('posts', 's', { author: id('b'), readers: [id('a')] });
  await add('posts', 't', { author: id('b'), parent: id('q') });
  await add('posts', 'u', { author: id('b') });
  await news();
  assert.equal((await remove('authors', 'a')).status, 204);
  assert.deepEqual(await news(), [
    'delete posts t 2',
    'delete posts q 2',
    'delete posts p 2',
    'update posts r 2',
    'delete posts s 2',
    'delete authors a 2',
  ]);
  const left = await ask('GET', '/posts/records?sort=id');
  assert.deepEqual([left.json.totalItems, left.json.items[0].readers], [2, [id('b')]]);
});

test('section 6: a record that has to have one keeps the record it has from being deleted, and nothing is changed', async (t) => {
  const { ask, add, remove, news, service } = await setUp(t, [author, { ...readers, required: true }]);
  for (const letter of ['a', 'b']) await add('authors', letter);
  await add('posts', 'p', { author: id('a'), readers: [id('a'), id('b')] });
  await add('posts', 'q', { author: id('a'), readers: [id('b')] });
  const before = await ask('GET', '/posts/records');
  await news();
  const refused = await remove('authors', 'b');
  const named = failed(', as it is in the field readers of posts');
  assert.deepEqual(refused.json, { data: {}, message: named, status: 400 });
  assert.equal((await ask('GET', '/posts/records')).text, before.text);
  assert.deepEqual(await news(), []);
  const requests = [
    { method: 'DELETE', url: `/api/records/posts/${id('q')}` },
    { method: 'DELETE', url: `/api/records/authors/${id('b')}` },
  ];
  assert.equal((await service.request('/api/batch', { method: 'POST', body: { requests } })).status, 200);
  assert.deepEqual(await news(), ['delete posts q 2', 'update posts p 2', 'delete authors b 2']);
});

test('a refused delete names what holds the record only to callers who may view that', async (t) => {
  const { ask, add, service } = await setUp(t, [{ ...author, required: true }]);
  await add('authors', 'a');
  await add('posts', 'p', { author: id('a'), title: 'secret' });
  const whole = ', as it is in the field author of posts';
  const cases: readonly (readonly [rules: object, field: object, where: string])[] = [
    [{ viewRule: '' }, {}, whole],
    [{ viewRule: "title = 'secret'" }, {}, whole],
    [{ viewRule: "title = 'public'" }, {}, ''],
    [{ viewRule: null }, {}, ''],
    [{ viewRule: '' }, { hidden: true }, ''],
  ];
  const title = { name: 'title', type: 'text' };
  for (const [rules, more, where] of cases) {
    const fields = [title, { ...author, required: true, ...more }];
    assert.equal((await ask('PATCH', '/posts', { ...rules, fields })).status, 200);
    const at = `/api/collections/authors/records/${id('a')}`;
    const refused = await service.request(at, { method: 'DELETE' });
    assert.deepEqual([refused.status, refused.json.message], [400, failed(where)], JSON.stringify(rules));
    const told = await service.request(at, { method: 'DELETE', token: true });
    assert.equal(told.json.message, failed(whole));
  }
});

test('I-10 records that refer to themselves or to each other go once each', async (t) => {
  const { ask, add, remove, news } = await setUp(t, [{ ...parent, cascadeDelete: true, required: true }]);
  await ask('PATCH', '/posts', { fields: [{ ...parent, cascadeDelete: true }] });
  for (const letter of ['a', 'b', 'c', 'd']) await add('posts', letter);
  for (const [letter, to] of ['ab', 'bc', 'ca', 'dd'])
    await ask('PATCH', `/posts/records/${id(letter!)}`, { parent: id(to!) });
  await news();
  assert.equal((await remove('posts', 'd')).status, 204);
  assert.deepEqual(await news(), ['delete posts d 3']);
  assert.equal((await remove('posts', 'a')).status, 204);
  assert.deepEqual(await news(), ['delete posts b 3', 'delete posts c 3', 'delete posts a 3']);
  // And where it is only taken out, of itself it is not.
  await ask('PATCH', '/posts', { fields: [parent] });
  for (const letter of ['e', 'f']) await add('posts', letter);
  for (const [letter, to] of ['ef', 'fe'])
    await ask('PATCH', `/posts/records/${id(letter!)}`, { parent: id(to!) });
  await news();
  assert.equal((await remove('posts', 'e')).status, 204);
  assert.deepEqual(await news(), ['update posts f 3', 'delete posts e 3']);
});

test('a record that refers to one that goes in two ways goes once, or is changed once for each that goes', async (t) => {
  const cascade = { cascadeDelete: true };
  const { ask, add, remove, news } = await setUp(t, [
    { ...author, ...cascade },
    { ...parent, ...cascade },
    { ...readers, name: 'others' },
    { ...parent, name: 'source' },
  ]);
  for (const letter of ['a', 'b']) await add('authors', letter);
  await add('posts', 'p', { author: id('a') });
  await add('posts', 'q', { author: id('a'), parent: id('p') });
  await add('posts', 'r', { author: id('b'), others: [id('a')], source: id('p') });
  await news();
  assert.equal((await remove('authors', 'a')).status, 204);
  const happened = await news();
  assert.deepEqual(happened, [
    'delete posts q 2',
    'update posts r 2',
    'delete posts p 2',
    'update posts r 3',
    'delete authors a 2',
  ]);
  const { json } = await ask('GET', `/posts/records/${id('r')}`);
  assert.deepEqual([json.author, json.others, json.source], [id('b'), [], '']);
});

test('an id that stands in the text of a list without being in the list is not taken for one of it', async (t) => {
  const { ask, add, remove, news } = await setUp(t, [readers]);
  const { json } = await ask('GET', '/authors');
  // Fields of a definition, the first of which is the id.
  const [first, ...rest] = json.fields as readonly object[];
  const custom = { ...first, pattern: '^[a-z,]+$', min: 1, autogeneratePattern: '' };
  const changed = await ask('PATCH', '/authors', { fields: [custom, ...rest] });
  assert.equal(changed.status, 200, changed.text);
  for (const letter of ['a', 'b']) await add('authors', letter);
  await ask('POST', '/authors/records', { id: ',' });
  await add('posts', 'p', { readers: [id('a'), id('b')] });
  await news();
  assert.equal((await ask('DELETE', `/authors/records/${encodeURIComponent(',')}`)).status, 204);
  assert.deepEqual(await news(), ['delete authors , 2']);
  assert.equal((await remove('authors', 'a')).status, 204);
  assert.deepEqual(await news(), ['update posts p 2', 'delete authors a 2']);
});

test('a record that is given up by a unique index keeps the other one, and tells nothing of that index', async (t) => {
  const index = 'CREATE UNIQUE INDEX by_author ON posts (author)';
  const { add, remove, news } = await setUp(t, [author], { indexes: [index] });
  await add('authors', 'a');
  await add('posts', 'p');
  await add('posts', 'q', { author: id('a') });
  await news();
  assert.match(
    (await remove('authors', 'a')).json.message,
    /^Failed to delete record\. .*, as it is in the field \w+ of posts\.$/,
  );
  assert.deepEqual(await news(), []);
});

test('whoever may delete a record need not be allowed to change what refers to it', async (t) => {
  const { service, ask, add, news } = await setUp(t, [author], { updateRule: null, deleteRule: null });
  await add('authors', 'a');
  await add('posts', 'p', { author: id('a') });
  await news();
  const asGuest = await service.request(`/api/records/authors/${id('a')}`, { method: 'DELETE' });
  assert.equal(asGuest.status, 204);
  assert.deepEqual(await news(), ['update posts p 2', 'delete authors a 2']);
  assert.equal((await ask('GET', `/posts/records/${id('p')}`)).json.author, '');
});

test('creates that refer to a record which is deleted meanwhile leave no id of what is not there', async (t) => {
  const { service, ask, add } = await setUp(t, [author, readers]);
  await add('authors', 'z');
  for (let round = 0; round < 8; round += 1) {
    await add('authors', 'a');
    const create = (): Promise<TestAnswer> =>
      ask('POST', '/posts/records', { author: id('a'), readers: [id('z'), id('a')] });
    const [deleted, ...made] = await Promise.all([
      service.request(`/api/records/authors/${id('a')}`, { method: 'DELETE' }),
      ...Array.from({ length: 6 }, create),
    ]);
    assert.equal(deleted.status, 204);
    for (const { status, json } of made)
      if (status !== 201) assert.deepEqual([status, json.data], [400, { author: missing, readers: missing }]);
  }
  const { json } = await ask('GET', '/posts/records?perPage=1000');
  for (const post of json.items) assert.deepEqual([post.author, post.readers], ['', [id('z')]]);
});

test('creates that refer to a collection which is truncated meanwhile leave no id of what is not there', async (t) => {
  const { ask, add } = await setUp(t, [author]);
  for (let round = 0; round < 8; round += 1) {
    const there = await ask('GET', `/authors/records/${id('a')}`);
    if (there.status === 404) await add('authors', 'a');
    const create = (): Promise<TestAnswer> => ask('POST', '/posts/records', { author: id('a') });
    const answers = await Promise.all([ask('DELETE', '/authors/truncate'), create(), create(), create()]);
    for (const { status, text } of answers) assert.ok([201, 204, 400].includes(status), text);
    const authors = await ask('GET', '/authors/records');
    const posts = await ask('GET', '/posts/records?perPage=1000');
    if (authors.json.totalItems === 0) assert.equal(posts.json.totalItems, 0);
    for (const post of posts.json.items) await ask('DELETE', `/posts/records/${post.id}`);
  }
});

/** Adds this many posts, twenty at a time. */
async function addPosts({ service }: Stage, count: number, bodyOf: (index: number) => object): Promise<void> {
  for (let at = 0; at < count; at += 20) {
    const requests = Array.from({ length: Math.min(20, count - at) }, (_, index) => ({
      method: 'POST',
      url: '/api/collections/posts/records',
      body: bodyOf(at + index),
    }));
    const made = await service.request('/api/batch', { method: 'POST', body: { requests } });
    assert.equal(made.status, 200, made.text);
  }
}

test(`I-10 a delete in a batch touches up to ${touchedMax} records, and beyond that is refused as a whole`, async (t) => {
  const stage = await setUp(t, [author]);
  const { ask, add, remove, news } = stage;
  await add('authors', 'a');
  await addPosts(stage, touchedMax, () => ({ author: id('a') }));
  await add('posts', 'p', { author: id('a') });
  await news();
  const requests = [{ method: 'DELETE', url: `/api/records/authors/${id('a')}` }];
  const refused = await stage.service.request('/api/batch', { method: 'POST', body: { requests } });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /Failed to delete record\. More than 1000 records refer to it,/);
  assert.deepEqual(await news(), []);
  await remove('posts', 'p');
  assert.equal((await remove('authors', 'a')).status, 204);
  const happened = await news();
  assert.deepEqual([happened.length, happened.at(-1)], [touchedMax + 2, 'delete authors a 2']);
  assert.equal((await ask('GET', `/posts/records?filter=author!=''`)).json.totalItems, 0);
});

test('I-10 a long chain goes without running out of stack, also one that is too long for one transaction', async (t) => {
  const stage = await setUp(t, [{ ...parent, cascadeDelete: true }]);
  const { ask, news } = stage;
  const chainId = (index: number): string => `chain${String(index).padStart(10, '0')}`;
  const link = (index: number): object => ({
    id: chainId(index),
    parent: index === 0 ? '' : chainId(index - 1),
  });
  await addPosts(stage, touchedMax + 2, link);
  await news();
  const path = (index: number): string => `/posts/records/${chainId(index)}`;
  assert.equal((await ask('DELETE', path(2))).status, 204);
  assert.equal((await news()).length, touchedMax);
  await addPosts(stage, touchedMax, (index) => ({ ...link(index + 2) }));
  await news();
  // On a busy machine it goes on as a job.
  assert.ok([202, 204].includes((await ask('DELETE', path(0))).status));
  let deleted = 0;
  await eventually('the chain is gone', async () => (deleted += (await news()).length) >= touchedMax + 2);
  assert.equal(deleted, touchedMax + 2);
});
