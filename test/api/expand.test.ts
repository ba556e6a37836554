// Both engines: related records are read by SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsOf, longId, startBlog, type Ask } from '../support/blog.ts';

interface Shown {
  readonly id: string;
  readonly expand?: Readonly<Record<string, Shown | readonly Shown[]>>;
}

/** What stands in `expand`, nested: `(author:ann(team:t1))`. */
function outline({ expand }: Shown): string {
  if (expand === undefined) return '';
  const parts = Object.entries(expand).map(([name, related]) => {
    const all = [related].flat();
    const ids = all.map((one) => `${one.id.replace(/0+$/, '')}${outline(one)}`).join(' ');
    return `${name}:${Array.isArray(related) ? `[${ids}]` : ids}`;
  });
  return `(${parts.join(', ')})`;
}

async function expanded(ask: Ask, post: string, expand: string): Promise<string> {
  const { status, json, text } = await ask(
    'GET',
    `/posts/records/${longId(post)}?expand=${encodeURIComponent(expand)}`,
  );
  assert.equal(status, 200, text);
  // A record, as the API shows it.
  return outline(json as Shown);
}

test('expand shows related records inside, direct, back and nested', async (t) => {
  const blog = await startBlog(t);
  const cases: readonly (readonly [post: string, expand: string, shown: string])[] = [
    ['p1', 'author', '(author:ann)'],
    ['p1', 'author.team', '(author:ann(team:t1))'],
    ['p1', 'author, author.team ,readers', '(author:ann(team:t1), readers:[ann bob])'],
    ['p1', 'comments_via_post.by', '(comments_via_post:[c1(by:bob) c2(by:cat)])'],
    ['p1', 'comments(post)', '(comments_via_post:[c1 c2])'],
    ['p4', 'author,readers.team', '(readers:[ann(team:t1) bob(team:t1) cat(team:t2)])'],
    ['p4', 'author', '()'],
    ['p3', 'readers', '()'],
    ['p1', 'title', ''],
    ['p1', 'nothing', ''],
    ['p1', 'author.nothing', ''],
    ['p1', 'author,author.nothing', ''],
    ['p1', 'author.nothing,readers,author.team', '(author:ann(team:t1), readers:[ann bob])'],
    ['p1', '.,,author..team', '(author:ann)'],
    [
      'p1',
      'readers.posts_via_readers.author',
      '(readers:[ann(posts_via_readers:[p1(author:ann) p4()]) bob(posts_via_readers:[p1(author:ann) p4()])])',
    ],
  ];
  for (const [post, expand, shown] of cases)
    assert.equal(await expanded(blog.ask, post, expand), shown, expand);
  const deep = `${'author.posts_via_author.'.repeat(4)}author`;
  assert.equal((await expanded(blog.ask, 'p1', deep)).match(/author:/g)?.length, 6, 'six levels and no more');
});

test('related records come in the order of the relation, expand stands last, and lists and writes show it as well', async (t) => {
  const { ask } = await startBlog(t);
  const readers = ['cat', 'ann', 'bob'].map(longId);
  const changed = await ask('PATCH', `/posts/records/${longId('p1')}?expand=readers,author`, { readers });
  assert.deepEqual(idsOf(changed.json.expand.readers), readers);
  assert.equal(Object.keys(changed.json).at(-1), 'expand');
  assert.deepEqual(Object.keys(changed.json.expand.author).slice(0, 3), [
    'collectionId',
    'collectionName',
    'id',
  ]);
  const made = await ask('POST', '/posts/records?expand=author', { author: longId('bob') });
  assert.equal(made.json.expand.author.name, 'Bob');
  const list = await ask(
    'GET',
    '/posts/records?expand=author.team&fields=title,expand.author.expand.team.name',
  );
  const [first, second] = list.json.items;
  assert.deepEqual(
    [first, second],
    [
      { title: 'one', expand: { author: { expand: { team: { name: 'red' } } } } },
      { title: 'two', expand: { author: { expand: { team: { name: 'red' } } } } },
    ],
  );
});

test('Q-40 what the view rule of a related record does not show, and hidden fields, are left out', async (t) => {
  const blog = await startBlog(t);
  const { ask, askAsGuest } = blog;
  await ask('PATCH', '/people', { viewRule: "@request.context = 'expand' && team.name = 'red'" });
  assert.equal(await expanded(blog.askAsGuest, 'p4', 'readers'), '(readers:[ann bob])');
  assert.equal(await expanded(blog.ask, 'p4', 'readers'), '(readers:[ann bob cat])');
  const path = `/posts/records/${longId('p1')}?expand=author`;
  assert.equal((await askAsGuest('GET', path)).json.expand.author.nickname, undefined);
  assert.equal((await ask('GET', path)).json.expand.author.nickname, 'A');
  await ask('PATCH', '/people', { viewRule: null });
  assert.equal(await expanded(blog.askAsGuest, 'p4', 'readers'), '', 'a closed collection is no path');
  await ask('PATCH', '/teams', { viewRule: null });
  await ask('PATCH', '/people', { viewRule: '' });
  assert.equal(await expanded(blog.askAsGuest, 'p1', 'author.team'), '');
  assert.equal(await expanded(blog.ask, 'p1', 'author.team'), '(author:ann(team:t1))');
  assert.equal(await expanded(blog.askAsGuest, 'p4', 'author.team,readers'), '(readers:[ann bob cat])');
  const { json } = await ask('GET', '/posts');
  const definitions: readonly { readonly name: string }[] = json.fields;
  const fields = definitions.map((field) => ({ ...field, hidden: field.name === 'author' }));
  await ask('PATCH', '/posts', { fields });
  assert.equal(await expanded(blog.askAsGuest, 'p1', 'author'), '', 'a hidden relation is no relation');
  assert.equal(await expanded(blog.ask, 'p1', 'author'), '(author:ann)');
});

test('a back relation is one record where no two may refer to the same one, also where many refer to none', async (t) => {
  const { ask, select } = await startBlog(t);
  for (const title of ['five', 'six'])
    assert.equal((await ask('POST', '/posts/records', { title })).status, 201);
  const relatedOf = async (index: string): Promise<unknown> => {
    const saved = await ask('PATCH', '/posts', { indexes: [index] });
    assert.equal(saved.status, 200, saved.text);
    const { json } = await ask('GET', `/people/records/${longId('ann')}?expand=posts_via_author`);
    return json.expand.posts_via_author.title ?? json.expand.posts_via_author.length;
  };
  assert.equal(await relatedOf("CREATE UNIQUE INDEX one_post ON posts (author) WHERE author != ''"), 'one');
  const filter = (asked: string): Promise<string> => select(asked, { collection: 'people' });
  assert.equal(await filter("posts_via_author.title = 'one'"), 'ann');
  assert.equal(await filter("posts_via_author.title = ''"), 'dan');
  assert.equal(
    await select('', { collection: 'people', sort: '-posts_via_author.title' }),
    'bob cat ann dan',
  );
  assert.equal(await relatedOf("CREATE UNIQUE INDEX one_post ON posts (author) WHERE title = 'one'"), 1);
  assert.equal(await relatedOf("CREATE UNIQUE INDEX one_post ON posts (author) WHERE author > 'b'"), 1);
});
