// Both engines: records are rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addPost, postsPath, startWithPosts } from '../support/open-posts.ts';

test('A2 A3 both paths serve the five operations, with the same bytes', async (t) => {
  const service = await startWithPosts(t);
  for (const [path, other] of [
    [postsPath, '/api/records/posts'],
    ['/api/records/posts', postsPath],
  ] as const) {
    const made = await addPost(
      service,
      { text: '<&>\u2028"', number: 1.5, bool: true, json: { b: 1, a: [] }, selects: ['b', 'a'] },
      path,
    );
    assert.equal(made.status, 201);
    const { id, created, updated, collectionId } = made.json;
    const expected = `{"collectionId":"${collectionId}","collectionName":"posts","id":"${id}","text":"<&>\u2028\\"","number":1.5,"bool":true,"email":"","url":"","date":"","select":"","selects":["b","a"],"json":{"b":1,"a":[]},"created":"${created}","updated":"${updated}"}`;
    assert.equal(made.text, expected);
    assert.equal(made.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.match(created, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(id, /^[a-z0-9]{15}$/);
    assert.equal((await service.request(`${other}/${id}`)).text, expected);
    assert.equal(
      (await service.request(`${other}?filter=id='${id}'`)).text,
      `{"items":[${expected}],"page":1,"perPage":30,"totalItems":1,"totalPages":1}`,
    );
    const changed = await service.request(`${other}/${id}`, { method: 'PATCH', body: { number: 2 } });
    assert.deepEqual(
      [changed.status, changed.json],
      [200, { ...made.json, number: 2, updated: changed.json.updated }],
    );
    const gone = await service.request(`${other}/${id}`, { method: 'DELETE' });
    assert.deepEqual([gone.status, gone.text], [204, '']);
    assert.equal((await service.request(`${path}/${id}`)).status, 404);
  }
});

/** Per field: what null, true, 1.5, "x", [] and {} become; a text in slashes is the code of the refusal. */
const unsupported = '/validation_unsupported_value_type/';
const invalid = '/validation_invalid_value/';
const notNumber = '/validation_not_a_number/';
const notEmail = '/validation_is_email/';
const notUrl = '/validation_is_url/';
const coercions: Readonly<Record<string, readonly unknown[]>> = {
  text: ['', 'true', '1.5', 'x', unsupported, unsupported],
  number: [0, 1, 1.5, notNumber, notNumber, notNumber],
  bool: [false, true, true, invalid, invalid, invalid],
  email: ['', notEmail, notEmail, notEmail, unsupported, unsupported],
  url: ['', notUrl, notUrl, notUrl, unsupported, unsupported],
  date: ['', invalid, '1970-01-01 00:00:01.500Z', invalid, invalid, invalid],
  select: ['', invalid, invalid, invalid, '', unsupported],
  selects: [[], invalid, invalid, invalid, [], unsupported],
  json: [null, true, 1.5, 'x', [], {}],
};

test('H-60 H-61 a value of another JSON type is normalised as documented or refused by field, never a 500', async (t) => {
  const service = await startWithPosts(t);
  for (const [name, expected] of Object.entries(coercions)) {
    for (const [index, value] of [null, true, 1.5, 'x', [], {}].entries()) {
      const answer = await addPost(service, { [name]: value });
      const wanted = expected[index];
      const what = `${name}: ${JSON.stringify(value)} ${answer.text}`;
      if (typeof wanted === 'string' && wanted.startsWith('/validation')) {
        assert.equal(answer.status, 400, what);
        assert.deepEqual(Object.keys(answer.json.data), [name]);
        if (name !== 'url') assert.equal(`/${answer.json.data[name].code}/`, wanted, what);
      } else assert.deepEqual([answer.status, answer.json[name]], [201, wanted], what);
    }
  }
  const odd = await addPost(service, {
    number: ' 12.5 ',
    bool: 't',
    date: '2026-02-28',
    select: ['b', 'a'],
    selects: '["a","a","c"]',
    json: '{"a":1}',
  });
  const { number, bool, date, select, selects, json } = odd.json;
  assert.deepEqual(
    { number, bool, date, select, selects, json },
    {
      number: 12.5,
      bool: true,
      date: '2026-02-28 00:00:00.000Z',
      select: 'a',
      selects: ['a', 'c'],
      json: { a: 1 },
    },
  );
  const many = await addPost(service, {
    selects: ['a', 'b', 'c'],
    text: 'x'.repeat(21),
    number: 'Infinity',
    date: '2026-02-30',
    json: '[1e400]',
  });
  assert.deepEqual(
    Object.keys(many.json.data).map((name) => `${name} ${many.json.data[name].code}`),
    [
      'text validation_max_text_constraint',
      'number validation_not_a_number',
      'date validation_invalid_value',
      'selects validation_too_many_values',
      'json validation_invalid_json',
    ],
  );
});

test('I-03 an id may be chosen by its pattern, is unique, and differs for no other collection', async (t) => {
  const service = await startWithPosts(t);
  const codes: readonly (readonly [unknown, string | undefined])[] = [
    ['a'.repeat(15), undefined],
    ['a'.repeat(15), 'validation_not_unique'],
    ['A'.repeat(15), 'validation_invalid_format'],
    ['a'.repeat(14), 'validation_min_text_constraint'],
    ['a'.repeat(16), 'validation_max_text_constraint'],
    ['../../../../etc', 'validation_invalid_format'],
    ['-aaaaaaaaaaaaaa', 'validation_invalid_format'],
    ['aaaaaaaaaaaaaa\n', 'validation_invalid_format'],
    [5, 'validation_min_text_constraint'],
    ['', undefined],
    [null, undefined],
  ];
  for (const [id, code] of codes) {
    const answer = await addPost(service, { id });
    assert.deepEqual(
      [answer.status, answer.json.data?.id?.code],
      [code === undefined ? 201 : 400, code],
      JSON.stringify(id),
    );
  }
  const elsewhere = await service.request('/api/records/locked', {
    method: 'POST',
    token: true,
    body: { id: 'a'.repeat(15) },
  });
  assert.equal(elsewhere.status, 201);
});

test('I-01 an id of a path is looked up as it is: odd ones are not found', async (t) => {
  const service = await startWithPosts(t);
  for (const id of [
    '..%2f',
    '%2e%2e%2f',
    'a%2Fb',
    'a%5Cb',
    '%27',
    '%22',
    '1%20OR%201=1',
    'A'.repeat(15),
    '%E2%80%AE',
    'a'.repeat(300),
    '$position',
    'constructor',
    '*',
  ])
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const answer = await service.request(`${postsPath}/${id}`, {
        method,
        ...(method === 'PATCH' ? { body: {} } : {}),
      });
      assert.deepEqual(
        [answer.status, answer.text],
        [404, '{"data":{},"message":"The requested resource wasn\'t found.","status":404}'],
        `${method} ${id}`,
      );
    }
});

test('section 6: the collection is looked for first, then the rule asked, then the record, then the values', async (t) => {
  const service = await startWithPosts(t);
  const table: readonly (readonly [string, string, unknown, number, string])[] = [
    ['GET', '/api/records/nope?page=x&filter=(', undefined, 404, 'Missing collection context.'],
    ['GET', '/api/records/nope/x', undefined, 404, 'Missing collection context.'],
    ['DELETE', '/api/records/nope/x', undefined, 404, 'Missing collection context.'],
    [
      'GET',
      '/api/records/locked?page=x&filter=(',
      undefined,
      403,
      'Only superusers can perform this action.',
    ],
    ['GET', '/api/records/locked/nope', undefined, 403, 'Only superusers can perform this action.'],
    ['POST', '/api/records/locked', { id: 5 }, 403, 'Only superusers can perform this action.'],
    [
      'POST',
      '/api/records/locked',
      '{',
      400,
      "The text is not valid JSON: expected property name or '}' at position 1.",
    ],
    ['PATCH', '/api/records/locked/nope', {}, 403, 'Only superusers can perform this action.'],
    ['DELETE', '/api/records/locked/nope', undefined, 403, 'Only superusers can perform this action.'],
    ['GET', '/api/records/_superusers', undefined, 403, 'Only superusers can perform this action.'],
    ['PATCH', `${postsPath}/nope`, { id: 5, email: 'x' }, 404, "The requested resource wasn't found."],
    ['POST', postsPath, { email: 'x' }, 400, 'Failed to create record.'],
  ];
  for (const [method, path, body, status, message] of table) {
    const answer = await service.request(path, { method, ...(body === undefined ? {} : { body }) });
    assert.deepEqual([answer.status, answer.json.message], [status, message], `${method} ${path}`);
  }
  const { json } = await addPost(service, {});
  const refused = await service.request(`${postsPath}/${json.id}`, { method: 'PATCH', body: { email: 'x' } });
  assert.equal(refused.json.message, 'Failed to update record.');
});
