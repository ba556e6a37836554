import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql, type Sql } from '../../src/sql/sql.ts';
import { describeEngines } from '../support/engines.ts';

/** Of 4 MiB each: 64 are as much as is held, and a row has a number beside its text. */
function texts(count: number): Sql {
  const text = 'x'.repeat(4 * 1024 * 1024);
  return sql`
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
    SELECT n, CAST(${text} AS TEXT) || n FROM n`;
}

const refused = { code: 'bad_request', message: 'The answer would be too large: ask for fewer records.' };

describeEngines('an answer that nobody could hold', (open) => {
  test('X-15 is refused while it is read, and the next question is answered', async (t) => {
    const database = await open(t);
    const few = await database.search(texts(2));
    assert.deepEqual(
      few.map(([n, text]) => [n, String(text).length]),
      [
        [1, 4 * 1024 * 1024 + 1],
        [2, 4 * 1024 * 1024 + 1],
      ],
    );
    // Twice, as the second time it is a prepared statement; known to be quick or not.
    for (const isQuick of [true, false])
      await assert.rejects(database.search(texts(64), { isQuick }), refused);
    assert.equal((await database.search(texts(1))).length, 1);
  });

  test('X-15 is refused in a transaction, which goes on', async (t) => {
    const database = await open(t);
    await database.write(async (tx) => {
      await assert.rejects(tx.search(texts(64)), refused);
      assert.equal((await tx.search(texts(1))).length, 1);
    });
  });
});
