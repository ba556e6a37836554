import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldCase, folds, foldUtf8, formsOf } from './case-folding.ts';

/** Every character that has case, or folds to another. */
const cased = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((one) => one.toLowerCase() !== one || one.toUpperCase() !== one || foldCase(one) !== one);

test('two characters fold to one exactly if the regular expressions of the language take them for equal without regard to case', () => {
  const text = cased.join('');
  const byFold = Map.groupBy(cased, foldCase);
  // Newer than the tables of the language: forms that differ in no letter but in how they are composed.
  const newer = new Set('\u0390\u1fd3\u03b0\u1fe3\ufb05\ufb06');
  for (const one of cased) {
    if (newer.has(one)) continue;
    const equal = text.match(new RegExp(one, 'giu')) ?? [];
    assert.deepEqual(equal.toSorted(), byFold.get(foldCase(one))?.toSorted(), `of ${one}`);
  }
});

test('folds are final, and keep the number of characters', () => {
  assert.equal(folds().size, 1_512);
  for (const [from, to] of folds()) {
    assert.equal(foldCase(to), to);
    assert.ok(formsOf(to).includes(from));
  }
  assert.equal(foldCase('İı ſSs KKk ß ẞ ΣΣς Å Ǆǅ ꭰᎠ 𐐀'), 'İı sss kkk ß ß σσσ å ǆǆ ᎠᎠ 𐐨');
});

test('bytes fold as their text does, and bytes that are no UTF-8 stay', () => {
  const all = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .join('');
  const bytes = new TextEncoder().encode(all);
  assert.equal(new TextDecoder('utf-8', { ignoreBOM: true }).decode(foldUtf8(bytes)), foldCase(all));
  for (const odd of [
    [0xff, 0x41],
    [0xc3],
    [0xe2, 0x84, 0x41],
    [0xf0, 0x90, 0x90],
    [0xc0, 0x80, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
  ])
    assert.deepEqual(
      [...foldUtf8(Uint8Array.from(odd))],
      odd.map((byte) => (byte === 0x41 ? 0x61 : byte)),
    );
});
