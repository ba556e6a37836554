import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateFromPattern, generatorPlan } from './generate-from-pattern.ts';
import { isMatch, PatternError } from './pattern.ts';

test('every generated text matches its pattern as a whole', () => {
  const patterns = [
    '[a-z0-9]{15}',
    '[a-zA-Z0-9]{50}',
    'user_[0-9]{2,6}(a|bc|)\\w*',
    '^ORD-\\d{4}-[A-F]+$',
    '.{3}',
    '[^a-z]{5}',
    'a?b*?c+',
    '[[:alnum:]]{3}[^[:punct:]]',
    '(?P<kind>a|b)(?:-|_){2}',
    '\\AA\\.\\x42\\z',
    '[а-яё]{4}[^\\x00-\\x7f][😀😁]',
    '\\t\\n\\x{e9}',
    'a{,2}b{02}',
    '\\pL+',
    '(x{2,}){3}',
    '\\D\\W\\S\\s',
    'é😀',
    '',
  ];
  for (const source of patterns) {
    const made = generatorPlan(source);
    for (let turn = 0; turn < 200; turn++) {
      const text = generateFromPattern(made);
      assert.ok(isMatch(`\\A(?:${source})\\z`, text), `${source} gave ${JSON.stringify(text)}`);
      assert.ok(text.isWellFormed() && !text.includes('\0'), source);
    }
  }
});

test('open repetitions add at most six', () => {
  const longest = (source: string) => generateFromPattern(generatorPlan(source), (count) => count - 1);
  assert.equal(longest('a*'), 'a'.repeat(6));
  assert.equal(longest('a+'), 'a'.repeat(7));
  assert.equal(longest('a{2,}'), 'a'.repeat(8));
  assert.equal(longest('a{2,9}'), 'a'.repeat(9));
});

test('two generated ids differ, and every character of a set comes up', () => {
  const id = generatorPlan('[a-z0-9]{15}');
  const ids = Array.from({ length: 500 }, () => generateFromPattern(id));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(new Set(ids.join('')).size, 36);
});

test('every character of a class is equally likely, however often it is named', () => {
  const counts: number[] = [];
  generateFromPattern(generatorPlan('[a-cb-da]'), (count) => counts.push(count) - counts.length);
  assert.deepEqual(counts, [1, 4]);
});

test('patterns that no text can be made of, or only too long ones, are refused', () => {
  const patterns = [
    'a\\bb',
    'a^b',
    'a$b',
    '(?m)^a',
    '(?i)a',
    '(?i:a)',
    '\\p{Greek}',
    '[一-伬]',
    '\\Qab\\E',
    '\\x00',
    '[^\\x00-\\x{10FFFF}]',
    '(((((a*)*)*)*)*)*',
    '((a{1000}){10})',
    '(a{1000}b{1000}){3}',
    '.'.repeat(211),
  ];
  for (const source of patterns) assert.throws(() => generatorPlan(source), PatternError, source);
});
