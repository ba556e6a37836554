import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTurns } from '../../test/support/count-turns.ts';
import { textAnswer } from './record-answer.ts';

test('the fields of a long record are picked in several turns of the event loop', async () => {
  const members = Array.from({ length: 40 }, (_, number) => [`f${number}`, '<p>word</p>'.repeat(8_000)]);
  const record = { revision: 1, json: JSON.stringify(Object.fromEntries(members)) };
  const query = new URLSearchParams({ fields: '*:excerpt(10)' });
  const [{ json }, turns] = await countTurns(() => textAnswer(query, record));
  assert.deepEqual(JSON.parse(json), Object.fromEntries(members.map(([name]) => [name, 'word word'])));
  // A turn is enough for 256 KiB.
  assert.ok(turns >= record.json.length / (512 * 1024), `${turns} turns`);
});
