import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { numberPlaceholders } from './postgres-connection.ts';
import { advisoryKey, physicalColumn, physicalName, postgresNames } from './postgres-names.ts';
import { StatementNames } from './prepared-statements.ts';

test('names are qualified, and rows of shared tables are scoped by the instance', () => {
  const names = postgresNames('i_abc', 'abc');
  assert.equal(names.collectionTable('posts').text, '"i_abc"."posts"');
  assert.equal(names.collectionTable('a"b').text, '"i_abc"."a""b"');
  assert.equal(names.column('title').text, '"title"');
  assert.equal(names.table('$event').text, 'chancery."event"');
  assert.equal(names.table('$event'), postgresNames('i_xyz', 'xyz').table('$event'));
  for (const [{ text, values }, expected] of [
    [names.instance.condition, 'instance_id = ?'],
    [names.instance.conditionOf('e'), '"e".instance_id = ?'],
  ] as const)
    assert.deepEqual([text, values], [expected, ['abc']]);
  assert.notEqual(
    names.collectionTable('posts').text,
    postgresNames('i_xyz', 'xyz').collectionTable('posts').text,
  );
});

test('names that are too long stay different, and fit', () => {
  const [a, b, accented] = [`${'x'.repeat(70)}a`, `${'x'.repeat(70)}b`, 'é'.repeat(40)].map(physicalName);
  assert.notEqual(a, b);
  for (const name of [a, b, accented]) {
    assert.ok(Buffer.byteLength(name ?? '') <= 63);
    assert.match(name ?? '', /^[xé]{20,}\$[a-z0-9]{13}$/);
  }
  assert.equal(physicalName('x'.repeat(63)), 'x'.repeat(63));
});

test("a column that PostgreSQL has in every table gets a name that is nobody else's", () => {
  const names = postgresNames('i_abc', 'abc');
  for (const name of ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']) {
    assert.equal(physicalColumn(name), `${name}$`);
    assert.equal(names.column(name).text, `"${name}$"`);
    assert.equal(names.column(name.toUpperCase()).text, `"${name.toUpperCase()}"`);
    assert.equal(names.bareName(name).text, `"${name}"`);
    assert.equal(names.collectionTable(name).text, `"i_abc"."${name}"`);
  }
  assert.equal(physicalColumn('x'.repeat(70)), physicalName('x'.repeat(70)));
});

test('the key of an instance fits into a bigint of the server', () => {
  for (const id of ['a', 'b', 'abc', 'zzzzzzzzzzzzzzz']) {
    const key = advisoryKey(id);
    assert.ok(key >= -(2n ** 63n) && key < 2n ** 63n);
  }
  assert.notEqual(advisoryKey('a'), advisoryKey('b'));
});

test('placeholders are numbered, and what stands between quotes is left alone', () => {
  for (const [text, numbered] of [
    ['SELECT ?, ?', 'SELECT $1, $2'],
    [
      `SELECT '?', "a?b", ? WHERE x = 'it''s ?' AND y = ?`,
      `SELECT '?', "a?b", $1 WHERE x = 'it''s ?' AND y = $2`,
    ],
    [`SELECT "?""?", '''?' || ?`, `SELECT "?""?", '''?' || $1`],
    ['SELECT 1', 'SELECT 1'],
  ] as const) {
    assert.equal(numberPlaceholders(text), numbered);
    assert.equal(numberPlaceholders(text), numbered);
  }
});

test('a text is prepared when it comes again, and dropped when it is unused', () => {
  const names = new StatementNames(2);
  assert.equal(names.nameOf('a'), undefined);
  const name = names.nameOf('a');
  assert.match(name ?? '', /^c\d+$/);
  names.noteSuccess('a');
  for (const text of ['b', 'c', 'd', 'e', 'f']) names.nameOf(text);
  assert.deepEqual(names.takeDropped(), [name]);
  assert.deepEqual(names.takeDropped(), []);
  assert.equal(names.nameOf('a'), undefined);
  assert.notEqual(names.nameOf('a'), name);
  assert.equal(new StatementNames(0).nameOf('a') ?? new StatementNames(0).nameOf('a'), undefined);
});

test('texts are remembered by how long they are together, and a session that had too much is opened anew', () => {
  const names = new StatementNames(1_000);
  const long = (number: number): string => `${number}`.padEnd(1024 * 1024);
  assert.equal(names.nameOf('a'), undefined);
  for (const number of [1, 2, 3, 4]) names.nameOf(long(number));
  assert.equal(names.nameOf('a'), undefined);
  for (let number = 1; !names.isExhausted; number += 1) {
    assert.ok(number <= 8);
    names.nameOf(long(-number));
    assert.notEqual(names.nameOf(long(-number)), undefined);
  }
});

test('numbered texts are kept for as long as they are not too much together', () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const heldBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heldBytes();
  for (let number = 0; number < 200; number += 1) numberPlaceholders(`? ${'x'.repeat(400_000)} ${number}`);
  assert.ok(heldBytes() - before < 64 * 1024 * 1024);
});
