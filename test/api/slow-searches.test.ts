// Both engines: each runs searches in its own way.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { startService, type TestService } from '../support/service.ts';

/** Enough rows that no machine goes through their pairs in the time that is given. */
const rowsMax = 20_000;
/** True of no record, but only a look at every pair tells. */
const slowFilter = '@collection.words.note ?> @collection.words:other.word';

/** A collection with many rows in the default instance, and an instance `other`. */
async function setUp(t: TestContext, queryTimeout: string): Promise<TestService> {
  const service = await startService(t, { flags: { 'query-timeout': queryTimeout } });
  const text = (name: string): object => ({ name, type: 'text' });
  const fields = [text('note'), text('word'), { name: 'data', type: 'json' }];
  const rules = { listRule: '', viewRule: '', createRule: '' };
  const body = { name: 'words', ...rules, fields };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('words');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, note, word, created, updated, "$revision")
        ${numbers} SELECT 'word' || n, 'note ' || n, 'word ' || n, '', '', 1 FROM n`),
    );
  });
  await service.app.data.directory.create('other', null);
  return service;
}

test('A15 Q-38 while searches take long, another instance is answered', async (t) => {
  const service = await setUp(t, '5');
  const path = `/api/records/words?filter=${encodeURIComponent(slowFilter)}`;
  let over = 0;
  const slow = Array.from({ length: 8 }, async () => {
    const { status, json } = await service.request(path, { token: true });
    over += 1;
    return [status, json.message];
  });
  // Each is asked for once the one before was answered: none of them has to wait for a search to end.
  for (let asked = 0; asked < 10; asked += 1)
    assert.equal((await service.request('/i/other/api/health')).status, 200);
  const { json } = await service.request('/api/records/words/word1');
  assert.equal(json.note, 'note 1', 'the same instance is answered as well');
  assert.equal(over, 0);
  for (const answer of await Promise.all(slow)) assert.deepEqual(answer, [503, 'The query took too long.']);
});
