import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSelect } from './select-text.ts';

test('comments and the semicolon at the end go, and texts and names stay', () => {
  const cases = [
    ['SELECT id -- the key\nFROM posts;', 'SELECT id FROM posts'],
    ['SELECT \'-- no ; comment\', "a b" FROM x /* here */ ; ', 'SELECT \'-- no ; comment\', "a b" FROM x'],
    ['SELECT 1 -/**/-1', 'SELECT 1 - -1'],
    ["SELECT 'it''s' FROM `x`", "SELECT 'it''s' FROM `x`"],
  ];
  for (const [source = '', text] of cases) {
    const select = readSelect(source);
    assert.equal(typeof select === 'string' ? select : select.text, text);
  }
});

test('the columns are those of the outermost SELECT, and what is known of their types', () => {
  const cases = [
    ['SELECT a, b.c AS d, "e" f FROM x', 'column column column'],
    ['WITH x AS (SELECT 1, 2) SELECT DISTINCT a FROM x', 'column'],
    ['SELECT COUNT(*), count(a) + 1, TOTAL(a) t, (SELECT 1), 1 one', 'integer other number other other'],
    ['SELECT CAST(a AS varchar(20)) b, CAST(a AS INTEGER), a::double precision d', 'text integer number'],
    ['SELECT CAST(a AS bool), CAST(a AS date), CAST(1 AS text) || a', 'bool other other'],
  ];
  for (const [source = '', columns] of cases) {
    const select = readSelect(source);
    assert.equal(typeof select === 'string' ? select : select.columns?.join(' '), columns, source);
  }
  const values = readSelect('VALUES (1)');
  assert.ok(typeof values !== 'string' && values.columns === undefined);
});

test('what is not one plain SELECT has a problem', () => {
  const sources = [
    '',
    ' ; ',
    '-- nothing',
    'SELECT 1; SELECT 2',
    'SELECT ?',
    'SELECT $1',
    "SELECT E'\\''",
    "SELECT 'a",
    'SELECT "a',
    'SELECT `a b`',
    'SELECT /* a',
    'SELECT a.*',
    'SELECT *, b',
    'SELECT "a:b"',
    'SELECT 1\u0000',
  ];
  for (const source of sources) assert.equal(typeof readSelect(source), 'string', source);
  assert.notEqual(typeof readSelect('SELECT count(*), a * 2 FROM x'), 'string');
});

test('words are what a query names, in lower case', () => {
  const select = readSelect('SELECT p.id FROM Posts p UNION SELECT "Id" FROM x');
  assert.ok(typeof select !== 'string');
  assert.ok(['posts', 'id', 'x'].every((word) => select.words.has(word)));
  assert.equal(select.isCompound, true);
});
