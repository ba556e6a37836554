// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterLimits } from '../../src/filters/filter-error.ts';
import { type Blog, idsOf, longId, startBlog } from '../support/blog.ts';

const id = (short: string): string => `'${longId(short)}'`;

/** Of p3, the author is hidden, and of p2 the only reader; of p4, one of three readers. */
const hidesCat = "team.name = 'red'";

const ofPeople: readonly (readonly [filter: string, selected: string])[] = [
  // As p4, which has no author.
  ["author.name = ''", 'p3 p4'],
  ["author.name != ''", 'p1 p2'],
  ["author.name != 'Ann'", 'p2 p3 p4'],
  ["author.name !~ 'x'", 'p1 p2'],
  ['author.age > 0', 'p1 p2'],
  ["author.name:lower = 'cat'", ''],
  ["author.team.name = ''", 'p3 p4'],
  ["author.team.name = 'blue'", ''],
  ['author.name = author.team.name', 'p3 p4'],
  ["author.name = '' || title = 'one'", 'p1 p3 p4'],
  ["title = 'three' || author.name = 'Ann'", 'p1 p3'],
  ["title = 'three' && (author.name = 'Cat' || author.age = null)", 'p3'],
  ["(title = 'three' && author.name = 'Cat') || title = 'two'", 'p2'],
  // The ids are those of the posts themselves.
  [`author = ${id('cat')}`, 'p3'],
  [`author.id = ${id('cat')}`, 'p3'],
  [`readers.id ?= ${id('cat')}`, 'p2 p4'],
  ['readers:length = 1', 'p2'],
  ["readers.name ?= 'Cat'", ''],
  ["readers.name = 'Cat'", ''],
  ["readers.name ?= ''", 'p2 p3 p4'],
  ["readers.name = ''", 'p2 p3'],
  ["readers.name != 'Ann'", 'p2 p3'],
  ["readers.name ?!= 'Ann'", 'p1 p2 p3 p4'],
  ['readers.age >= 30', 'p1 p4'],
  ["readers.comments_via_by.id ?= ''", 'p1 p2 p3 p4'],
  ['author.name ?= readers.name', 'p1 p3 p4'],
  ["comments_via_post.by.name ?= 'Cat'", ''],
  ["comments_via_post.by.name = 'Bob'", 'p1 p2'],
  ["comments_via_post.by.name ?= ''", 'p1 p3 p4'],
  ['comments_via_post.stars ?= 5', 'p1 p2'],
];

const ofComments: readonly (readonly [filter: string, selected: string])[] = [
  ["comments_via_post.id = ''", 'p2 p3 p4'],
  ["comments_via_post.id != ''", 'p1'],
  ["comments_via_post.id = '' || title = 'one'", 'p1 p2 p3 p4'],
  ['comments_via_post.stars = 1', 'p1'],
  ['comments_via_post.stars ?= 5', ''],
  ["comments_via_post.by.name = 'Bob'", 'p1'],
  ["comments_via_post.post.title ?= 'two'", ''],
  ['author.comments_via_by.stars ?> 1', ''],
  ['author.comments_via_by.stars = 1', 'p2'],
];

test('A22 Q-56 a related record that a caller may not list is, in every comparison, not there', async (t) => {
  const { select, ask } = await startBlog(t);
  for (const [path, listRule, found] of [
    ['/people', hidesCat, ofPeople],
    ['/comments', 'stars < 5', ofComments],
  ] as const) {
    await setRules(ask, path, { listRule });
    for (const [filter, selected] of found)
      assert.equal(await select(filter, { asGuest: true }), selected, `${path}: ${filter}`);
    await setRules(ask, path, { listRule: '' });
  }
  await setRules(ask, '/people', { listRule: hidesCat });
  assert.equal(await select("author.name = 'Cat'"), 'p3', 'superusers list everything');
});

test('A22 Q-28 Q-56 a list sorted by related records has all its records, in the order without the hidden ones', async (t) => {
  const { ask, askAsGuest } = await startBlog(t);
  await setRules(ask, '/people', { listRule: hidesCat });
  await setRules(ask, '/comments', { listRule: 'stars < 5' });
  for (const [sort, ids] of [
    ['author.age', 'p3 p4 p1 p2'],
    ['-author.age', 'p2 p1 p4 p3'],
    ['-author.team.name,title', 'p1 p2 p4 p3'],
    ['readers.age,-title', 'p2 p3 p1 p4'],
    ['-readers.age,title', 'p4 p1 p3 p2'],
    ['-comments_via_post.stars', 'p1 p4 p3 p2'],
  ] as const) {
    const { json } = await askAsGuest('GET', `/posts/records?sort=${sort}`);
    assert.equal(short(json.items), ids, sort);
    assert.equal(json.totalItems, 4, sort);
    const pages: string[] = [];
    for (let cursor = ''; pages.length < 5;) {
      const page = (await askAsGuest('GET', `/posts/records?sort=${sort}&perPage=1&cursor=${cursor}`)).json;
      pages.push(short(page.items));
      if (page.nextCursor === null) break;
      cursor = String(page.nextCursor);
    }
    assert.equal(pages.join(' '), ids, `${sort}, from page to page`);
  }
});

test('A22 Q-56 a filter finds nothing out about the related record by which a rule lists a post', async (t) => {
  const { select, ask } = await startBlog(t);
  await setRules(ask, '/people', { listRule: hidesCat });
  // Of p2 and p4, the blue reader is Cat.
  await setRules(ask, '/posts', { listRule: "readers.team.name ?= 'blue'" });
  for (const [filter, selected] of [
    ["id != ''", 'p2 p4'],
    [`readers.id ?= ${id('bob')}`, 'p4'],
    [`readers.id ?= ${id('cat')}`, 'p2 p4'],
    ["readers.team.name ?= 'red'", 'p4'],
    ["readers.team.name ?= 'blue'", ''],
  ] as const)
    assert.equal(await select(filter, { asGuest: true }), selected, filter);
});

test('A22 rules that lead to each other come to an end, each about all records', async (t) => {
  const { select, ask } = await startBlog(t);
  await setRules(ask, '/posts', { listRule: "comments_via_post.by.age ?> 0 || author.name = 'Cat'" });
  await setRules(ask, '/comments', { listRule: "post.author.name = 'Ann' && by.comments_via_by.id ?!= ''" });
  await setRules(ask, '/people', { listRule: "comments_via_by.post.title ?= 'one' && team.name != ''" });
  await setRules(ask, '/teams', { listRule: '@collection.people.team ?= id && @collection.posts.id ?!= id' });
  for (const [filter, selected] of [
    ["id != ''", 'p1 p2 p3'],
    // Bob and Cat are listed, Ann is not.
    ["author.name ?= ''", 'p1'],
    ["author.team.name = 'red'", 'p2'],
    ["comments_via_post.by.team.name ?= 'blue'", 'p1'],
    ["comments_via_post.id = ''", 'p2 p3'],
    ["author.comments_via_by.post.comments_via_post.by.name ?= 'Cat'", 'p2 p3'],
  ] as const)
    assert.equal(await select(filter, { asGuest: true }), selected, filter);
});

test('A22 a filter for which list rules would be evaluated too often is refused, on both engines alike', async (t) => {
  const { select, ask } = await startBlog(t);
  const asGuest = true;
  await setRules(ask, '/people', { listRule: "team.name = 'red' && name != 'Zoe'" });
  const filter = Array.from({ length: 100 }, (_, n) => `readers.name != 'x${n}'`).join(' && ');
  assert.equal(await select(filter, { asGuest }), 'p1 p2 p3 p4');
  // Evaluated for each of the hundred.
  await setRules(ask, '/people', {
    listRule: "comments_via_by.post.title != 'x' || posts_via_readers.title ?= 'one'",
  });
  assert.match(
    await select(filter, { asGuest }),
    new RegExp(
      `^Expected at most ${filterLimits.listRulesSizeMax} comparisons and relations in the list rules of related collections; more at position \\d+\\.$`,
    ),
  );
  assert.equal(await select(filter), 'p1 p2 p3 p4', 'superusers need no rules');
  assert.match(await select("id != ''", { asGuest, sort: 'readers.name' }), /^p/);
});

test('A22 Q-56 no caller is answered with what another may list of related records', async (t) => {
  const blog = await startBlog(t);
  const { ask, askAsGuest } = blog;
  const readers = await Promise.all(['one', 'two'].map((name) => signUp(blog, name)));
  await setRules(ask, '/users', { listRule: 'id = @request.auth.id' });
  const { fields } = (await ask('GET', '/posts')).json;
  const owner = { name: 'owner', type: 'relation', collectionId: '_pb_users_auth_' };
  await setRules(ask, '/posts', { fields: [...fields, owner] });
  for (const [index, post] of ['p1', 'p2'].entries())
    await ask('PATCH', `/posts/records/${longId(post)}`, { owner: readers[index]?.id });
  const list = async (query: string, token?: string): Promise<string> => {
    const path = `/api/collections/posts/records?${query}`;
    const { json } = await blog.service.request(path, token === undefined ? {} : { token });
    assert.equal(json.totalItems, json.items.length);
    return short(json.items);
  };
  const [one, two] = readers.map(({ token }) => token);
  // Often enough that what can be remembered is.
  for (let times = 0; times < 4; times += 1)
    for (const fieldsOf of ['', '&fields=id']) {
      const found = `filter=${encodeURIComponent("owner.name != ''")}${fieldsOf}`;
      assert.deepEqual([await list(found, one), await list(found, two), await list(found)], ['p1', 'p2', '']);
      const sorted = `sort=-owner.name,title${fieldsOf}`;
      assert.deepEqual(
        [await list(sorted, one), await list(sorted, two), await list(sorted)],
        ['p1 p4 p3 p2', 'p2 p4 p1 p3', 'p4 p1 p3 p2'],
      );
    }
  assert.equal((await askAsGuest('GET', '/users/records')).json.totalItems, 0);
});

async function setRules(ask: Blog['ask'], path: string, change: object): Promise<void> {
  const { status, text } = await ask('PATCH', path, change);
  assert.equal(status, 200, text);
}

async function signUp({ ask }: Blog, name: string): Promise<{ readonly id: string; readonly token: string }> {
  const password = 'correct horse';
  const identity = `${name}@example.com`;
  const body = { name, email: identity, password, passwordConfirm: password };
  const made = await ask('POST', '/users/records', body);
  assert.equal(made.status, 201, made.text);
  const { json } = await ask('POST', '/users/auth-with-password', { identity, password });
  return { id: String(made.json.id), token: String(json.token) };
}

/** Ids without the zeros that fill them up. */
function short(records: readonly { readonly id: string }[]): string {
  return idsOf(records)
    .map((one) => one.replace(/0+$/, ''))
    .join(' ');
}
