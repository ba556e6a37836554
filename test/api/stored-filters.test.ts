// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import type { MigrationNotice } from '../../src/storage/migrate.ts';
import { storedFilters } from '../../src/storage/migrations/stored-filters.ts';
import { runMigration } from '../support/run-migration.ts';
import { startService } from '../support/service.ts';

const raw = String.raw;
/** As older versions stored and read them: two backslashes are two, and a quote behind a backslash ends no text. */
const listRule = raw`t = 'a\\b'`;
const viewRule = raw`t = 'a\' || t != '`;
const updateRule = raw`t = 'a\'`;

test('rules that an older version has stored mean what they meant after the upgrade', async (t) => {
  const older = await startService(t);
  const fields = [{ name: 't', type: 'text' }];
  await older.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'notes', listRule: 't = "old"', viewRule: 't = "old"', updateRule: 't = "old"', fields },
  });
  for (const text of [raw`a\\b`, raw`a\b`, raw`a' || t != `, 'other'])
    await older.request('/api/records/notes', { method: 'POST', token: true, body: { t: text } });
  const notices: MigrationNotice[] = [];
  await older.withInstance('default', async ({ database }) => {
    const collection = database.names.table('$collection');
    const row = await database.get(sql`SELECT definition FROM ${collection} WHERE name = 'notes'`);
    const definition = JSON.parse(String(row?.['definition']));
    Object.assign(definition.rules, { listRule, viewRule, updateRule });
    await database.write(async (tx) => {
      await tx.run(
        sql`UPDATE ${collection} SET definition = ${JSON.stringify(definition)} WHERE name = 'notes'`,
      );
      notices.push(...(await runMigration(tx, storedFilters)));
    });
  });
  await older.stop();

  const service = await startService(t, { data: older.data });
  const list = await service.request('/api/records/notes');
  const items: readonly { id: string; t: string }[] = list.json.items;
  assert.deepEqual(
    items.map((item) => item.t),
    [raw`a\\b`],
  );
  const all = await service.request('/api/records/notes', { token: true });
  const visible: string[] = [];
  for (const { id, t: text } of all.json.items) {
    if ((await service.request(`/api/records/notes/${id}`)).status === 200) visible.push(text);
    const change = { method: 'PATCH', body: { t: 'x' } } as const;
    assert.notEqual((await service.request(`/api/records/notes/${id}`, change)).status, 200);
  }
  assert.deepEqual(visible, [raw`a' || t != `]);

  const audit = await service.request(`/api/audit?filter=${encodeURIComponent("action='filter.rewrite'")}`, {
    token: true,
  });
  const entries: readonly { details: { name: string } }[] = audit.json.items;
  const details = entries.map((entry) => entry.details);
  assert.deepEqual(
    details.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    [
      { name: 'listRule', before: listRule, after: raw`t = 'a\\\\b'` },
      { name: 'updateRule', before: updateRule, after: `(unreadable) ${updateRule}` },
    ],
  );
  assert.deepEqual(
    notices.map(({ members }) => members['name']),
    ['listRule', 'updateRule'],
  );
});
