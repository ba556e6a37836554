import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printable, printableLines, printableStyled } from './printable.ts';

test('what a terminal would obey or not show is written as JSON escapes it', () => {
  const unseen = [
    '\0',
    '\u001B',
    '\u007F',
    '\u0085',
    '\u009B',
    '\u00AD',
    '\u061C',
    '\u180E',
    '\u200B',
    '\u200D',
  ];
  const marks = ['\u200F', '\u2028', '\u2029', '\u202A', '\u202E', '\u2060', '\u2066', '\u2069', '\u3164'];
  for (const one of [...unseen, ...marks, '\uFEFF', '\uFFF9', '\uD800', '\u{E0001}', '\u{E0041}']) {
    const shown = printable(`a${one}b`);
    assert.match(shown, /^a(?:\\u[0-9a-f]{4})+b$/);
    assert.equal(JSON.parse(`"${shown}"`), `a${one}b`);
    assert.equal(printableLines(`a${one}b`), shown);
    assert.equal(printableStyled(`a${one}b`), shown);
  }
  for (const text of ['Größe 5 €', 'שלום', 'जगत्', '👍🏽 ❤️', '漢字', '\\u202e'])
    assert.equal(printable(text), text);
});

test('lines, tabs and colours stay only in the texts that have them', () => {
  assert.equal(printable('a\n\tb\r'), 'a\\u000a\\u0009b\\u000d');
  assert.equal(printableLines('a\n\tb\r\n'), 'a\n\tb\\u000d\n');
  assert.equal(printableLines('\u001B[31mred'), '\\u001b[31mred');
  assert.equal(printableStyled('\u001B[31mred\u001B[39m\u001B[2J\n'), '\u001B[31mred\u001B[39m\\u001b[2J\n');
});
