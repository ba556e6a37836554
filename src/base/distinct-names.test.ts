import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distinctNames } from './distinct-names.ts';

test('names that differ only in case and separators get numbers, which are free', () => {
  const makeName = distinctNames({ existing: new Set(['error']) });
  assert.deepEqual(['posts', 'Posts', 'posts_3', '_posts', 'Error'].map(makeName), [
    'posts',
    'Posts2',
    'posts_3',
    '_posts4',
    'Error2',
  ]);
});

test('a name is free where all that is made of it is', () => {
  const formsOf = (name: string): readonly string[] => [`${name}list`, `list${name}`];
  assert.equal(distinctNames({ existing: new Set(['listposts']), formsOf })('posts'), 'posts2');
});
