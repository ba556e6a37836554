// Both engines: indexes are made by DDL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';

const path = '/api/collections';

/** What the engine knows of an index; another when it was built again. */
async function indexIdentity(service: TestService, name: string): Promise<unknown> {
  const query =
    testEngine === 'sqlite'
      ? sql`SELECT rootpage AS identity FROM sqlite_schema WHERE name = ${name}`
      : sql`SELECT oid::bigint AS identity FROM pg_class WHERE relname = ${name}`;
  const row = await service.withInstance('default', ({ database }) => database.get(query));
  assert.ok(row !== undefined);
  return row['identity'];
}

test('a change builds only those indexes again that it has to', async (t) => {
  const service = await startService(t);
  const ask = (method: string, at: string, body: object): Promise<TestAnswer> =>
    service.request(path + at, { method, token: true, body });
  const fields = ['a', 'b', 'c'].map((name) => ({ id: name, name, type: 'text' }));
  const indexes = ['CREATE INDEX on_a ON posts (a)', 'CREATE INDEX on_b ON posts (b)'];
  const { json: made } = await ask('POST', '', { name: 'posts', fields, indexes });
  const names = ['on_a', 'on_b', `$created_${made.id}`];
  const look = (): Promise<readonly unknown[]> =>
    Promise.all(names.map((name) => indexIdentity(service, name)));
  const [a, b, created] = await look();
  for (const body of [
    { listRule: '' },
    { name: 'articles' },
    { fields: [fields[1], { ...fields[0], max: 4_000 }] },
    { fields: fields.slice(0, 2), indexes: [...indexes, 'CREATE INDEX another ON posts (a, b)'] },
  ]) {
    assert.equal((await ask('PATCH', `/${made.id}`, body)).status, 200);
    assert.deepEqual(await look(), [a, b, created], JSON.stringify(body));
  }
  // SQLite may give a page that was freed to the next index, so a look behind the names: what is inside.
  await ask('POST', '/articles/records', { a: 'x', b: 'y' });
  const swapped = [
    { ...fields[0], name: 'b' },
    { ...fields[1], name: 'a' },
  ];
  const changed = await ask('PATCH', '/articles', { fields: swapped, indexes });
  assert.equal(changed.status, 200, changed.text);
  const found = await service.request(`${path}/articles/records?filter=a='y'%26%26b='x'`, { token: true });
  assert.equal(found.json.totalItems, 1);
});

test('the condition of an index may have parentheses, as tools write them, and is shown without', async (t) => {
  const service = await startService(t);
  const fields = ['a', 'b'].map((name) => ({ name, type: 'text' }));
  const make = (name: string, where: string): Promise<TestAnswer> => {
    const indexes = [`CREATE UNIQUE INDEX on_${name} ON ${name} (a) WHERE ${where}`];
    return service.request(path, { method: 'POST', token: true, body: { name, fields, indexes } });
  };
  const shown = "`a` != '' AND `b` = 'x' AND `a` > 'b'";
  for (const [at, where] of [
    "a != '' AND b = 'x' AND a > 'b'",
    "(a != '') AND (b = 'x') AND (a > 'b')",
    "((a != '' AND (b = 'x')) AND a > 'b')",
  ].entries()) {
    const made = await make(`c${at}`, where);
    assert.ok(String(made.json.indexes).endsWith(` WHERE ${shown}`), made.text);
  }
  for (const where of ["(a != ''", "a != '')", '()', "(a != '' OR b = '')", '('.repeat(1_900)])
    assert.equal((await make('broken', where)).status, 400, where.slice(0, 40));
});
