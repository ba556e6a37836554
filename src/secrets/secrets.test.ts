import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import { openSqlite } from '../storage/sqlite/sqlite-database.ts';
import { deleteSecrets, readSecret, writeSecret } from './secrets.ts';

const hash = { collection: 'c1', record: 'r1', name: 'password' };
const tokenKey = { ...hash, name: 'tokenKey' };
const neighbour = { ...hash, record: 'r2' };
const own = { collection: 'c1', record: '', name: 'authToken' };
const foreign = { ...hash, collection: 'c2' };

test('a secret is read as it was written, and undefined where there is none', async (t) => {
  const database = await open(t);
  assert.equal(await readSecret(database, hash), undefined);
  await database.write((tx) => writeSecret(tx, hash, 'first'));
  assert.equal(await readSecret(database, hash), 'first');
  assert.equal(await readSecret(database, tokenKey), undefined);
});

test('replaces a value and touches no other', async (t) => {
  const database = await open(t);
  await database.write(async (tx) => {
    for (const key of [hash, tokenKey, neighbour, own, foreign]) await writeSecret(tx, key, 'old');
    await writeSecret(tx, hash, '');
    assert.equal(await readSecret(tx, hash), '');
  });
  for (const key of [tokenKey, neighbour, own, foreign]) assert.equal(await readSecret(database, key), 'old');
});

test('deletes the secrets of a record, of a collection alone, or of a collection with its records', async (t) => {
  const database = await open(t);
  await database.write(async (tx) => {
    for (const key of [hash, tokenKey, neighbour, own, foreign]) await writeSecret(tx, key, 'x');
  });
  assert.equal(await database.write((tx) => deleteSecrets(tx, { collection: 'c1', record: 'r1' })), 2);
  assert.equal(await readSecret(database, neighbour), 'x');
  assert.equal(await database.write((tx) => deleteSecrets(tx, { collection: 'c1', record: '' })), 1);
  assert.equal(await readSecret(database, neighbour), 'x');
  assert.equal(await database.write((tx) => deleteSecrets(tx, { collection: 'c1' })), 1);
  assert.equal(await readSecret(database, neighbour), undefined);
  assert.equal(await readSecret(database, foreign), 'x');
});

async function open(t: TestContext): Promise<Database> {
  const directory = mkdtempSync(join(tmpdir(), 'secret-store-'));
  const database = openSqlite({ path: join(directory, 'data.db') });
  t.after(async () => {
    await database.stop();
    rmSync(directory, { recursive: true });
  });
  await database.write((tx) =>
    tx.run(sql`CREATE TABLE "$secret" (collection TEXT NOT NULL, record TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
      PRIMARY KEY (collection, record, name))`),
  );
  return database;
}
