import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTurns } from '../../test/support/count-turns.ts';
import { parseFields, pickFields } from './projection.ts';
import { projectTexts } from './project-texts.ts';

const texts = (count: number, html: string): readonly string[] =>
  Array.from({ length: count }, (_, id) => JSON.stringify({ id, html, more: { a: 1, b: [1, 2] } }));

const shapes: readonly (readonly [name: string, count: number, html: string, turnsMin: number])[] = [
  ['a few small records', 3, '<p>Hello</p>', 0],
  ['many small records', 10_000, '<p>Hello, this is a text.</p>', 3],
  ['excerpts of nothing but tags', 6, '<b></b>'.repeat(150_000), 6 * 4],
  ['excerpts of nothing but blanks', 6, ' '.repeat(1_000_000), 6 * 3],
  ['an excerpt of a text that is full at once', 1, 'x'.repeat(4_000_000), 1],
];

for (const [name, count, html, turnsMin] of shapes)
  for (const fields of ['id,html:excerpt(100,true),more.b', '*,html:excerpt(20)'])
    test(`${name}, as ${fields}: the same as at once, with other work in between`, async () => {
      const projection = parseFields(fields);
      assert.ok(projection !== undefined);
      const given = texts(count, html);
      const [projected, turns] = await countTurns(() => projectTexts(given, projection));
      assert.deepEqual(
        projected,
        given.map((text) => JSON.stringify(pickFields(JSON.parse(text), projection))),
      );
      assert.ok(turns >= turnsMin, `${turns} turns`);
    });
