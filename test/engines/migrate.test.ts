import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../src/base/errors.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import type { Database, Names } from '../../src/storage/database.ts';
import { migrate, type Migration } from '../../src/storage/migrate.ts';
import { instanceMigrations } from '../../src/storage/migrations/instance-migrations.ts';
import { postgresMigrations } from '../../src/storage/migrations/postgres-migrations.ts';
import { describeEngines } from '../support/engines.ts';

describeEngines('migrate', (open, engine) => {
  test('every step runs in order and once', async (t) => {
    const database = await open(t);
    const ran: string[] = [];
    const steps = [1, 2, 3].map((number) => recorded(`step ${number}`, ran, addRow(number, database.names)));
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
    const good = recorded('good', [], addRow(1, database.names));
    const bad = recorded('bad', [], [sql`INSERT INTO nowhere VALUES (1)`]);
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
    const steps = [1, 2].map((number) => recorded(`step ${number}`, [], addRow(number, database.names)));
    await migrate(database, steps);
    const ran: string[] = [];
    await assert.rejects(migrate(database, [recorded('step 1', ran, addRow(3, database.names))]), (error) => {
      assert.ok(error instanceof AppError);
      assert.equal(error.code, 'unavailable');
      assert.match(
        error.message,
        /newer version of Chancery \(schema 2, for versions with schema 2; this one has schema 1\)/,
      );
      return true;
    });
    assert.deepEqual(ran, []);
    assert.equal(
      (await database.all(sql`SELECT number FROM ${database.names.collectionTable('t')}`)).length,
      2,
    );
  });

  test('a version that every later step admits works on the newer schema, and writes nothing to it', async (t) => {
    const database = await open(t);
    const [first, second, third] = [step('1'), step('2', 1), step('3', 2)];
    await migrate(database, [first, second]);
    await migrate(readOnly(database), [first]);
    await migrate(database, [first, second, third]);
    await migrate(readOnly(database), [first, second]);
    await assert.rejects(migrate(readOnly(database), [first]), /schema 3, for versions with schema 2; this/);
    await migrate(readOnly(database), [first, second, third]);
  });

  test('no step admits a version that an earlier one has left behind', async (t) => {
    const database = await open(t);
    const [first, second, third] = [step('1'), step('2'), step('3', 1)];
    await migrate(database, [first, second, third]);
    await assert.rejects(migrate(readOnly(database), [first]), /schema 3, for versions with schema 2; this/);
    await migrate(readOnly(database), [first, second]);
  });

  test('a database of another kind is refused before anything is written', async (t) => {
    const database = await open(t);
    await migrate(database, [step('1')]);
    await assert.rejects(
      migrate(readOnly(database), [step('other'), step('2')]),
      /This place holds other data/,
    );
  });

  test('a schema from before steps said whom they admit is taken further', async (t) => {
    const database = await open(t);
    const table = database.engine === 'sqlite' ? sql`"$migration"` : sql`chancery.migration`;
    await database.write(async (tx) => {
      await tx.run(sql`CREATE TABLE ${table} (number INTEGER PRIMARY KEY, name TEXT NOT NULL)`);
      await tx.run(sql`INSERT INTO ${table} VALUES (1, '1')`);
    });
    const steps = [step('1'), step('2', 1)];
    await migrate(readOnly(database), steps.slice(0, 1));
    await migrate(database, steps);
    await migrate(readOnly(database), steps.slice(0, 1));
  });

  test('data of every earlier version is brought to this one', async (t) => {
    const migrations = engine === 'sqlite' ? instanceMigrations : postgresMigrations;
    for (let version = 1; version < migrations.length; version += 1) {
      const database = await open(t);
      await migrate(database, migrations.slice(0, version));
      await migrate(database, migrations);
      const table = database.names.table('$idempotency');
      assert.deepEqual(await database.all(sql`SELECT id FROM ${table}`), []);
    }
  });

  test('two that migrate at the same time apply each step once', async (t) => {
    const first = await open(t);
    const second = await open(t, first);
    const steps = [recorded('only', [], addRow(1, first.names))];
    await Promise.all([migrate(first, steps), migrate(second, steps)]);
    assert.equal((await first.all(sql`SELECT number FROM ${first.names.collectionTable('t')}`)).length, 1);
  });
});

/** A database in which a write fails the test. */
function readOnly(database: Database): Database {
  return {
    engine: database.engine,
    names: database.names,
    state: () => database.state(),
    describeView: (draft) => database.describeView(draft),
    searchDraft: (statement) => database.searchDraft(statement),
    all: (statement) => database.all(statement),
    get: (statement) => database.get(statement),
    tuples: (statement) => database.tuples(statement),
    search: (statement) => database.search(statement),
    write: () => assert.fail('something was written'),
    stop: () => database.stop(),
  };
}

function step(name: string, admits?: number): Migration {
  return { name, statements: () => [], ...(admits === undefined ? {} : { admits }) };
}

function recorded(name: string, ran: string[], statements: readonly Sql[]): Migration {
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
