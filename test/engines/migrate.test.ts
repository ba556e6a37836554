import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../src/base/errors.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import type { Names } from '../../src/storage/database.ts';
import { migrate, type Migration } from '../../src/storage/migrate.ts';
import { describeEngines } from '../support/engines.ts';

describeEngines('migrate', (open) => {
  test('every step runs in order and once', async (t) => {
    const database = await open(t);
    const ran: string[] = [];
    const steps = [1, 2, 3].map((number) => step(`step ${number}`, ran, addRow(number, database.names)));
    await migrate(database, steps.slice(0, 2));
    await migrate(database, steps.slice(0, 2));
    await migrate(database, steps);
    assert.deepEqual(ran, ['step 1', 'step 2', 'step 3']);
    const rows = await database.all(
      sql`SELECT number FROM ${database.names.collectionTable('t')} ORDER BY number`,
    );
    assert.deepEqual(
      rows.map((row) => row['number']),
      [1, 2, 3],
    );
  });

  test('a step that fails takes back all that were missing', async (t) => {
    const database = await open(t);
    const good = step('good', [], addRow(1, database.names));
    const bad = step('bad', [], [sql`INSERT INTO nowhere VALUES (1)`]);
    await assert.rejects(migrate(database, [good, bad]));
    await assert.rejects(database.all(sql`SELECT number FROM ${database.names.collectionTable('t')}`), /t/);
    await migrate(database, [good]);
    assert.equal(
      (await database.all(sql`SELECT number FROM ${database.names.collectionTable('t')}`)).length,
      1,
    );
  });

  test('a database that a newer version has taken further is refused before anything is written', async (t) => {
    const database = await open(t);
    const steps = [1, 2].map((number) => step(`step ${number}`, [], addRow(number, database.names)));
    await migrate(database, steps);
    const ran: string[] = [];
    await assert.rejects(migrate(database, [step('other', ran, addRow(3, database.names))]), (error) => {
      assert.ok(error instanceof AppError);
      assert.equal(error.code, 'unavailable');
      assert.match(error.message, /newer version of Chancery \(schema 2, this version knows 1\)/);
      return true;
    });
    assert.deepEqual(ran, []);
    assert.equal(
      (await database.all(sql`SELECT number FROM ${database.names.collectionTable('t')}`)).length,
      2,
    );
  });

  test('two that migrate at the same time apply each step once', async (t) => {
    const first = await open(t);
    const second = await open(t, first);
    const steps = [step('only', [], addRow(1, first.names))];
    await Promise.all([migrate(first, steps), migrate(second, steps)]);
    assert.equal((await first.all(sql`SELECT number FROM ${first.names.collectionTable('t')}`)).length, 1);
  });
});

function step(name: string, ran: string[], statements: readonly Sql[]): Migration {
  return {
    name,
    statements: () => {
      ran.push(name);
      return statements;
    },
  };
}

function addRow(number: number, names: Names): readonly Sql[] {
  const table = names.collectionTable('t');
  return [
    sql`CREATE TABLE IF NOT EXISTS ${table} (number INTEGER NOT NULL)`,
    sql`INSERT INTO ${table} VALUES (${number})`,
  ];
}
