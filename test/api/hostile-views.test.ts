// Both engines: what a query of a view may do is checked by each in its own way.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Flags } from '../../src/config/config.ts';
import { testEngine } from '../support/test-config.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

/** Queries of a superuser of an instance who wants more than its records. Each is refused in words before anything is saved. */
const onBoth: readonly string[] = [
  // Several statements, and what is none.
  'SELECT id FROM posts; DROP TABLE posts',
  'SELECT id FROM posts; SELECT id FROM users',
  'SELECT id FROM posts) UNION SELECT id FROM (posts',
  'SELECT id FROM posts) AS x; DROP TABLE posts; --',
  'DROP TABLE posts',
  'DELETE FROM posts RETURNING id',
  "INSERT INTO posts (id) VALUES ('x') RETURNING id",
  "UPDATE posts SET title = '' RETURNING id",
  'EXPLAIN SELECT id FROM posts',
  'CREATE TABLE x AS SELECT id FROM posts',
  'SELECT id /* FROM posts',
  "SELECT id, 'x FROM posts",
  'SELECT id FROM posts WHERE title = ?',
  'SELECT id FROM posts WHERE title = $1',
  // Writing inside of a SELECT.
  'WITH x AS (DELETE FROM posts RETURNING id) SELECT id FROM x',
  "WITH x AS (UPDATE posts SET title = '' RETURNING id) SELECT id FROM x",
  "WITH x AS (INSERT INTO posts (id) VALUES ('x') RETURNING id) SELECT id FROM x",
  'SELECT id INTO y FROM posts',
  // Without an end.
  'WITH RECURSIVE x(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM x) SELECT id FROM x',
  "WITH RECURSIVE x(id) AS (SELECT 'a' UNION ALL SELECT id || id FROM x) SELECT id FROM x",
  'SELECT value AS id FROM generate_series(1, 1000000000)',
  'SELECT g AS id FROM generate_series(1, 1000000000) AS g',
  // Secrets.
  'SELECT id, password FROM users',
  'SELECT id, "tokenKey" FROM users',
  'SELECT u.id, u.password AS title FROM users u',
  'WITH u AS (SELECT * FROM users) SELECT id, password FROM u',
  'SELECT id, x.password FROM (SELECT * FROM users) AS x',
  'SELECT * FROM users',
  'SELECT id, u FROM users u',
  'SELECT id, to_json(u) AS x FROM users u',
  'SELECT id, "$position" FROM posts',
  'SELECT id, "$revision" AS x FROM posts',
  // Tables of the service.
  'SELECT id FROM "$secret"',
  'SELECT name AS id, value FROM "$secret"',
  'SELECT (SELECT count(*) FROM "$secret") AS id FROM posts',
  'SELECT count(*) AS id FROM "$collection"',
  'SELECT id FROM "$event"',
  'SELECT id FROM chancery.secret',
  'SELECT id FROM chancery.instance',
  'SELECT id FROM posts NATURAL JOIN chancery.secret',
  'SELECT id FROM main."$secret"',
  'SELECT "id" FROM "posts" WHERE EXISTS (SELECT 1 FROM "$api_key")',
  // Objects that are not there.
  'SELECT id FROM nowhere',
  'SELECT id FROM public.posts',
  'SELECT nowhere(id) AS id FROM posts',
];

const onSqlite: readonly string[] = [
  "ATTACH DATABASE '/etc/passwd' AS x",
  'PRAGMA table_list',
  "VACUUM INTO 'x'",
  'SELECT name AS id FROM sqlite_master',
  'SELECT name AS id FROM sqlite_schema',
  'SELECT count(*) AS id FROM sqlite_master',
  'SELECT seq AS id FROM sqlite_sequence',
  'SELECT sql AS id FROM main.sqlite_schema',
  'SELECT name AS id FROM temp.sqlite_schema',
  "SELECT name AS id FROM pragma_table_info('posts')",
  'SELECT name AS id FROM pragma_table_list',
  'SELECT file AS id FROM pragma_database_list',
  'SELECT name AS id FROM pragma_function_list',
  'SELECT count(*) AS id FROM pragma_database_list',
  'SELECT name AS id FROM dbstat',
  'SELECT count(*) AS id FROM dbstat',
  'SELECT pgno AS id FROM sqlite_dbpage',
  "SELECT load_extension('x') AS id",
  "SELECT readfile('/etc/passwd') AS id",
  "SELECT writefile('x', 'y') AS id",
  'SELECT hex(randomblob(1000000000)) AS id',
  'SELECT zeroblob(1000000000) AS id',
  'SELECT sqlite_version() AS id',
  'SELECT sqlite_compileoption_get(1) AS id',
  "SELECT fts3_tokenizer('x') AS id",
  'SELECT "$real_text"(1) AS id',
  'SELECT [id], [password] FROM [users]',
  'SELECT `id`, `password` FROM `users`',
  "SELECT x'00' AS id FROM sqlite_temp_master",
  "SELECT printf('%2000000000d', 1) AS id",
];

const onPostgres: readonly string[] = [
  'SELECT rolname AS id FROM pg_authid',
  'SELECT usename AS id FROM pg_shadow',
  'SELECT relname AS id FROM pg_class',
  'SELECT relname AS id FROM pg_catalog.pg_class',
  'SELECT query AS id FROM pg_stat_activity',
  'SELECT name AS id FROM pg_settings',
  'SELECT table_name AS id FROM information_schema.tables',
  "SELECT pg_read_file('/etc/passwd') AS id",
  "SELECT pg_ls_dir('/') AS id",
  "SELECT lo_import('/etc/passwd') AS id",
  "SELECT lo_export(1, 'x') AS id",
  "SELECT query_to_xml('SELECT * FROM chancery.secret', true, true, '') AS id",
  "SELECT table_to_xml('chancery.secret', true, true, '') AS id",
  "SELECT database_to_xml(true, true, '') AS id",
  "SELECT set_config('search_path', 'chancery', false) AS id",
  "SELECT current_setting('data_directory') AS id",
  'SELECT current_user AS id',
  'SELECT current_catalog AS id',
  'SELECT CURRENT_TIMESTAMP::text AS id',
  'SELECT LOCALTIME::text AS id',
  'SELECT version() AS id',
  'SELECT pg_sleep(100) AS id',
  "SELECT dblink('x', 'y') AS id",
  'SELECT pg_terminate_backend(1)::text AS id',
  'SELECT pg_advisory_lock(1)::text AS id',
  "SELECT nextval('chancery.version') AS id",
  "SELECT 'chancery.secret'::regclass AS id",
  "SELECT 'chancery.secret'::regclass::text AS id",
  "SELECT id, to_regclass('chancery.secret')::text AS x FROM posts",
  "SELECT 'pg_sleep'::regproc AS id",
  'SELECT tableoid AS id FROM posts',
  'SELECT xmin::text AS id FROM posts',
  'SELECT ctid::text AS id FROM posts',
  'SELECT posts.tableoid::text AS id FROM posts',
  'SELECT id FROM posts FOR UPDATE',
  'SELECT id FROM posts TABLESAMPLE SYSTEM (50)',
  'SELECT id FROM ONLY posts, chancery.endpoint',
  "SELECT repeat('x', 1000000000) AS id",
  "SELECT lpad('x', 1000000000) AS id",
  "SELECT E'\\x27' AS id",
  'SELECT $$x$$ AS id',
  'SELECT U&"\\0069d" FROM posts',
  'TABLE chancery.secret',
  'SELECT id, ROW(id, title) AS x FROM posts',
  'SELECT id, row_to_json(posts) AS x FROM posts',
  'SELECT id, posts::text AS x FROM posts',
  "SELECT id, xmlparse(content '<a/>')::text AS x FROM posts",
  "SELECT x.id FROM XMLTABLE('/a' PASSING '<a/>' COLUMNS id text) AS x",
  "SELECT (xpath('/a', '<a/>'))[1]::text AS id",
  "SELECT has_table_privilege('chancery.secret', 'select')::text AS id",
  'SELECT inet_server_addr()::text AS id',
  "SELECT pg_stat_file('/')::text AS id",
  'SELECT txid_current()::text AS id',
  'SELECT random()::text AS id',
  'SELECT gen_random_uuid()::text AS id',
  "SELECT convert_from('x'::bytea, 'UTF8') AS id",
  "SELECT pg_catalog.pg_read_binary_file('/etc/passwd')::text AS id",
  'COPY posts TO STDOUT',
  // What no plan opens.
  'SELECT id FROM posts WHERE false AND EXISTS (SELECT 1 FROM chancery.secret)',
  'WITH x AS (SELECT value FROM chancery.secret) SELECT id FROM posts',
  // What cannot be planned.
  'SELECT id, 1 / 0 AS x FROM posts',
  "SELECT id FROM posts WHERE title ~ 'x' AND pg_sleep(1) IS NULL",
  'SELECT "count" AS id FROM (SELECT pg_backend_pid()::text AS "count") AS x',
];

/** Queries that are allowed and take for ever. They are ended. */
const endless: readonly string[] = [
  'SELECT count(*) AS id FROM posts a, posts b, posts c, posts d, posts e, posts f, posts g, posts h, posts i, posts j',
  'SELECT max(a.title || b.title) AS id FROM posts a, posts b, posts c, posts d, posts e, posts f, posts g, posts h, posts i, posts j',
];

test('S-08 a query reaches nothing but the collections of its instance', async (t) => {
  const { call } = await setUp(t);
  const isSqlite = testEngine === 'sqlite';
  const attempts = [...onBoth, ...(isSqlite ? onSqlite : onPostgres)];
  assert.ok(attempts.length >= 60);
  for (const query of attempts) {
    const body = { name: 'hostile', type: 'view', viewQuery: query };
    const saved = await call('POST', '/api/collections', body);
    assert.deepEqual(
      [saved.status, saved.json.data.viewQuery?.code],
      [400, 'validation_invalid_view_query'],
      query,
    );
  }
  for (const query of attempts.slice(0, 20)) {
    const { status, json } = await call('POST', '/api/collections/meta/dry-run-view', { query });
    assert.equal(status, 400, query);
    assert.match(json.message, /^Invalid view query\. Raw error: \n.{10,}/, query);
  }
  const { json } = await call('GET', '/api/collections/posts/records');
  assert.equal(json.totalItems, 30);
  assert.equal((await call('GET', '/api/collections/hostile')).status, 404);
});

test('S-08 a query without an end is ended, and others are served meanwhile', async (t) => {
  const { call } = await setUp(t, { flags: hurried });
  for (const query of endless) {
    const state = { isOver: false };
    const ended = call('POST', '/api/collections/meta/dry-run-view', { query }).finally(
      () => (state.isOver = true),
    );
    let served = 0;
    while (!state.isOver) {
      const { status } = await call('GET', '/api/collections/posts/records');
      assert.equal(status, 200);
      served += 1;
    }
    const { status, json } = await ended;
    assert.deepEqual(
      [status, json.message],
      [400, 'Invalid view query. Raw error: \nthe query took too long.'],
    );
    assert.ok(served > 1);
  }
});

test('S-08 a view that takes too long by now is ended, too', async (t) => {
  const { call } = await setUp(t, { posts: 1, flags: hurried });
  for (const [at, query] of endless.entries()) {
    const made = await call('POST', '/api/collections', { name: `v${at}`, type: 'view', viewQuery: query });
    assert.equal(made.status, 200, made.text);
  }
  await fill(call, 29);
  for (const at of endless.keys()) {
    const { status, json } = await call('GET', `/api/collections/v${at}/records`);
    assert.deepEqual([status, json.message], [503, 'The query took too long.']);
  }
  assert.equal((await call('GET', '/api/collections/posts/records')).status, 200);
});

/** Long enough for all that is quick. */
const hurried = { 'query-timeout': '2' };

type Call = (method: string, path: string, body?: unknown) => Promise<TestAnswer>;

async function setUp(
  t: TestContext,
  { posts = 30, flags = {} }: { readonly posts?: number; readonly flags?: Flags } = {},
): Promise<{ readonly service: TestService; readonly call: Call }> {
  const service = await startService(t, { flags });
  const call: Call = (method, path, body) =>
    service.request(path, { method, token: true, ...(body !== undefined && { body }) });
  await call('POST', '/api/collections', { name: 'posts', fields: [{ name: 'title', type: 'text' }] });
  await call('POST', '/api/collections', { name: 'users', type: 'auth' });
  await fill(call, posts);
  return { service, call };
}

async function fill(call: Call, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1)
    assert.equal((await call('POST', '/api/collections/posts/records', { title: `t${number}` })).status, 201);
}
