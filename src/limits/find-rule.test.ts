import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRule } from './rate-limiter.ts';

const labels = ['posts:create', '*:create', 'POST /api/posts/records', '/api/posts/records'];

/** The label of the rule that is found among rules for everybody, or those with an audience after `@@`. */
function found(
  rules: readonly string[],
  asked: { labels?: readonly string[]; isGuest?: boolean } = {},
): string {
  const list = rules.map((text) => {
    const [label = '', audience = ''] = text.split('@@');
    return { label, audience, duration: 1, maxRequests: 1 };
  });
  const rule = findRule(list, { labels, isGuest: true, ...asked });
  return rule === undefined ? 'none' : `${rule.label}@@${rule.audience}`.replace(/@@$/, '');
}

test('section 4: the most particular label wins, wherever its rule stands', () => {
  const rules = ['/api/', '/api/posts/records', 'POST /api/posts/records', '*:create', 'posts:create'];
  for (let count = rules.length; count > 1; count -= 1)
    assert.equal(found(rules.slice(0, count)), rules[count - 1]);
  assert.equal(found(['/api/']), '/api/');
});

test('section 4: prefixes are tried after each label, in the order of the rules', () => {
  assert.equal(found(['/api/posts/records', 'POST /api/']), 'POST /api/');
  assert.equal(found(['/api/', '/api/posts/']), '/api/');
  assert.equal(found(['/api/posts/', '/api/']), '/api/posts/');
  assert.equal(found(['/api/posts/records/']), '/api/posts/records/');
  assert.equal(
    found(['/api', '/api/post', 'GET /api/', '/api/posts/records/x', '/other/', '*:update']),
    'none',
  );
  assert.equal(found(['/']), '/');
  assert.equal(found([]), 'none');
});

test('section 4: a rule for another audience is as good as none', () => {
  const rules = ['posts:create@@@auth', '*:create@@@guest', '/api/'];
  assert.equal(found(rules), '*:create@@@guest');
  assert.equal(found(rules, { isGuest: false }), 'posts:create@@@auth');
  assert.equal(found(['posts:create@@@auth', '/api/']), '/api/');
});
