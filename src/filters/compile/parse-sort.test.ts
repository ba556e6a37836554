import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { AppError } from '../../base/errors.ts';
import { parseSort } from './sort.ts';

const understood: readonly (readonly [text: string, keys: string])[] = [
  ['title', 'title+0'],
  ['-created,+title,price', 'created-1 title+10 price+16'],
  [' -created ,\ttitle ', 'created-2 title+12'],
  ['@random', '@random+0'],
  ['-@rowid', '@rowid-1'],
  ['data.a.0', 'data.a.0+0'],
  ['a,a', 'a+0 a+2'],
];

for (const [text, keys] of understood) {
  test(`the sort ${JSON.stringify(text)} is understood`, () => {
    const found = parseSort(text).map((key) => `${key.name}${key.isDescending ? '-' : '+'}${key.position}`);
    assert.equal(found.join(' '), keys);
  });
}

const refused: readonly (readonly [text: string, message: string])[] = [
  ['', 'Expected the name of a field and found nothing at position 0.'],
  ['a,', 'Expected the name of a field and found nothing at position 2.'],
  ['a,,b', 'Expected the name of a field and found nothing at position 2.'],
  ['-', 'Expected the name of a field and found nothing at position 1.'],
  ['--a', 'Expected the name of a field and found "-a" at position 1.'],
  ['- a', 'Expected the name of a field and found " a" at position 1.'],
  ['a b', 'Expected the name of a field and found "a b" at position 0.'],
  ['a;DROP', 'Expected the name of a field and found "a;DROP" at position 0.'],
  ['5', 'Expected the name of a field and found "5" at position 0.'],
  ["'a'", `Expected the name of a field and found "'a'" at position 0.`],
  ['a.', 'Expected the name of a field and found "a." at position 0.'],
  ['@', 'Expected the name of a field and found "@" at position 0.'],
  ['f(a)', 'Expected the name of a field and found "f(a)" at position 0.'],
];

for (const [text, message] of refused) {
  test(`the sort ${JSON.stringify(text)} is refused with its position`, () => {
    assert.throws(() => parseSort(text), { code: 'bad_request', message });
  });
}

test('eight sort keys are accepted and nine refused', () => {
  assert.equal(parseSort('a,b,c,d,e,f,g,h').length, 8);
  assert.throws(() => parseSort('a,b,c,d,e,f,g,h,i'), /at most 8 sort keys; one more at position 16/);
});

test('a sort key of 255 characters without its sign is accepted and one of 256 refused', () => {
  assert.equal(parseSort(`-${'a'.repeat(255)}`).length, 1);
  assert.throws(() => parseSort('a'.repeat(256)), /at most 255 characters/);
});

test('whatever the sort, it is understood or refused', (context) => {
  const seed = 20_261_120;
  context.diagnostic(`seed ${seed}`);
  const unit = fc.constantFrom('a', 'B', '.', ':', '-', '+', ',', ' ', '@', '_', '1', "'", 'ü');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
      try {
        for (const { name, position } of parseSort(text))
          assert.equal(text.slice(position, position + name.length), name);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
      }
    }),
    { numRuns: 5_000, seed },
  );
});
