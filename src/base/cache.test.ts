import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GenerationCache, StateCache } from './cache.ts';

test('used entries stay, and unused ones are evicted', () => {
  const map = new GenerationCache<number, string>(2);
  map.add(0, 'asked for');
  for (let key = 1; key <= 10; key += 1) {
    map.add(key, 'once');
    assert.equal(map.find(0), 'asked for');
  }
  assert.equal(map.find(1), undefined);
  assert.equal(map.find(10), 'once');
});

test('a missing entry is made once', () => {
  const map = new GenerationCache<string, string>(2);
  const made: string[] = [];
  const make = (key: string): string => {
    made.push(key);
    return `made for ${key}`;
  };
  for (const key of ['a', 'a', 'b']) assert.equal(map.findOrAdd(key, make), `made for ${key}`);
  assert.deepEqual(made, ['a', 'b']);
});

test('it never holds more than two generations', () => {
  const map = new GenerationCache<number, number>(3);
  for (let key = 0; key < 100; key += 1) map.add(key, key);
  const found = Array.from({ length: 100 }, (_, key) => map.find(key)).filter((value) => value !== undefined);
  assert.ok(found.length <= 6, `${found.length} are left`);
});

test('a value that is added again replaces the one before', () => {
  const map = new GenerationCache<string, number>(2);
  map.add('a', 1);
  map.add('a', 2);
  assert.equal(map.find('a'), 2);
  map.clear();
  assert.equal(map.find('a'), undefined);
});

test('a generation holds as many as are that large together', () => {
  const map = new GenerationCache<number, string>(100, (text, key) => text.length + key);
  for (let key = 0; key < 50; key += 1) {
    map.add(key, 'x'.repeat(50 - key));
    const found = Array.from({ length: key + 1 }, (_, one) => map.find(one)).filter(
      (text) => text !== undefined,
    );
    assert.ok(found.length <= 4, `${found.length} are left`);
    assert.equal(map.find(key)?.length, 50 - key);
  }
});

test('an evicted entry is reported once, and a cached one never', () => {
  const told: number[] = [];
  const one = (): number => 1;
  const map = new GenerationCache<number, number>(3, one, (value) => told.push(value));
  const count = 100;
  for (let key = 0; key < count; key += 1) {
    map.add(key, key);
    // Of any age, so that some go on into the next generation in the very moment that theirs is dropped.
    for (const earlier of [key - 4, key - 1, 0]) {
      const found = map.find(earlier);
      assert.ok(found === undefined || !told.includes(found), `${found} is found after it was dropped`);
    }
  }
  assert.ok(told.length >= count - 6, `${told.length} were dropped`);
  map.clear();
  const all = Array.from({ length: count }, (_, key) => key);
  assert.deepEqual(
    told.toSorted((a, b) => a - b),
    all,
  );
});

test('a value that was added twice in a state is found in it, and in no other', () => {
  const cache = new StateCache<string>(100, (text, key) => text.length + key.length);
  const [state, next] = [{}, {}];
  cache.add(state, 'key', 'value');
  assert.equal(cache.find(state, 'key'), undefined);
  cache.add(state, 'key', 'value');
  assert.equal(cache.find(state, 'key'), 'value');
  assert.equal(cache.find(state, 'other'), undefined);
  assert.equal(cache.find(next, 'key'), undefined);
  for (let times = 0; times < 2; times += 1) cache.add(next, 'key', 'new');
  assert.equal(cache.find(next, 'key'), 'new');
  assert.equal(cache.find(state, 'key'), undefined);
});

test('of too many values of a state the last ones are found', () => {
  const state = {};
  const cache = new StateCache<number>(10, () => 1);
  for (let key = 0; key < 100; key += 1)
    for (let times = 0; times < 2; times += 1) cache.add(state, `${key}`, key);
  assert.deepEqual([cache.find(state, '99'), cache.find(state, '0')], [99, undefined]);
});
