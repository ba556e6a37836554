import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longId, startBlog } from '../support/blog.ts';

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
