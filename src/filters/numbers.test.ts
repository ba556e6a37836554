import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { numberOfText } from './operand.ts';

const database = new DatabaseSync(':memory:');
const seed = 20_261_120;

test('a text is a number beside a number column exactly when SQLite converts it', (context) => {
  context.diagnostic(`seed ${seed}`);
  database.exec('CREATE TABLE one (n REAL); INSERT INTO one VALUES (0)');
  const equal = database.prepare('UPDATE one SET n = ?');
  const matches = database.prepare('SELECT count(*) AS count FROM one WHERE n = ?');
  const unit = fc.constantFrom('1', '0', '.', 'e', 'E', '+', '-', ' ', '\t', 'x', '\u00a0', '_');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 6 }), (text) => {
      const number = numberOfText(text);
      if (number === undefined) {
        // Were it a number, it would equal what JavaScript or a prefix of it says.
        equal.run(Number.isNaN(Number(text)) ? 0 : Number(text));
        assert.equal(matches.get(text)?.['count'], 0, text);
      } else {
        equal.run(number);
        assert.equal(matches.get(text)?.['count'], 1, text);
      }
    }),
    { numRuns: 10_000, seed },
  );
});
