// Both engines: an import writes tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importInto, omissionsOf } from '../support/import-into.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceId,
  type SourceTable,
} from '../support/pocketbase-directory.ts';
import { startService } from '../support/service.ts';

const fields = [
  sourceId,
  { id: 'date1', name: 'due', type: 'date' },
  { id: 'file1', name: 'file', type: 'file', maxSelect: 1 },
];
const notes: SourceTable = {
  id: 'pbc_9',
  name: 'notes',
  fields,
  rows: [{ id: 'note00000000001', due: 'soon', file: 'gone.txt' }],
};
const others: SourceTable = { id: 'pbc_10', name: 'others', fields: [sourceId] };

test('an import that goes on tells what the run before it left out, which had no time to', async (t) => {
  const service = await startService(t);
  const directory = makePocketbaseDirectory(t, { tables: [...sourceAccounts([]), notes, others] });
  const stopped = importInto(service, directory, {
    onProgress: ({ kind, collection }) => {
      if (kind === 'collection' && collection === 'notes') throw new Error('stopped');
    },
  });
  await assert.rejects(stopped, /stopped/);
  const summary = await importInto(service, directory);
  const found = summary.collections.find(({ name }) => name === 'notes');
  assert.deepEqual([found?.wasDone, found?.records], [true, 1]);
  assert.deepEqual(omissionsOf(summary), ['notes: a file of file', 'notes: due']);
});

test('a field whose values the table does not keep under its name is told of', async (t) => {
  const service = await startService(t);
  const sql = `ALTER TABLE notes RENAME COLUMN due TO Due; ALTER TABLE notes DROP COLUMN file;
    ALTER TABLE notes ADD COLUMN file AS ('computed.txt')`;
  const directory = makePocketbaseDirectory(t, { tables: [...sourceAccounts([]), notes, others], sql });
  for (const isDryRun of [true, false]) {
    const summary = await importInto(service, directory, { isDryRun });
    assert.deepEqual(omissionsOf(summary), ['notes: the values of due', 'notes: the values of file']);
  }
});
