// Both engines: orders compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsOf, startBlog, type Blog } from '../support/blog.ts';

/** Ids of all pages, one after the other, and what the pages were like. */
async function walk({ ask }: Blog, query: string): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { status, json, text } = await ask('GET', `/posts/records?${query}&cursor=${cursor}`);
    assert.equal(status, 200, text);
    assert.deepEqual(Object.keys(json), ['items', 'perPage', 'nextCursor']);
    assert.ok(json.items.length > 0 && json.items.length <= json.perPage, 'no page is empty');
    ids.push(...idsOf(json.items));
    assert.ok(ids.length <= 200, 'a walk has an end');
    cursor = json.nextCursor;
  }
  return ids;
}

test('A16 a cursor walks every order from its beginning to its end, each record once', async (t) => {
  const blog = await startBlog(t);
  const titles = ['', 'a', 'a', 'B', 'é', '𝄞', 'a', ''];
  for (const [index, title] of titles.entries())
    await blog.ask('POST', '/posts/records', { title, kind: index % 2 === 0 ? 'x' : 'y' });
  const sorts = [
    '',
    'title',
    '-title',
    'kind,-title',
    '-kind,title',
    'author.age',
    '-author.age,title',
    '-created',
    '@rowid',
    '-@rowid',
    'tags:length,-author.team.name',
  ];
  for (const sort of sorts) {
    const all = await blog.ask('GET', `/posts/records?sort=${sort}&perPage=200`);
    const wanted = idsOf(all.json.items);
    assert.equal(wanted.length, 12);
    for (const perPage of [1, 5, 12])
      for (const fields of ['', 'id'])
        assert.deepEqual(
          await walk(blog, `sort=${sort}&perPage=${perPage}&fields=${fields}`),
          wanted,
          `${sort} by ${perPage}, fields ${fields}`,
        );
  }
  const filter = encodeURIComponent("kind = 'x'");
  assert.equal((await walk(blog, `filter=${filter}&perPage=2&sort=-title`)).length, 5);
});

test('A16 a cursor is good for its list, filter, sort and caller only, and no other text is one', async (t) => {
  const blog = await startBlog(t);
  const page = async (query: string, asker: 'ask' | 'askAsGuest' = 'ask'): Promise<number> =>
    (await blog[asker]('GET', `/posts/records?perPage=1&${query}`)).status;
  const { json } = await blog.ask('GET', '/posts/records?perPage=1&sort=title&cursor=');
  const cursor = String(json.nextCursor);
  for (const query of [
    '',
    '&filter=',
    '&perPage=2',
    '&fields=id',
    '&expand=author',
    '&skipTotal=1',
    '&page=',
  ])
    assert.equal(await page(`sort=title&cursor=${cursor}${query}`), 200, query);
  for (const query of [
    `sort=-title&cursor=${cursor}`,
    `cursor=${cursor}`,
    `sort=title&filter=id!=''&cursor=${cursor}`,
    `sort=title&page=1&cursor=${cursor}`,
    `sort=title&cursor=${cursor.slice(0, -4)}aaaa`,
    'sort=title&cursor=abc',
    'sort=@random&cursor=',
  ])
    assert.equal(await page(query), 400, query);
  assert.equal(await page(`sort=title&cursor=${cursor}`, 'askAsGuest'), 400, 'another caller');
  const people = await blog.ask('GET', `/people/records?sort=name&cursor=${cursor}`);
  assert.deepEqual([people.status, Object.keys(people.json.data)], [400, ['cursor']]);
});

test('a cursor by a field that was made anew with another type is refused, in either direction', async (t) => {
  const { ask } = await startBlog(t);
  const { json } = await ask('GET', '/posts');
  const fields: readonly { readonly name: string }[] = json.fields;
  const others = fields.filter(({ name }) => name !== 'title');
  const sorted = (sort: string, cursor: string): ReturnType<typeof ask> =>
    ask('GET', `/posts/records?perPage=1&sort=${sort}&cursor=${cursor}`);
  for (const type of ['number', 'text', 'bool', 'date']) {
    const cursors = new Map<string, string>();
    for (const sort of ['title', '-title']) {
      const { json: first } = await sorted(sort, '');
      cursors.set(sort, first.nextCursor);
    }
    await ask('PATCH', '/posts', { fields: others });
    await ask('PATCH', '/posts', { fields: [...others, { name: 'title', type }] });
    for (const [sort, cursor] of cursors) {
      const refused = await sorted(sort, cursor);
      assert.deepEqual(
        [refused.status, Object.keys(refused.json.data)],
        [400, ['cursor']],
        `${sort} ${type}`,
      );
    }
  }
});
