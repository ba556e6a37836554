import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { sql } from '../../sql/sql.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { SqliteState } from './sqlite-definitions.ts';

function open(t: TestContext): { readonly writer: SqliteConnection; readonly reader: SqliteConnection } {
  const path = join(temporaryFolder(t), 'data.db');
  const writer = new SqliteConnection(path, { isReadOnly: false, synchronous: 'FULL' });
  writer.run(sql`CREATE TABLE t (number INTEGER NOT NULL)`);
  const reader = new SqliteConnection(path, { isReadOnly: true, synchronous: 'FULL' });
  t.after(() => [writer, reader].forEach((connection) => connection.close()));
  return { writer, reader };
}

test('a state is the same object until something is committed', (t) => {
  const { writer, reader } = open(t);
  const state = new SqliteState();
  let before = state.now(reader);
  for (let commit = 0; commit < 3; commit += 1) {
    state.endView();
    assert.equal(state.now(reader), before);
    writer.run(sql`INSERT INTO t VALUES (1)`);
    assert.equal(state.now(reader), before, 'a view sees what it saw');
    state.endView();
    const after = state.now(reader);
    assert.notEqual(after, before);
    before = after;
  }
});

test('it is another one on another connection, which counts from the same number', (t) => {
  const { writer, reader } = open(t);
  const state = new SqliteState();
  const before = state.now(reader);
  state.forget();
  assert.notEqual(state.now(writer), before);
});
