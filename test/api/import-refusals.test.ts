import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { importInto } from '../support/import-into.ts';
import { makeBlogDirectory } from '../support/pocketbase-blog.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceDates,
  sourceId,
  type SourceTable,
} from '../support/pocketbase-directory.ts';
import { startService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const fields = [sourceId, { id: 'text1', name: 'text', type: 'text' }, ...sourceDates];
const notes: SourceTable = {
  id: 'pbc_9',
  name: 'notes',
  fields,
  rows: [{ id: 'note00000000001', text: 'x' }],
};

test('what is no data directory is refused with what it is instead', async (t) => {
  const service = await startService(t);
  const folder = temporaryFolder(t);
  const file = join(folder, 'file');
  writeFileSync(file, 'x');
  await assertRefuses(service, join(folder, 'gone'), /gone is no directory/);
  await assertRefuses(service, file, /file is no directory/);
  await assertRefuses(service, folder, /There is no file .*data\.db/);
  writeFileSync(join(folder, 'data.db'), 'x'.repeat(10_000));
  await assertRefuses(service, folder, /data\.db cannot be read: file is not a database/);
  await assertRefuses(service, withTables(t, 'CREATE TABLE other (id)'), /no data directory of PocketBase/);
});

test('one of before 0.23 is refused with the way to bring it up to date', async (t) => {
  const service = await startService(t);
  const old = 'CREATE TABLE _admins (id); CREATE TABLE _collections (id, name, type, schema, options)';
  await assertRefuses(
    service,
    withTables(t, old),
    /before 0\.23: start it once with PocketBase 0\.23 or newer/,
  );
});

test('a link in the place of what a directory holds, and an unfinished write, are refused', async (t) => {
  const service = await startService(t);
  const elsewhere = makeBlogDirectory(t);
  const folder = temporaryFolder(t);
  symlinkSync(join(elsewhere, 'data.db'), join(folder, 'data.db'));
  await assertRefuses(service, folder, /data\.db is no regular file/);
  const linked = temporaryFolder(t);
  copyFileSync(join(elsewhere, 'data.db'), join(linked, 'data.db'));
  symlinkSync(join(elsewhere, 'storage'), join(linked, 'storage'));
  await assertRefuses(service, linked, /storage is no plain directory: links are not followed/);
  const directory = makeBlogDirectory(t);
  symlinkSync('/dev/zero', join(directory, 'data.db-wal'));
  await assertRefuses(service, directory, /data\.db-wal is no regular file/);
  const hot = makeBlogDirectory(t);
  writeFileSync(join(hot, 'data.db-journal'), 'x'.repeat(600));
  await assertRefuses(service, hot, /left in the middle of a write/);
});

test('damaged definitions are refused with their place', async (t) => {
  const service = await startService(t);
  const damage = (statement: string): string =>
    makePocketbaseDirectory(t, { tables: [...sourceAccounts([]), notes], sql: statement });
  const set = (what: string): string => damage(`UPDATE _collections SET ${what} WHERE name = 'notes'`);
  await assertRefuses(
    service,
    set(`fields = '[{'`),
    /fields of the collection "notes" cannot be read: .*JSON/,
  );
  await assertRefuses(service, set(`fields = '{}'`), /"notes" of the source cannot be kept here \(fields: /);
  await assertRefuses(
    service,
    set(`fields = '[{"name":"x","type":"secret"}]'`),
    /fields\.1\.type: Unknown field type/,
  );
  await assertRefuses(service, set(`fields = '[{"name":"x y","type":"text"}]'`), /fields\.1\.name: /);
  await assertRefuses(service, set(`options = '${'['.repeat(70)}${']'.repeat(70)}'`), /64 levels/);
  await assertRefuses(service, set(`name = 'gone'`), /a collection "gone" and no table/);
  await assertRefuses(service, set(`id = '../x'`), /\(id: /);
  await assertRefuses(service, set(`id = 'pbc_2279338944'`), /stands where _mfas, pbc_2279338944, is/);
  await assertRefuses(service, set(`type = 'magic'`), /\(type: /);
  await assertRefuses(
    service,
    set(`listRule = x'ff'`),
    /listRule of the collection "notes" cannot be read: .*UTF-8/,
  );
  await assertRefuses(service, set(`name = x'ff'`), /name of a collection cannot be read: .*UTF-8/);
  const twice =
    'CREATE TABLE c AS SELECT * FROM _collections; DROP TABLE _collections; ALTER TABLE c RENAME TO _collections;';
  await assertRefuses(
    service,
    damage(`${twice} INSERT INTO _collections SELECT * FROM _collections`),
    /already exists|unique/i,
  );
  await assertRefuses(
    service,
    damage(`INSERT INTO _params (id, value) VALUES ('settings', '{"a":')`),
    /the settings cannot be read/,
  );
});

test('settings that are JSON and no object are refused as what they are, and not as encrypted', async (t) => {
  const service = await startService(t);
  const withSettings = (settings: string): string =>
    makePocketbaseDirectory(t, { tables: sourceAccounts([]), settings });
  for (const settings of ['[]', ' [{"meta":{}}]', 'null', 'true', '-1.5', '""', '"text"'])
    await assertRefuses(service, withSettings(settings), /settings of the source are JSON, and no object/);
  for (const settings of ['[1', 'text'])
    await assertRefuses(service, withSettings(settings), /the settings cannot be read: .*JSON/);
});

test('names that are SQL are names and nothing else', async (t) => {
  const name = 'x" FROM _superusers; DROP TABLE notes; --';
  const hostile = { ...notes, id: 'pbc_10', name: name.replaceAll('"', '""') };
  const service = await startService(t);
  const directory = makePocketbaseDirectory(t, {
    tables: [notes],
    sql: `UPDATE _collections SET fields = json_insert(fields, '$[#]', json('{"name":"id\\" FROM _params; --","type":"text"}'))`,
  });
  await assertRefuses(service, directory, /fields\.4\.name: Must be in a valid format/);
  const other = makePocketbaseDirectory(t, {
    tables: [notes],
    sql: `CREATE TABLE "${hostile.name}" (id, text, created, updated); UPDATE _collections SET name = '${name}'`,
  });
  await assertRefuses(service, other, /\(name: Must be in a valid format/);
});

test('a view, a virtual table or a computed column in the place of a table is never run', async (t) => {
  const service = await startService(t);
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n';
  for (const made of [`CREATE VIEW notes AS ${endless}`, 'CREATE VIRTUAL TABLE notes USING fts5(id, text)']) {
    const directory = makePocketbaseDirectory(t, { tables: [notes], sql: `DROP TABLE notes; ${made}` });
    await assertRefuses(service, directory, /a collection "notes" and no table/);
  }
  const computed = makePocketbaseDirectory(t, {
    tables: [notes],
    sql: `DROP TABLE notes; CREATE TABLE notes (id TEXT PRIMARY KEY, created, updated, text AS (hex(zeroblob(100000000))));
      INSERT INTO notes (id) VALUES ('note00000000001');
      CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM _collections; END`,
  });
  const { collections } = await importInto(service, computed, { isDryRun: true });
  assert.equal(collections[0]?.records, 1);
});

test('records that a unique index does not admit are refused, and nothing of their collection stays', async (t) => {
  const service = await startService(t);
  const indexes = ['CREATE UNIQUE INDEX `idx_text` ON `notes` (`text`)'];
  const directory = makePocketbaseDirectory(t, {
    tables: [{ ...notes, indexes }],
    sql: `DROP INDEX idx_text; INSERT INTO notes (id, text) VALUES ('note00000000002', 'x')`,
  });
  await assert.rejects(importInto(service, directory), /notes has records that are equal .*text/);
  assert.equal((await service.request('/api/collections/notes', { token: true })).status, 404);
  const mended = new DatabaseSync(join(directory, 'data.db'));
  mended.exec(`UPDATE notes SET text = 'y' WHERE id = 'note00000000002'`);
  mended.close();
  const { collections } = await importInto(service, directory);
  assert.equal(collections[0]?.records, 2);
});

test('records of the same id are refused', async (t) => {
  const service = await startService(t);
  const directory = makePocketbaseDirectory(t, {
    tables: [notes],
    sql: `DROP TABLE notes; CREATE TABLE notes (id, created, updated, text);
      INSERT INTO notes (id) VALUES ('note00000000001'), ('note00000000002'), ('note00000000001')`,
  });
  await assert.rejects(importInto(service, directory), /notes has records that are equal in id,/);
  assert.equal((await service.request('/api/collections/notes', { token: true })).status, 404);
});

test('an instance that holds anything is refused', async (t) => {
  const service = await startService(t);
  const directory = makeBlogDirectory(t);
  const user = { email: 'x@example.com', password: '12345678', passwordConfirm: '12345678' };
  const path = '/api/collections/users/records';
  const { json } = await service.request(path, { method: 'POST', body: user });
  await assertRefuses(service, directory, /default is not empty: its collection users has records/);
  await service.request(`${path}/${json.id}`, { method: 'DELETE', token: true });
  const body = { name: 'mine' };
  await service.request('/api/collections', { method: 'POST', token: true, body });
  await assertRefuses(service, directory, /default is not empty: it has the collection mine/);
  await service.request('/api/collections/mine', { method: 'DELETE', token: true });
  await importInto(service, directory);
  await assertRefuses(service, directory, /something was imported already/);
});

test('the same source goes into a second instance with new secrets only', async (t) => {
  const service = await startService(t);
  const directory = makeBlogDirectory(t);
  await service.app.data.directory.create('second', null);
  await service.app.data.directory.create('third', null);
  await importInto(service, directory);
  // A later copy is the same source.
  const later = makeBlogDirectory(t);
  for (const isDryRun of [true, false])
    await assert.rejects(
      importInto(service, later, { slug: 'second', isDryRun }),
      /imported into the instance default, where its tokens are good.*--rotate-tokens/,
    );
  await importInto(service, later, { slug: 'second', rotateTokens: true });
  await importInto(service, later, { slug: 'third', rotateTokens: true });
  const secrets = await Promise.all(['default', 'second', 'third'].map((slug) => userSecret(service, slug)));
  assert.equal(new Set(secrets).size, 3);
  assert.ok(secrets[0]?.startsWith('users authToken'));
});

test('an unfinished import is nobody else’s to go on with', async (t) => {
  const service = await startService(t);
  const directory = makeBlogDirectory(t);
  const stop = (): never => {
    throw new Error('stopped');
  };
  await assert.rejects(
    importInto(service, directory, { onProgress: (at) => at.kind === 'collection' && stop() }),
    /stopped/,
  );
  const other = makePocketbaseDirectory(t, { tables: [notes] });
  await assertRefuses(service, other, /holds an unfinished import of another source/);
  await assert.rejects(importInto(service, directory, { rotateTokens: true }), /unfinished import/);
  const { collections } = await importInto(service, directory);
  assert.deepEqual(
    collections.map(({ records, wasDone }) => [records, wasDone]),
    [
      [2, true],
      [1, false],
      [2, false],
      [1, false],
    ],
  );
  assert.equal((await service.request('/api/collections/posts/records', { token: true })).json.totalItems, 2);
});

test('of two imports at once one is refused, and the other one complete', async (t) => {
  const service = await startService(t);
  const directory = makeBlogDirectory(t);
  const outcomes = await Promise.allSettled([importInto(service, directory), importInto(service, directory)]);
  const refusals = outcomes.flatMap((outcome): unknown[] =>
    outcome.status === 'rejected' ? [outcome.reason] : [],
  );
  // Whichever comes first, and however far it is when the other one looks.
  assert.equal(refusals.length, 1);
  assert.match(String(refusals[0]), /is running|is not empty|imported already|busy, try again/);
  await assertRefuses(service, directory, /imported already/);
  assert.equal((await service.request('/api/collections/posts/records', { token: true })).json.totalItems, 2);
});

test('a source that is written to meanwhile is noticed before anything of it is kept', async (t) => {
  const service = await startService(t);
  const directory = makeBlogDirectory(t);
  const write = (): void => {
    const database = new DatabaseSync(join(directory, 'data.db'));
    database.exec(`INSERT INTO posts (id, title) VALUES ('post00000000009', 'Late')`);
    database.close();
  };
  await assert.rejects(
    importInto(service, directory, {
      onProgress: (at) => at.kind === 'files' && at.collection === 'posts' && write(),
    }),
    /is being written to/,
  );
  assert.equal((await service.request('/api/collections/posts', { token: true })).status, 404);
});

/** Refused with this, in a dry run as well, and nothing is kept of it. */
async function assertRefuses(service: TestService, directory: string, says: RegExp): Promise<void> {
  for (const isDryRun of [true, false]) {
    await assert.rejects(importInto(service, directory, { isDryRun }), (error) => {
      assert.ok(error instanceof Error && error.name === 'AppError', String(error));
      assert.match(error.message, says);
      return true;
    });
  }
}

function withTables(t: TestContext, statements: string): string {
  const folder = join(temporaryFolder(t), 'pb_data');
  mkdirSync(folder);
  const database = new DatabaseSync(join(folder, 'data.db'));
  database.exec(statements);
  database.close();
  return folder;
}

function userSecret(service: TestService, slug: string): Promise<string | undefined> {
  return service.withInstance(slug, async ({ database, sealer }) => {
    const { names } = database;
    const row = await database.get(
      sql`SELECT value FROM ${names.table('$secret')} WHERE ${names.instance.condition} AND collection = '_pb_users_auth_' AND name = 'authToken'`,
    );
    return sealer.open(String(row?.['value']), { purpose: 'token-secret', id: '_pb_users_auth_' });
  });
}
