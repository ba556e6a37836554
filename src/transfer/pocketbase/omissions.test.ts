import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Omissions } from './omissions.ts';

test('kinds beyond a thousand are counted, however they come in', () => {
  const omissions = new Omissions();
  const others = new Omissions();
  for (let at = 0; at < 1_002; at += 1) omissions.add({ of: 'notes', what: `field ${at}`, why: 'x' });
  for (let at = 0; at < 1_003; at += 1) others.add({ of: 'others', what: `field ${at}`, why: 'x' });
  omissions.addAll(others);
  const told = omissions.all();
  assert.equal(told.length, 1_001);
  assert.deepEqual(told.at(-1), {
    kind: 'left out',
    of: 'the source',
    what: 'more',
    why: 'Only 1,000 kinds are listed.',
    count: 2 + 1_003,
    examples: [],
  });
});
