// Both engines: rows are cached by what has changed in the database.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { MovableClock } from '../support/movable-clock.ts';
import { startService, type TestRequest, type TestService } from '../support/service.ts';

const collection = '/api/collections/things';
const at = `${collection}/records`;
const ids = ['aaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbb', 'ccccccccccccccc'];

/** Three records, and a list that was asked for so often that nothing but what changes is still read. */
async function setUp(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'note', type: 'text', hidden: true },
  ];
  await change(service, 'POST /api/collections', { name: 'things', listRule: '', viewRule: '', fields });
  for (const id of ids) await change(service, `POST ${at}`, { id, title: `the first ${id}`, note: 'secret' });
  for (let times = 0; times < 5; times += 1) await list(service);
  return service;
}

/** `what` is a method and a path. */
async function change(service: TestService, what: string, body?: unknown): Promise<void> {
  const [method = '', path = ''] = what.split(' ');
  const { status, text } = await service.request(path, { method, token: true, body });
  assert.ok(status < 300, text);
}

/** As guests see it, and as superusers do: each must be what the records are when they are asked for one by one. */
async function list(service: TestService, query = ''): Promise<string> {
  for (const options of [{ token: true } as const, {}]) {
    const { json } = await service.request(`${at}?${query}`, options);
    const views: unknown[] = [];
    for (const { id } of json.items) views.push((await service.request(`${at}/${id}`, options)).json);
    assert.deepEqual(json.items, views);
    assert.equal(json.totalItems, views.length);
  }
  const { json } = await service.request(`${at}?${query}`);
  const items: readonly Readonly<Record<string, unknown>>[] = json.items;
  return items.map((item) => String(item['title'] ?? item['name'] ?? item['note'])).join();
}

test('a list that is asked for again shows each change of a record at once', async (t) => {
  const service = await setUp(t);
  for (const [index, id] of [...ids, ...ids].entries()) {
    await change(service, `PATCH ${at}/${id}`, { title: `change ${index}` });
    const titles = (await list(service)).split(',');
    assert.equal(titles[index % 3], `change ${index}`);
    await list(service);
  }
});

test('a record that takes the id of one that is gone is another record', async (t) => {
  const service = await setUp(t);
  for (const title of ['second', 'third']) {
    await change(service, `DELETE ${at}/${ids[2]}`);
    assert.equal((await list(service)).split(',').length, 2);
    await change(service, `POST ${at}`, { id: ids[2], title });
    assert.equal((await list(service)).split(',')[2], title);
    await list(service);
  }
  await change(service, `DELETE ${collection}/truncate`);
  assert.equal(await list(service), '');
  await change(service, `POST ${at}`, { id: ids[0], title: 'after all' });
  assert.equal(await list(service), 'after all');
});

test('what is known of a record is for those only whom its rule lets see it now', async (t) => {
  const service = await setUp(t);
  const rules = { listRule: 'title ~ "open"', viewRule: 'title ~ "open"' };
  await change(service, `PATCH ${collection}`, rules);
  const seen = async (): Promise<readonly unknown[]> => {
    const { status } = await service.request(`${at}/${ids[0]}`);
    return [status, (await service.request(at)).json.totalItems];
  };
  for (const title of ['open', 'closed', 'open again', 'no more']) {
    await change(service, `PATCH ${at}/${ids[0]}`, { title });
    const expected = title.startsWith('open') ? [200, 1] : [404, 0];
    for (let times = 0; times < 5; times += 1) assert.deepEqual(await seen(), expected, title);
    // By those who see all of them, so that it is known.
    await service.request(at, { token: true });
  }
});

test('a list that is asked for again follows the definition of its collection', async (t) => {
  const service = await setUp(t);
  const { json } = await service.request(collection, { token: true });
  const fields: readonly Readonly<Record<string, unknown>>[] = json.fields;
  const changed = (name: string, members: object): readonly object[] =>
    fields.map((field) => (field['name'] === name ? { ...field, ...members } : field));
  await change(service, `PATCH ${collection}`, { fields: changed('title', { hidden: true }) });
  assert.equal((await service.request(at)).text.includes('the first'), false);
  await list(service);
  await change(service, `PATCH ${collection}`, { fields: changed('title', { name: 'name' }) });
  assert.equal((await list(service)).split(',')[0], `the first ${ids[0]}`);
  await change(service, `PATCH ${collection}`, { fields: changed('note', { hidden: false }) });
  await list(service);
  await change(service, `PATCH ${collection}`, { listRule: null });
  assert.equal((await service.request(at)).status, 403);
  assert.equal((await service.request(at, { token: true })).json.totalItems, 3);
});

test('pages behind cursors that are asked for again show each change, and lead on whoever asks', async (t) => {
  const service = await setUp(t);
  await change(service, 'POST /api/collections/_superusers/records', {
    email: 'second@example.com',
    password: 'a long password',
    passwordConfirm: 'a long password',
  });
  const { json: second } = await service.request('/api/collections/_superusers/auth-with-password', {
    method: 'POST',
    body: { identity: 'second@example.com', password: 'a long password' },
  });
  const page = async (token: TestRequest['token'], cursor: string): Promise<Page> => {
    const path = `${at}?perPage=2&sort=title&cursor=${cursor}`;
    const { status, json, text } = await service.request(path, token === undefined ? {} : { token });
    assert.equal(status, 200, text);
    const items: readonly { readonly title: string }[] = json.items;
    return { titles: items.map(({ title }) => title), next: json.nextCursor };
  };
  const all = ids.map((id) => `the first ${id}`);
  for (const last of [all[2], 'the last']) {
    for (let times = 0; times < 5; times += 1)
      for (const token of [true, String(second.token), undefined] as const) {
        const first = await page(token, '');
        assert.deepEqual(first.titles, all.slice(0, 2));
        assert.deepEqual(await page(token, String(first.next)), { titles: [last], next: null });
      }
    await change(service, `PATCH ${at}/${ids[2]}`, { title: 'the last' });
  }
});

interface Page {
  readonly titles: readonly string[];
  readonly next: string | null;
}

test('lists that differ in what they are told by are different lists', async (t) => {
  const service = await setUp(t);
  const all = ids.map((id) => `the first ${id}`);
  const [a, b, c] = all;
  for (const [query, titles] of [
    ['', all],
    ['sort=-title', [c, b, a]],
    ['perPage=2', [a, b]],
    ['perPage=2&cursor=', [a, b]],
    ['perPage=2&page=2', [c]],
    [`filter=${encodeURIComponent(`title = "${b}"`)}`, [b]],
    [`filter=${encodeURIComponent(`title = "${c}"`)}`, [c]],
    [`filter=${encodeURIComponent(`title > "${a}"`)}&sort=-id`, [c, b]],
    [`filter=${encodeURIComponent('created > @now')}`, []],
    [`filter=${encodeURIComponent('created <= @now')}`, all],
  ] as const) {
    for (let times = 0; times < 5; times += 1) {
      const { json } = await service.request(`${at}?${query}`);
      const items: readonly { readonly title: string }[] = json.items;
      assert.deepEqual(
        items.map(({ title }) => title),
        titles,
        query,
      );
    }
  }
  // What was now the last time is not now any more.
  await change(service, `POST ${at}`, { title: 'the last' });
  const sofar = await service.request(`${at}?filter=${encodeURIComponent('created <= @now')}`);
  assert.equal(sofar.json.totalItems, 4);
  // Of the superusers' own list, a guest is refused what they may ask for.
  const hidden = `${at}?filter=${encodeURIComponent('note = "secret"')}`;
  for (let times = 0; times < 5; times += 1) {
    assert.equal((await service.request(hidden, { token: true })).json.totalItems, 3);
    assert.equal((await service.request(hidden)).status, 400);
  }
});

const posts = '/api/collections/posts/records';

/** Two users, a post of each, and of each a token. */
async function setUpOwners(t: TestContext) {
  const service = await startService(t);
  const { json: users } = await service.request('/api/collections/users', { token: true });
  await change(service, 'POST /api/collections', {
    name: 'posts',
    fields: [
      { name: 'title', type: 'text' },
      { name: 'owner', type: 'relation', collectionId: users.id, maxSelect: 1 },
    ],
  });
  const team = { name: 'team', type: 'text' };
  await change(service, 'PATCH /api/collections/users', { fields: [...users.fields, team] });
  const tokens: string[] = [];
  for (const [index, id] of ids.slice(0, 2).entries()) {
    const email = `${id}@example.com`;
    const account = {
      id,
      email,
      password: 'a long password',
      passwordConfirm: 'a long password',
      team: 'red',
    };
    await change(service, 'POST /api/collections/users/records', account);
    const body = { identity: email, password: 'a long password' };
    const { json } = await service.request('/api/collections/users/auth-with-password', {
      method: 'POST',
      body,
    });
    tokens.push(json.token);
    await change(service, `POST ${posts}`, { id, title: `post ${index}`, owner: id });
  }
  return { service, tokens };
}

test('each caller has a list and views of their own, however often they ask, until something changes', async (t) => {
  const { service, tokens } = await setUpOwners(t);
  const rule = 'owner = @request.auth.id && owner.team = "red"';
  await change(service, 'PATCH /api/collections/posts', { listRule: rule, viewRule: rule });
  const seen = async (headers: Readonly<Record<string, string>>): Promise<readonly unknown[]> => {
    const { json } = await service.request(posts, { headers });
    const items: readonly { readonly title: string }[] = json.items;
    const views = ids.slice(0, 2).map((id) => service.request(`${posts}/${id}`, { headers }));
    return [
      items.map(({ title }) => title).join(),
      (await Promise.all(views)).map(({ status }) => status).join(),
    ];
  };
  const expectAll = async (expected: readonly (readonly unknown[])[]): Promise<void> => {
    for (let times = 0; times < 5; times += 1) {
      for (const [index, token] of tokens.entries())
        assert.deepEqual(await seen({ authorization: token }), expected[index]);
      assert.deepEqual(await seen({}), ['', '404,404']);
    }
  };
  const both = [
    ['post 0', '200,404'],
    ['post 1', '404,200'],
  ];
  await expectAll(both);
  // A change of another collection than that of the list.
  await change(service, `PATCH /api/collections/users/records/${ids[0]}`, { team: 'blue' });
  await expectAll([['', '404,404'], both[1] ?? []]);
  await change(service, `PATCH /api/collections/users/records/${ids[0]}`, { team: 'red' });
  await expectAll(both);
});

test('a rule about the request is asked in each of them', async (t) => {
  const { service } = await setUpOwners(t);
  const rule = '@request.headers.x_word = "open" || @request.query.word = "open"';
  await change(service, 'PATCH /api/collections/posts', { listRule: rule, viewRule: rule });
  for (let times = 0; times < 5; times += 1)
    for (const [query, word, count] of [
      ['', 'open', 2],
      ['', 'shut', 0],
      ['?word=open', 'shut', 2],
      ['?word=shut', 'shut', 0],
    ] as const) {
      const headers = { 'x-word': word };
      assert.equal((await service.request(posts + query, { headers })).json.totalItems, count);
      const { status } = await service.request(`${posts}/${ids[0]}${query}`, { headers });
      assert.equal(status, count === 0 ? 404 : 200);
    }
});

test('an order by chance is another one each time', async (t) => {
  const { service } = await setUpOwners(t);
  for (let index = 0; index < 20; index += 1)
    await change(service, `POST ${posts}`, { title: `more ${index}` });
  const orders = new Set<string>();
  for (let times = 0; times < 6; times += 1)
    orders.add((await service.request(`${posts}?sort=@random`, { token: true })).text);
  assert.equal(orders.size, 6);
});

test('a list whose rule goes through another collection follows the definition of that one', async (t) => {
  const { service, tokens } = await setUpOwners(t);
  const { json: users } = await service.request('/api/collections/users', { token: true });
  const friend = { id: 'friend', name: 'friend', type: 'relation', collectionId: users.id };
  const setFriends = (maxSelect: number): Promise<void> =>
    change(service, 'PATCH /api/collections/users', { fields: [...users.fields, { ...friend, maxSelect }] });
  await setFriends(1);
  await change(service, `PATCH /api/collections/users/records/${ids[0]}`, { friend: ids[1] });
  const rule = 'owner = @request.auth.id && owner.friend.team = "red"';
  await change(service, 'PATCH /api/collections/posts', { listRule: rule });
  const [authorization = ''] = tokens;
  // One friend is kept as an id, several as a list of them.
  for (const maxSelect of [1, 3, 1]) {
    await setFriends(maxSelect);
    for (let times = 0; times < 5; times += 1)
      assert.equal((await service.request(posts, { headers: { authorization } })).json.totalItems, 1);
  }
});

test('a list about the moment changes with the time, though nothing is committed', async (t) => {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock } });
  const fields = [{ name: 'due', type: 'date' }];
  await change(service, 'POST /api/collections', { name: 'things', listRule: '', fields });
  const due = new Date(clock.now() + 60_000).toISOString();
  await change(service, `POST ${at}`, { due });
  const query = `${at}?filter=${encodeURIComponent('due <= @now')}`;
  for (let times = 0; times < 3; times += 1) assert.equal((await service.request(query)).json.totalItems, 0);
  clock.move(120_000);
  assert.equal((await service.request(query)).json.totalItems, 1);
});

test('lists that differ in nothing but their constants each have their own', async (t) => {
  const service = await startService(t);
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'number', type: 'number' },
    { name: 'ready', type: 'bool' },
  ];
  await change(service, 'POST /api/collections', { name: 'things', listRule: '', fields });
  const rows = [
    { title: '', number: 0, ready: false },
    { title: 'one', number: 1, ready: true },
    { title: '5', number: 5, ready: true },
    { title: '100%', number: 100, ready: false },
  ];
  for (const row of rows) await change(service, `POST ${at}`, row);
  for (const [filter, numbers] of [
    ['title = "one"', [1]],
    ['title = "5"', [5]],
    ['title = ""', [0]],
    ['title = "none"', []],
    ['title != "one"', [0, 5, 100]],
    ['title != ""', [1, 5, 100]],
    ['number = "5"', [5]],
    ['number = "five"', []],
    ['number = "1e2"', [100]],
    ['number = ""', []],
    ['number > 1', [5, 100]],
    ['number > 5', [100]],
    ['ready = 1', [1, 5]],
    ['ready = 0', [0, 100]],
    ['ready = 2', []],
    ['title ~ "n"', [1]],
    ['title ~ "%"', [0, 1, 5, 100]],
    ['title ~ "100\\%"', [100]],
    ['title ~ "o%"', [1]],
    ['"a" = "a" && title = "5"', [5]],
    ['"a" = "b" && title = "5"', []],
  ] as const)
    for (let times = 0; times < 2; times += 1) {
      const { json, text } = await service.request(`${at}?filter=${encodeURIComponent(filter)}`);
      const items: readonly { readonly number: number }[] = json.items ?? assert.fail(text);
      assert.deepEqual(
        items.map(({ number }) => number),
        numbers,
        filter,
      );
    }
});
