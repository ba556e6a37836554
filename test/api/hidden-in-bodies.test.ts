// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longId, startBlog } from '../support/blog.ts';
import { startService } from '../support/service.ts';

test('a hidden field that a caller may not write is in no rule a member that was sent', async (t) => {
  const { ask, askAsGuest } = await startBlog(t);
  const bodies = [{ nickname: 'x' }, { 'nickname:autogenerate': 'x' }, { nickname: 'x', 'nickname+': 'y' }];
  const cases: readonly (readonly [rule: string, isAllowed: boolean])[] = [
    ['@request.body.nickname:isset = true', false],
    ['@request.body.nickname:isset = false', true],
    ['@request.body.nickname:changed = true', false],
    ['@request.body.nickname = null', true],
    ["@request.body.nickname = 'x' || @request.body.nickname = 'xy'", false],
    ['@request.body.name:isset = true && @request.body.other:isset = true', true],
  ];
  for (const [rule, isAllowed] of cases) {
    const saved = await ask('PATCH', '/people', { createRule: rule, updateRule: rule });
    assert.equal(saved.status, 200, saved.text);
    for (const body of bodies) {
      const sent = { name: 'Eve', other: 1, ...body };
      const made = await askAsGuest('POST', '/people/records', sent);
      assert.equal(made.status, isAllowed ? 201 : 400, `${rule} ${JSON.stringify(body)}: ${made.text}`);
      const changed = await askAsGuest('PATCH', `/people/records/${longId('ann')}`, sent);
      assert.equal(changed.status, isAllowed ? 200 : 404, `${rule} ${JSON.stringify(body)}: ${changed.text}`);
    }
  }
  assert.equal((await ask('GET', `/people/records/${longId('ann')}`)).json.nickname, 'A');
});

test('the password of an account, which is hidden, is sent by whoever sends one', async (t) => {
  const { ask, askAsGuest } = await startBlog(t);
  const saved = await ask('PATCH', '/users', { createRule: '@request.body.password:isset = true' });
  assert.equal(saved.status, 200, saved.text);
  const password = 'correct horse';
  const body = { email: 'eve@example.com', password, passwordConfirm: password };
  assert.equal((await askAsGuest('POST', '/users/records', body)).status, 201);
});

test('I-33 a refusal names no hidden field to a caller who is not a superuser', async (t) => {
  const service = await startService(t);
  const text = (name: string, more: object): object => ({ name, type: 'text', ...more });
  const rules = { createRule: '', updateRule: '', listRule: '' };
  const hidden = { autogeneratePattern: 'same', hidden: true };
  const define = (name: string, fields: readonly object[], indexes: readonly string[]) => {
    const body = { name, ...rules, fields, indexes };
    return service.request('/api/collections', { method: 'POST', token: true, body });
  };
  await define('alone', [text('secret', hidden)], ['CREATE UNIQUE INDEX alone_secret ON alone (secret)']);
  await define(
    'pairs',
    [text('secret', hidden), text('title', {})],
    ['CREATE UNIQUE INDEX pairs_both ON pairs (secret, title)'],
  );
  await define(
    'needed',
    [text('secret', { hidden: true, required: true }), text('title', { required: true })],
    [],
  );
  const unique = 'validation_not_unique';
  const required = 'validation_required';
  for (const [collection, codes, all] of [
    ['alone', {}, { secret: unique }],
    ['pairs', { title: unique }, { secret: unique, title: unique }],
    ['needed', { title: required }, { secret: required, title: required }],
  ] as const) {
    const add = (token?: true) =>
      service.request(`/api/records/${collection}`, { method: 'POST', body: {}, ...(token && { token }) });
    await add();
    for (const [answer, expected] of [
      [await add(), codes],
      [await add(true), all],
    ] as const) {
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.json.message, 'Failed to create record.');
      const problems: Readonly<Record<string, { readonly code: string }>> = answer.json.data;
      const told = Object.entries(problems).map(([name, { code }]) => [name, code]);
      assert.deepEqual(Object.fromEntries(told), expected);
    }
  }
  const first = await service.request('/api/records/alone?perPage=1', { token: true });
  const other = await service.request('/api/records/alone', {
    method: 'POST',
    token: true,
    body: { secret: 'other' },
  });
  assert.equal(first.json.items[0].secret, 'same');
  const change = { method: 'PATCH', body: { secret: 'same' } } as const;
  const path = `/api/records/alone/${other.json.id}`;
  assert.deepEqual(
    (await service.request(path, change)).status,
    200,
    'a hidden field that is sent is ignored',
  );
  assert.equal((await service.request(path, { ...change, token: true })).json.data.secret.code, unique);
});
