import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresDatabase, testSchema as schema } from '../../../test/support/postgres-database.ts';
import { ask } from '../../../test/support/postgres.ts';
import { identifier, sql } from '../../sql/sql.ts';
import { planProblem } from './postgres-views.ts';

const tables = `
  CREATE TABLE ${schema}.posts (id text PRIMARY KEY, title text);
  CREATE TABLE ${schema}.teams (id text PRIMARY KEY);
  CREATE VIEW ${schema}.titles AS SELECT id, title FROM ${schema}.posts;
  CREATE SCHEMA i_other;
  CREATE TABLE i_other.posts (id text);
  CREATE VIEW ${schema}.leak AS SELECT id FROM i_other.posts;
  CREATE TABLE chancery.secret (name text, value text);
  CREATE SEQUENCE ${schema}.numbers;
  CREATE FUNCTION ${schema}.note() RETURNS text LANGUAGE sql VOLATILE AS 'INSERT INTO ${schema}.posts VALUES (''new'', '''') RETURNING id'`;

/** What a view must not read. All of it is made a view by hand, as if the look at its tree had seen nothing. */
const hostile: readonly string[] = [
  'SELECT id FROM i_other.posts',
  'SELECT p.id FROM posts p JOIN i_other.posts o ON o.id = p.id',
  'SELECT p.id FROM posts p LEFT JOIN LATERAL (SELECT 1 AS x FROM i_other.posts LIMIT 1) o ON true WHERE o.x = 1',
  'SELECT id FROM leak',
  'SELECT id FROM posts UNION ALL SELECT id FROM i_other.posts',
  'SELECT id FROM posts WHERE EXISTS (SELECT 1 FROM chancery.secret s WHERE s.name = id)',
  'SELECT id, (SELECT max(value) FROM chancery.secret) AS title FROM posts',
  'WITH s AS MATERIALIZED (SELECT value AS id FROM chancery.secret) SELECT id FROM s',
  'SELECT count(*)::text AS id FROM chancery.secret',
  'SELECT DISTINCT ON (id) id FROM i_other.posts ORDER BY id',
  'SELECT rolpassword AS id FROM pg_authid',
  'SELECT relname::text AS id FROM pg_class',
  'SELECT tablename::text AS id FROM pg_stats',
  'SELECT query AS id FROM pg_stat_activity',
  'SELECT setting AS id FROM pg_settings',
  'SELECT table_name::text AS id FROM information_schema.tables',
  "SELECT f AS id FROM pg_ls_dir('/') AS f",
  "SELECT f AS id FROM posts, LATERAL pg_read_file('/etc/passwd') AS f",
  'SELECT g::text AS id FROM generate_series(1, 1000000000) AS g',
];

const harmless: readonly string[] = [
  'SELECT id FROM posts',
  'SELECT id FROM titles',
  'SELECT p.id, count(*) AS n FROM posts p LEFT JOIN teams t ON t.id = p.title GROUP BY p.id',
  "SELECT p.id, e.value AS title FROM posts p, jsonb_each_text(jsonb_build_object('a', p.title)) AS e",
  "SELECT p.id, u AS title FROM posts p, unnest(string_to_array(p.title, ',')) AS u",
  'WITH p AS (SELECT id FROM posts) SELECT id FROM p UNION SELECT id FROM teams',
  "SELECT 'x' AS id",
  'SELECT id FROM posts WHERE false',
];

test('S-08 the plan of a view shows a relation or a function that is not of its instance', async (t) => {
  const { database, url } = await openPostgresDatabase(t);
  await ask(url, tables);
  const problemOf = async (query: string): Promise<string | undefined> => {
    await ask(
      url,
      `SET search_path = ${schema}, pg_catalog; CREATE OR REPLACE VIEW ${schema}.attempt AS ${query}`,
    );
    const problem = await database.write((tx) => planProblem(tx, { schema, name: identifier('attempt') }));
    await ask(url, `DROP VIEW ${schema}.attempt`);
    return problem;
  };
  for (const query of hostile)
    assert.match((await problemOf(query)) ?? '', /can only read collections|cannot be used in a view/, query);
  for (const query of harmless) assert.equal(await problemOf(query), undefined, query);
});

test('S-08 the server refuses a view that would write, and the next reads are served', async (t) => {
  const { database, url } = await openPostgresDatabase(t, { queryTimeoutMs: 500 });
  await ask(url, tables);
  const writing = [
    "SELECT nextval('i_test.numbers')::text AS id",
    "SELECT setval('i_test.numbers', 7)::text AS id",
    `SELECT ${schema}.note() AS id`,
    `SELECT id FROM ${schema}.posts FOR UPDATE`,
    // What is set does not outlive the refusal.
    `SELECT set_config('transaction_read_only', 'off', true) || ${schema}.note() AS id`,
  ];
  const view = database.names.views.table('writing');
  for (const query of writing) {
    await ask(url, `CREATE OR REPLACE VIEW ${schema}.writing AS ${query}`);
    const statement = sql`SELECT id FROM ${view}`;
    for (const read of [
      () => database.search(statement),
      () => database.tuples(statement),
      () => database.all(statement),
    ])
      await assert.rejects(read, isReadOnly, query);
  }
  await ask(url, `CREATE OR REPLACE VIEW ${schema}.writing AS SELECT pg_sleep(600)::text AS id`);
  await assert.rejects(database.search(sql`SELECT id FROM ${view}`), { name: 'QueryTimeout' });
  assert.deepEqual(await database.tuples(sql`SELECT count(*) FROM ${identifier(schema)}.posts`), [[0]]);
  assert.deepEqual(await database.tuples(sql`SELECT is_called::int FROM ${identifier(schema)}.numbers`), [
    [0],
  ]);
});

test('a view with a constant that cannot be computed is refused in words when it is made again', async (t) => {
  const { database, url } = await openPostgresDatabase(t);
  await ask(url, tables);
  const { views } = database.names;
  await assert.rejects(
    database.write((tx) => views.create(tx, 'odd', sql`SELECT id, 1 / 0 AS x FROM posts`)),
    { code: 'bad_request', message: 'The view odd is refused: division by zero.' },
  );
});

/** Whether the server has refused to write. */
function isReadOnly({ message, cause }: Error): boolean {
  const reason = cause instanceof Error ? cause.message : message;
  return /in a read-only transaction$|^transaction read-write mode must be set before any query$/.test(
    reason,
  );
}
