// Both engines: orders and filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const at = '/api/collections/posts/records';

async function setUp(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'n', type: 'number' },
    { name: 'extra', type: 'json' },
    { name: 'tags', type: 'select', values: ['a', 'b'], maxSelect: 2 },
    { name: 'when', type: 'date' },
  ];
  const body = { name: 'posts', listRule: '', createRule: '', fields };
  await service.request('/api/collections', { method: 'POST', token: true, body });
  const rows = [
    { title: 'b', n: 2, tags: ['a'], extra: { a: [1] } },
    { title: 'a', n: 2, when: '2026-01-01' },
    { title: 'c', n: 1 },
    { title: 'B', n: -1 },
    { title: "it's 100%", n: 0 },
  ];
  for (const row of rows)
    assert.equal((await service.request(at, { method: 'POST', body: row })).status, 201);
  return service;
}

function titles(answer: TestAnswer): readonly string[] {
  const items: readonly { readonly title: string }[] = answer.json.items;
  return items.map(({ title }) => title);
}

/** What a page is made of, without its items. */
function envelope({ json }: TestAnswer): readonly number[] {
  return [json.items.length, json.page, json.perPage, json.totalItems, json.totalPages];
}

test('Q-33 pages: defaults, clamps, far ends and refusals', async (t) => {
  const service = await setUp(t);
  const pages: readonly (readonly [string, readonly number[] | undefined])[] = [
    ['', [5, 1, 30, 5, 1]],
    ['page=1&perPage=2', [2, 1, 2, 5, 3]],
    ['page=3&perPage=2', [1, 3, 2, 5, 3]],
    ['page=4&perPage=2', [0, 4, 2, 5, 3]],
    ['page=0', [5, 1, 30, 5, 1]],
    ['page=-1', [5, 1, 30, 5, 1]],
    ['page=-2147483647', [5, 1, 30, 5, 1]],
    ['page=2147483647&perPage=1000', [0, 2147483647, 1000, 5, 1]],
    ['page=&perPage=&sort=&filter=&fields=&skipTotal=', [5, 1, 30, 5, 1]],
    ['page=%2B1', [5, 1, 30, 5, 1]],
    ['page=2&page=1&perPage=3', [2, 2, 3, 5, 2]],
    ['perPage=0', [5, 1, 30, 5, 1]],
    ['perPage=-7', [5, 1, 30, 5, 1]],
    ['perPage=1001', [5, 1, 1000, 5, 1]],
    ['perPage=2147483647', [5, 1, 1000, 5, 1]],
    ['skipTotal=1&perPage=2', [2, 1, 2, -1, -1]],
    ['skipTotal=T', [5, 1, 30, -1, -1]],
    ['skipTotal=False', [5, 1, 30, 5, 1]],
    ["filter=title='none'", [0, 1, 30, 0, 0]],
    ["filter=title='none'&page=3", [0, 3, 30, 0, 0]],
    ['unknown=1&a[]=1&a[x]=1&a.b=1', [5, 1, 30, 5, 1]],
    ...[
      'abc',
      '1.5',
      '0x10',
      '1e3',
      '+1',
      '1 ',
      '٣',
      '2147483648',
      '9223372036854775807',
      '-9223372036854775808',
      'NaN',
      '--1',
    ].flatMap((value) => [`page=${value}`, `perPage=${value}`].map((query) => [query, undefined] as const)),
    ...['yes', '2', 'tRUE', 'null', ' '].map((value) => [`skipTotal=${value}`, undefined] as const),
    ['cursor=&page=1', undefined],
    ['cursor=abc', undefined],
  ];
  for (const [query, expected] of pages) {
    const answer = await service.request(`${at}?${query.replaceAll(' ', '%20')}`);
    if (expected !== undefined) assert.deepEqual(envelope(answer), expected, query);
    else
      assert.deepEqual([answer.status, Object.keys(answer.json.data)], [400, [query.split('=')[0]]], query);
  }
});

test('A18 Q-41 sorting: insertion order by default and as the last word, limits, unknown keys with their position', async (t) => {
  const service = await setUp(t);
  const sorts: readonly (readonly [string, readonly string[]])[] = [
    ['', ['b', 'a', 'c', 'B', "it's 100%"]],
    ['@rowid', ['b', 'a', 'c', 'B', "it's 100%"]],
    ['-@rowid', ["it's 100%", 'B', 'c', 'a', 'b']],
    ['title', ['B', 'a', 'b', 'c', "it's 100%"]],
    // The tie-breaker goes the way of the last key.
    ['n', ['B', "it's 100%", 'c', 'b', 'a']],
    ['-n', ['a', 'b', 'c', "it's 100%", 'B']],
    ['-n,title', ['a', 'b', 'c', "it's 100%", 'B']],
    ['%20-n%20,%20%2Btitle%20', ['a', 'b', 'c', "it's 100%", 'B']],
    ['n,n,n,n,n,n,n,-n', ['B', "it's 100%", 'c', 'b', 'a']],
    ['-when,title', ['a', 'B', 'b', 'c', "it's 100%"]],
  ];
  for (const [sort, expected] of sorts) {
    const answer = await service.request(`${at}?sort=${sort}`);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(titles(answer), expected, sort);
  }
  assert.equal((await service.request(`${at}?sort=@random`)).json.items.length, 5);
  const refused: readonly (readonly [string, number])[] = [
    ['nope', 0],
    ['title,-nope', 7],
    ['$position', 0],
    ['"title"', 0],
    ['title%20desc', 5],
    ['n,n,n,n,n,n,n,n,n', 16],
    ['a'.repeat(256), 0],
    ['title.x', 0],
    ["'", 0],
    ['1', 0],
  ];
  for (const [sort, position] of refused) {
    const { status, json } = await service.request(`${at}?sort=${sort}`);
    assert.deepEqual(
      [status, json.data.sort?.code],
      [400, 'validation_invalid_sort'],
      `${sort} ${JSON.stringify(json)}`,
    );
    if (sort !== 'title%20desc') assert.equal(json.data.sort.params.position, position, sort);
    assert.equal(json.message, json.data.sort.message);
  }
});

test('Q-01 Q-03 Q-05 Q-08 Q-16 Q-21 a filter finds what it says, or is refused with its position', async (t) => {
  const service = await setUp(t);
  const filters: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["title='b'", ['b']],
    ["title~'B'", ['b', 'B']],
    ["title='it\\'s 100%'", ["it's 100%"]],
    ["title~'100\\%'", ["it's 100%"]],
    ["title=''' OR 1=1 --'", undefined],
    ["title='\\' OR 1=1 --'", []],
    ["title='a' || title='c' && n=1", ['a', 'c']],
    ["(title='a' || title='c') && n=1", ['c']],
    ["n>'abc'", []],
    ['n=null', []],
    ["when='2026-01-01T00:00:00Z'", ['a']],
    ["when>='2026-01-01'", ['a']],
    ["tags~'a'", ['b']],
    ['extra.a.0=1', ['b']],
    ['n=-1', ['B']],
    ['1=1', ['b', 'a', 'c', 'B', "it's 100%"]],
    [`${'('.repeat(32)}n=1${')'.repeat(32)}`, ['c']],
    [`title='${'a'.repeat(3_492)}'`, []],
    ...[
      `title='${'a'.repeat(3_493)}'`,
      `${'('.repeat(33)}n=1${')'.repeat(33)}`,
      '('.repeat(3_400),
      ' ',
      '()',
      '(',
      ')',
      'title',
      'title=',
      "title='b",
      'title==1',
      "when='notadate'",
      'n=1 &&',
      '&& n=1',
      'nope=1',
      'n=1;',
      'n=1--',
      'n=1e5',
      'n=1.',
      'n=99999999999999999999',
      'NOT n=1',
      '!n=1',
      '- - -1=1',
      'n＝1',
      'ʼa=1',
      "nаme='x'",
      'n\u00a0=1',
      'extra[0]=1',
      'extra.$.a=1',
      "extra.a'b=1",
      'title.x=1',
      '$position=1',
      'title:lower:lower=1',
      'title:nope=1',
      'geoDistance(1,2,3)=1',
      'nope(1)=1',
      '@nope=1',
      `title~'${'a'.repeat(257)}'`,
      Array.from({ length: 201 }, () => 'n=1').join('||'),
    ].map((filter) => [filter, undefined] as const),
  ];
  for (const [filter, expected] of filters) {
    const answer = await service.request(`${at}?filter=${encodeURIComponent(filter)}`);
    if (expected !== undefined) assert.deepEqual(titles(answer), expected, filter);
    else {
      assert.deepEqual(
        [answer.status, answer.json.data?.filter?.code],
        [400, 'validation_invalid_filter'],
        `${filter} ${answer.text}`,
      );
      assert.equal(Number.isInteger(answer.json.data.filter.params.position), true, filter);
    }
  }
});

test('Q-30 Q-43 only superusers may name what rules name, and a name with brackets is another name', async (t) => {
  const service = await setUp(t);
  const { json: locked } = await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'locked' },
  });
  for (const name of ['@request.', '@collection.']) {
    for (const query of [
      `filter=${name}auth.id=1`,
      `filter=title='${name}'`,
      `sort=${name}auth.id`,
      `filter=(&sort=${name}x`,
    ]) {
      const guest = await service.request(`${at}?${query}`);
      assert.deepEqual(
        [guest.status, guest.text],
        [403, `{"data":{},"message":"Only superusers can filter by ${name}","status":403}`],
        query,
      );
    }
    assert.equal((await service.request(`${at}?filter=title='${name}'`, { token: true })).status, 200);
    assert.equal(
      (await service.request(`/api/collections/${locked.id}/records?filter=${name}x=1`)).json.message,
      'Only superusers can perform this action.',
    );
  }
  assert.equal((await service.request(`${at}?filter[$ne]=nope=1&filter[]=(`)).json.totalItems, 5);
});

test('Q-25 fields keeps what it names, in the order of the record', async (t) => {
  const service = await setUp(t);
  const expected: readonly (readonly [string, unknown])[] = [
    ['title', { title: 'b' }],
    ['n,title', { title: 'b', n: 2 }],
    ['nope', {}],
    ['extra.a', { extra: { a: [1] } }],
    ['extra.nope', { extra: {} }],
    ['title.x', { title: 'b' }],
    ['%20title%20,,', { title: 'b' }],
  ];
  for (const [fields, item] of expected) {
    const answer = await service.request(`${at}?fields=${fields}&perPage=1`);
    assert.equal(JSON.stringify(answer.json.items), JSON.stringify([item]), fields);
    assert.deepEqual(envelope(answer), [1, 1, 1, 5, 5]);
  }
  const whole = await service.request(`${at}?perPage=1`);
  for (const fields of ['*', ',', 'title,*', '*,title'])
    assert.equal((await service.request(`${at}?perPage=1&fields=${fields}`)).text, whole.text, fields);
});

test('fields gives the beginning of a text without its HTML, in lists and in answers to writes', async (t) => {
  const service = await setUp(t);
  const title = '<p>Once <b>upon</b></p>a &amp; time';
  const fields = encodeURIComponent('title:excerpt(11,true),n');
  const made = await service.request(`${at}?fields=${fields}`, { method: 'POST', body: { title, n: 9 } });
  assert.deepEqual([made.status, made.json], [201, { title: 'Once upon a...', n: 9 }]);
  const listed = await service.request(`${at}?filter=n=9&fields=${fields}`);
  assert.deepEqual(listed.json.items, [{ title: 'Once upon a...', n: 9 }]);
  const whole = await service.request(`${at}?filter=n=9&fields=*,title:excerpt(100),extra:excerpt(5)`);
  assert.equal(whole.json.items[0].title, 'Once upon a & time');
  const wrong = await service.request(`${at}?fields=title:excerpt(many)`);
  assert.equal(wrong.status, 400);
  assert.deepEqual(Object.keys(wrong.json.data), ['fields']);
  // What a caller may not read is told first.
  await service.request('/api/collections/posts', {
    method: 'PATCH',
    token: true,
    body: { listRule: null, viewRule: null },
  });
  for (const path of [at, `${at}/nope`])
    assert.equal((await service.request(`${path}?fields=title:excerpt(many)`)).status, 403);
});
