import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateFromPattern, generatorPlan } from './generate-from-pattern.ts';
import { linearPattern } from './linear-pattern.ts';
import { parsePattern } from './parse-pattern.ts';
import { PatternError } from './pattern-cursor.ts';

const plan = (source: string) => generatorPlan(parsePattern(source));

test('every generated text matches its pattern as a whole', () => {
  const patterns = [
    '[a-z0-9]{15}',
    '[a-zA-Z0-9]{50}',
    'user_[0-9]{2,6}(a|bc|)\\w*',
    '^ORD-\\d{4}-[A-F]+$',
    '.{3}',
    '[^a-z]{5}',
    'a?b*?c+',
    '(?i)abc',
    '\\p{Greek}{4}',
    '\\pL+',
    '(x{2,}){3}',
    '\\D\\W\\S\\s',
    'é😀',
    '',
  ];
  for (const source of patterns) {
    const whole = linearPattern(parsePattern(`\\A(?:${source})\\z`));
    const made = plan(source);
    for (let turn = 0; turn < 200; turn++) {
      const text = generateFromPattern(made);
      assert.ok(whole.test(text), `${source} gave ${JSON.stringify(text)}`);
      assert.ok(text.isWellFormed() && !text.includes('\0'), source);
    }
  }
});

test('open repetitions add at most six', () => {
  const longest = (source: string) => generateFromPattern(plan(source), (count) => count - 1);
  assert.equal(longest('a*'), 'a'.repeat(6));
  assert.equal(longest('a+'), 'a'.repeat(7));
  assert.equal(longest('a{2,}'), 'a'.repeat(8));
  assert.equal(longest('a{2,9}'), 'a'.repeat(9));
});

test('two generated ids differ, and every character of a set comes up', () => {
  const id = plan('[a-z0-9]{15}');
  const ids = Array.from({ length: 500 }, () => generateFromPattern(id));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(new Set(ids.join('')).size, 36);
});

test('patterns that no text can be made of, or only too long ones, are refused', () => {
  const patterns = [
    'a\\bb',
    'a^b',
    'a$b',
    '(?m)^a',
    '\\x00',
    '[^\\x00-\\x{10FFFF}]',
    '(((((a*)*)*)*)*)*',
    '((a{1000}){10})',
  ];
  for (const source of patterns) assert.throws(() => plan(source), PatternError, source);
});
