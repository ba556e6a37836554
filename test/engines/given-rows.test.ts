import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import type { InlineColumn, Tuple } from '../../src/storage/database.ts';
import { describeEngines } from '../support/engines.ts';

const columns: readonly InlineColumn[] = [
  ['text', 'text'],
  ['number', 'number'],
  ['bytes', 'bytes'],
];

describeEngines('rows that are given to a statement', (open) => {
  test('come back with their values, whatever they are', async (t) => {
    const database = await open(t);
    const rows: readonly Tuple[] = [
      ['', 0, new Uint8Array()],
      [`"'\\{},$1?\n\u{1F600}\u4E2D`, 2 ** 53 - 1, new Uint8Array([0, 255, 63, 39])],
      ['NULL', -0.5, new Uint8Array(70_000).fill(7)],
      ['null', 1e21, new Uint8Array([1, 2, 3]).subarray(1, 2)],
      [null, null, null],
    ];
    assert.deepEqual(await ask(rows), rows);
    assert.deepEqual(await ask([[null, null, null]]), [[null, null, null]]);
    assert.deepEqual(await ask([['half \uD800', 5, null]]), [['half \uFFFD', 5, null]]);

    async function ask(given: readonly Tuple[]): Promise<readonly Tuple[]> {
      const found = await database.tuples(
        sql`SELECT text, number, bytes FROM ${database.names.valuesTable(columns, given)}`,
      );
      return found.map(([text = null, number = null, bytes = null]) => [
        text,
        number === null ? null : Number(number),
        bytes instanceof Uint8Array ? new Uint8Array(bytes) : bytes,
      ]);
    }
  });

  test('have one SQL text, however many they are', async (t) => {
    const database = await open(t);
    const one: Tuple = ['a', 1, null];
    const { text } = database.names.valuesTable(columns, [one]);
    assert.equal(database.names.valuesTable(columns, [one, one, [null, null, new Uint8Array(1)]]).text, text);
  });
});
