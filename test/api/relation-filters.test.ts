// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longId, startBlog } from '../support/blog.ts';

const id = (short: string): string => `'${longId(short)}'`;

/** Of section 8.5: plain operators ask all related records, those with `?` at least one. */
const selections: readonly (readonly [filter: string, selected: string])[] = [
  // One relation: a join with one row at most.
  ["author.name = 'Ann'", 'p1'],
  ["author.name != 'Ann'", 'p2 p3 p4'],
  ["author.team.name = 'red'", 'p1 p2'],
  ["author.team.name ?= 'red'", 'p1 p2'],
  ["author.name = ''", 'p4'],
  ['author.age > 30', 'p2 p3'],
  ['author.age <= 30', 'p1'],
  [`author.id = ${id('ann')}`, 'p1'],
  [`author = ${id('ann')}`, 'p1'],
  ["author.name:lower = 'ann'", 'p1'],
  ["author.nickname = 'A'", 'p1'],
  ["author.name ~ 'a' || title = 'two'", 'p1 p2 p3'],
  // Several: every related record, or any.
  ["readers.name ?= 'Ann'", 'p1 p4'],
  ["readers.name = 'Ann'", ''],
  ["readers.name = 'Cat'", 'p2'],
  ["readers.name != 'Ann'", 'p2 p3'],
  ["readers.name ?!= 'Ann'", 'p1 p2 p3 p4'],
  ['readers.age >= 30', 'p1 p2 p4'],
  ['readers.age >= 40', 'p2'],
  ['readers.age ?>= 50', 'p2 p4'],
  [`readers.id ?= ${id('cat')}`, 'p2 p4'],
  [`readers ~ ${id('cat')}`, 'p2 p4'],
  // A relation of many is each of its ids beside an operator with `?`, and each comparison may be about another.
  [`readers ?= ${id('cat')}`, 'p2 p4'],
  [`${id('cat')} ?= readers`, 'p2 p4'],
  [`readers ?= ${id('ann')} && readers ?= ${id('bob')}`, 'p1 p4'],
  [`readers:each ?= ${id('ann')} && readers:each ?= ${id('cat')}`, 'p4'],
  [`readers ?= ${id('ann')} && readers ?!= ${id('ann')}`, 'p1 p4'],
  [`readers ?!= ${id('cat')}`, 'p1 p3 p4'],
  [`readers ?~ 'ca' || readers ?= ''`, 'p2 p3 p4'],
  ['readers ?= author', 'p1'],
  ['readers ?= author || readers ?= null', 'p1 p3'],
  [`comments_via_post.by.name ?= 'Cat' && readers ?= ${id('bob')}`, 'p1'],
  [`readers = ${id('cat')}`, ''],
  [`readers = '["${longId('cat')}"]'`, 'p2'],
  [`readers.id ?= ${id('ann')} && readers.id ?= ${id('bob')}`, ''],
  ["readers.team.name ?= 'blue'", 'p2 p4'],
  ["readers.team.name = 'red'", 'p1'],
  // Names that begin alike are about one and the same related record.
  ["readers.name ?= 'Ann' && readers.age ?= 40", ''],
  ["readers.name ?= 'Bob' && readers.age ?= 40", 'p1 p4'],
  // Both sides have several: every pair.
  ['readers.age = readers.age', 'p2 p3'],
  ['readers.name ?= author.name', 'p1'],
  // Back relations.
  ['comments_via_post.stars ?= 5', 'p1 p2'],
  ['comments_via_post.stars = 5', 'p2'],
  ['comments_via_post.stars > 0', 'p1 p2'],
  ["comments_via_post.by.name ?= 'Cat'", 'p1'],
  ["comments_via_post.by.team.name ?= 'blue'", 'p1'],
  ["comments_via_post.id = ''", 'p3 p4'],
  // To the others and back: where there are none, nothing is found, whatever the engine knows of the way.
  ["comments_via_post.post.title ?= 'three'", ''],
  ["comments_via_post.post.title ?= 'one'", 'p1'],
  ["comments_via_post.post.title = ''", 'p3 p4'],
  ["author.comments_via_by.by.name ?= 'Ann'", ''],
  // How many there are.
  ['comments_via_post:length = 2', 'p1'],
  ['comments_via_post:length = 0', 'p3 p4'],
  ['author.comments_via_by:length >= 2', 'p2'],
  ['readers.comments_via_by:length ?> 1', 'p1 p4'],
  ['readers.comments_via_by:length > 1', ''],
  // Values of the record itself.
  ["tags:each ?= 'y'", 'p1 p4'],
  ["tags:each = 'x'", 'p2'],
  ["tags:each != 'z'", 'p1 p2 p3'],
  ['tags:length = 2', 'p1'],
  ['tags:length > 0', 'p1 p2 p4'],
  ['readers:length >= 2', 'p1 p4'],
  // Compared with what is no list, a list stays one.
  ["readers = 'x' && readers:length > 0", ''],
  ["tags = 'x' && tags:each ?= 'x'", ''],
  ['kind:length = 1', 'p1 p3'],
  ["kind:each = 'x'", 'p1'],
  [`tags = '["x"]'`, 'p2'],
  // Everything of another collection; another alias is another record of it.
  ["@collection.teams.name ?= 'red' && author.team ?= @collection.teams.id", 'p1 p2'],
  ["@collection.teams.name = 'red'", ''],
  [`@collection.people:one.id ?= author && @collection.people:one.age ?> 35`, 'p2 p3'],
  ["@collection.people:a.name ?= 'Ann' && @collection.people:b.name ?= 'Bob' && title = 'one'", 'p1'],
  ["@collection.people.name ?= 'Ann' && @collection.people.name ?= 'Bob'", ''],
  // The request, which superusers may ask for.
  ["@request.method = 'GET' && @request.context = 'default'", 'p1 p2 p3 p4'],
  ['@request.query.nothing = null && @request.body.nothing.x = null', 'p1 p2 p3 p4'],
  ["@request.auth.email = 'root@example.com' && title = 'one'", 'p1'],
  ["@request.auth.collectionName = '_superusers' && title = 'two'", 'p2'],
  ["@request.headers.user_agent != '' && @request.query.filter:isset = true && title = 'two'", 'p2'],
];

test('relations, back relations and other collections select as the contract says', async (t) => {
  const { select } = await startBlog(t);
  for (const [filter, selected] of selections) assert.equal(await select(filter), selected, filter);
});

test('related records sort a list, and one with several by the least or the greatest of them', async (t) => {
  const { select } = await startBlog(t);
  const sorts: readonly (readonly [sort: string, ids: string])[] = [
    ['author.age', 'p4 p1 p2 p3'],
    ['-author.age', 'p3 p2 p1 p4'],
    ['author.team.name,-title', 'p4 p3 p2 p1'],
    ['readers.age,title', 'p3 p4 p1 p2'],
    ['-readers.age,title', 'p4 p2 p1 p3'],
    ['-comments_via_post.stars,-title', 'p2 p1 p3 p4'],
    ['-comments_via_post:length,title', 'p1 p2 p4 p3'],
  ];
  for (const [sort, ids] of sorts) assert.equal(await select("id != ''", { sort }), ids, sort);
});

test('json values of back relations sort a list by the least or the greatest: numbers before texts', async (t) => {
  const { ask, select } = await startBlog(t);
  const { json } = await ask('GET', '/comments');
  await ask('PATCH', '/comments', { fields: [...json.fields, { name: 'data', type: 'json' }] });
  for (const [comment, data] of [
    ['c1', { at: 'ten' }],
    ['c2', { at: 10 }],
    ['c3', { at: 9 }],
  ] as const)
    assert.equal((await ask('PATCH', `/comments/records/${longId(comment)}`, { data })).status, 200);
  for (const [sort, ids] of [
    ['comments_via_post.data.at,title', 'p4 p3 p2 p1'],
    ['-comments_via_post.data.at,title', 'p1 p2 p4 p3'],
  ] as const)
    assert.equal(await select("id != ''", { sort }), ids, sort);
});

test('a list in a json field has a length, and whatever else is there has none', async (t) => {
  const { ask, askAsGuest, select } = await startBlog(t);
  const fields = [{ name: 'sizes', type: 'json' }];
  assert.equal((await ask('POST', '', { name: 'shoes', fields })).status, 200);
  const values = [[], [38, 39], [[1], 'a', null], { list: [1, 2], size: 3 }, '38', 'a, b', 0, true, null];
  for (const [at, sizes] of values.entries())
    assert.equal((await ask('POST', '/shoes/records', { id: longId(`s${at}x`), sizes })).status, 201);
  const found: readonly (readonly [filter: string, selected: string])[] = [
    ['sizes:length > 0', 's1x s2x'],
    ['sizes:length = 3', 's2x'],
    ['sizes:length = 0', 's0x s3x s4x s5x s6x s7x s8x'],
    ['sizes.list:length = 2', 's3x'],
    ['sizes.0:length = 1', 's2x'],
    ['sizes.size:length = 0 && sizes.size = 3', 's3x'],
  ];
  for (const [filter, selected] of found)
    assert.equal(await select(filter, { collection: 'shoes', sort: 'id' }), selected, filter);
  const createRule = '@request.body.sizes:length < 2';
  assert.equal((await ask('PATCH', '/shoes', { createRule })).status, 200);
  const statuses: number[] = [];
  for (const sizes of [[], [1], 'a, b', { list: [1, 2, 3] }, 7, null, [1, 2], '[1, 2]'])
    statuses.push((await askAsGuest('POST', '/shoes/records', { sizes })).status);
  assert.deepEqual(statuses, [201, 201, 201, 201, 201, 201, 400, 400]);
  assert.equal((await ask('PATCH', '/shoes', { createRule: '@request.body.sizes:length > 0' })).status, 200);
  for (const sizes of ['a, b', { list: [1] }, 7, '', null, '{"a":[1]}'])
    assert.equal((await askAsGuest('POST', '/shoes/records', { sizes })).status, 400, JSON.stringify(sizes));
});

test('what is no path is refused, and names what is wrong', async (t) => {
  const { select } = await startBlog(t);
  const refusals: readonly (readonly [filter: string, message: RegExp])[] = [
    ["author.nothing = 'a'", /^Unknown field "author\.nothing" at position 0\.$/],
    ["title.name = 'a'", /^Unknown field "title\.name"/],
    ["people_via_nothing.name = 'a'", /^Unknown field/],
    ["comments_via_by.id = 'a'", /^Unknown field/],
    ["nothing_via_post.id = 'a'", /^Unknown field/],
    ['comments_via_post:each = 1', /^Unknown field/],
    ['comments_via_by:length = 1', /^Unknown field/],
    ["author.:lower = 'a'", /./],
    ['title:each = 1', /^The modifier ":each" cannot be used with "title"; found at position 0\.$/],
    ['title:length = 1', /^The modifier ":length" cannot be used/],
    ['title:isset = true', /^The modifier ":isset" cannot be used/],
    ['author:nothing = 1', /^Unknown modifier ":nothing"/],
    ['author.id:each = 1', /^The modifier ":each" cannot be used with "id"/],
    ['readers.id:length = 1', /^The modifier ":length" cannot be used with "id"/],
    ['@request.auth:isset = true', /^Unknown macro "@request\.auth:isset"/],
    ['@request.body.title:isset:lower = 1', /^Unknown macro/],
    ['@request.nothing.at:isset = true', /^Unknown macro/],
    ["@collection.nothing.id = 'a'", /^Unknown macro/],
    ["@collection.people.nothing = 'a'", /^Unknown macro/],
    [
      `${'author.comments_via_by.post.'.repeat(3)}id = 'a'`,
      /^Expected at most 6 relations in a path; more at position 0\.$/,
    ],
  ];
  for (const [filter, message] of refusals) assert.match(await select(filter), message, filter);
  const aliases = Array.from({ length: 40 }, (_, n) => `@collection.people:a${n}.id ?= 'a'`).join(' || ');
  assert.match(await select(aliases), /^Expected at most 32 related collections; more/);
});

test('Q-23 Q-28 Q-31 a guest finds nothing out about what is hidden, locked or not listed', async (t) => {
  const { select, ask, askAsGuest } = await startBlog(t);
  const asGuest = (filter: string): Promise<string> => select(filter, { asGuest: true });
  assert.match(await asGuest("author.nickname = 'A'"), /^Unknown field "author\.nickname"/);
  assert.equal(await asGuest("author.name = 'Ann'"), 'p1');
  for (const [filter, name] of [
    ["@collection.people.id ?= 'a'", '@collection.'],
    ["'@request.'=title", '@request.'],
  ] as const)
    assert.equal(await asGuest(filter), `Only superusers can filter by ${name}`);

  // A post whose author is not listed is, for a filter, a post without an author.
  await ask('PATCH', '/people', { listRule: "team.name = 'red'" });
  const found: readonly (readonly [filter: string, selected: string])[] = [
    ['author.age > 0', 'p1 p2'],
    ["author.name = 'Cat'", ''],
    ["author.name != 'Zoe'", 'p1 p2 p3 p4'],
    ["readers.name ?= 'Cat'", ''],
    ["readers.name ?= 'Ann'", 'p1 p4'],
    // Whether Cat reads it as well must make no difference.
    ["readers.team.name = 'red'", 'p1 p4'],
    ["comments_via_post.by.name ?= 'Cat'", ''],
    ["comments_via_post.by.name ?= 'Bob'", 'p1 p2'],
    ["title = 'three' || author.name = 'Ann'", 'p1 p3'],
  ];
  for (const [filter, selected] of found) assert.equal(await asGuest(filter), selected, filter);
  assert.equal(await select("author.name = 'Cat'"), 'p3');
  assert.equal(
    await asGuest('author.people_via_team:length = 0'),
    'Unknown field "author.people_via_team:length" at position 0.',
  );
  // Nor do they count.
  await ask('PATCH', '/comments', { listRule: 'stars < 5' });
  assert.equal(await asGuest('comments_via_post:length = 1'), 'p1');
  assert.equal(await asGuest('comments_via_post:length = 0'), 'p2 p3 p4');
  await ask('PATCH', '/comments', { listRule: null });
  assert.match(await asGuest('comments_via_post:length = 0'), /that you may list, not to "comments"/);

  await ask('PATCH', '/people', { listRule: null });
  assert.match(
    await asGuest("author.name = 'Ann'"),
    /^Expected a relation to records that you may list, not to "people"/,
  );
  assert.match(await asGuest("readers.name ?= 'Ann'"), /that you may list/);
  assert.equal(await asGuest(`author = ${id('ann')}`), 'p1');
  const { status } = await askAsGuest('GET', '/posts/records?sort=author.name');
  assert.equal(status, 400);
});
