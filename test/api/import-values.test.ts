// Both engines: an import writes tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importInto, omissionsOf } from '../support/import-into.ts';
import { ann, ben, blogPosts, blogRow } from '../support/pocketbase-blog.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceId,
  type SourceTable,
} from '../support/pocketbase-directory.ts';
import { startService } from '../support/service.ts';

test('values are read as the definition has them now, however their columns were declared', async (t) => {
  const old: SourceTable = {
    ...blogPosts,
    declared: {
      id: 'TEXT PRIMARY KEY',
      tags: `TEXT DEFAULT ''`,
      state: `JSON DEFAULT '[]'`,
      author: `TEXT DEFAULT '[]'`,
      related: `TEXT DEFAULT ''`,
      views: `REAL DEFAULT 0`,
      isDraft: 'TEXT',
      data: 'TEXT',
      place: 'BLOB',
      due: 'TEXT',
      created: 'TEXT',
      updated: 'TEXT',
    },
    rows: [
      blogRow('post00000000001', {
        title: 'Old',
        views: '3.5',
        isDraft: 'true',
        tags: 'b',
        state: '["closed","open"]',
        author: '["benbenbenbenben","annaannaannaann"]',
        related: '["post00000000001","post00000000001",""]',
        data: '  [1]  ',
        due: '2024-05-06',
      }),
      blogRow('post00000000002', { title: 'Older', tags: '[]', state: '[]', author: '[]', data: '' }),
      blogRow('post00000000003', {
        title: 'Oldest',
        views: null,
        isDraft: null,
        tags: null,
        due: null,
        data: 'plain',
      }),
    ],
  };
  const service = await startService(t);
  const summary = await importInto(
    service,
    makePocketbaseDirectory(t, { tables: [...sourceAccounts([ann, ben]), old] }),
  );
  assert.deepEqual(omissionsOf(summary), []);
  const { json } = await service.request('/api/collections/posts/records', { token: true });
  const items: readonly Record<string, unknown>[] = json.items;
  const shown = items.map((item) =>
    ['views', 'isDraft', 'tags', 'state', 'author', 'related', 'data', 'due'].map((name) => item[name]),
  );
  assert.deepEqual(shown, [
    [3.5, true, ['b'], 'open', 'annaannaannaann', ['post00000000001'], [1], '2024-05-06 00:00:00.000Z'],
    [0, false, [], '', '', [], null, ''],
    [0, false, [], '', '', [], 'plain', ''],
  ]);
});

test('whatever is missing of what every record has here is given', async (t) => {
  const notes: SourceTable = {
    id: 'pbc_9',
    name: 'notes',
    fields: [sourceId],
    rows: [{ id: 'note00000000001' }],
  };
  const service = await startService(t);
  await importInto(service, makePocketbaseDirectory(t, { tables: [...sourceAccounts([]), notes] }));
  const { json } = await service.request('/api/collections/notes/records', { token: true });
  assert.match(json.items[0].created, /^20\d\d-/);
  assert.equal(json.items[0].updated, json.items[0].created);
});

test('a source whose settings were never saved has none', async (t) => {
  const service = await startService(t);
  const sql = `INSERT INTO _params (id) VALUES ('settings')`;
  const directory = makePocketbaseDirectory(t, { tables: sourceAccounts([]), sql });
  const before = await service.request('/api/settings', { token: true });
  assert.deepEqual(omissionsOf(await importInto(service, directory)), []);
  assert.equal((await service.request('/api/settings', { token: true })).text, before.text);
});

test('the instance has what the source has: its own users are gone where the source has none', async (t) => {
  const service = await startService(t);
  await importInto(service, makePocketbaseDirectory(t, { tables: [blogPosts].map(withoutAuthor) }));
  assert.equal((await service.request('/api/collections/users', { token: true })).status, 404);
  assert.equal((await service.request('/api/collections/posts', { token: true })).status, 200);
});

test('thousands of records come in order', async (t) => {
  const rows = Array.from({ length: 2_345 }, (_, at) => ({
    id: `r${String((at * 7_919) % 2_345).padStart(14, '0')}`,
    number: at,
  }));
  const fields = [sourceId, { id: 'number1', name: 'number', type: 'number' }];
  const service = await startService(t);
  const seen: number[] = [];
  await importInto(
    service,
    makePocketbaseDirectory(t, { tables: [{ id: 'pbc_9', name: 'many', fields, rows }] }),
    { onProgress: (progress) => progress.kind === 'records' && seen.push(progress.done) },
  );
  assert.deepEqual(seen, [1_000, 2_000, 2_345]);
  const path = '/api/collections/many/records?perPage=1000&fields=number&page=';
  const pages = [
    await service.request(`${path}1`, { token: true }),
    await service.request(`${path}3`, { token: true }),
  ];
  const items = pages.flatMap(({ json }): readonly { readonly number: number }[] => json.items);
  const numbers = items.map(({ number }) => number);
  assert.deepEqual(numbers, [...range(0, 1_000), ...range(2_000, 2_345)]);
});

function withoutAuthor(table: SourceTable): SourceTable {
  const fields = table.fields.filter(({ name }) => name !== 'author');
  return { ...table, fields, more: {}, rows: [] };
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

test('definitions of older versions keep lists as null, and indexes the name that their collection had', async (t) => {
  const notes: SourceTable = {
    id: 'pbc_0000000042',
    name: 'notes',
    fields: [
      sourceId,
      { id: 'email0000000001', name: 'email', type: 'email', exceptDomains: null, onlyDomains: null },
      { id: 'file00000000001', name: 'paper', type: 'file', maxSelect: 1, mimeTypes: null, thumbs: null },
    ],
    indexes: ['CREATE UNIQUE INDEX `idx_old_email` ON `notes` (`email`)'],
    rows: [{ id: 'note00000000001', email: 'a@example.com', paper: '' }],
  };
  const directory = makePocketbaseDirectory(t, {
    tables: [...sourceAccounts([ann]), notes],
    sql: `UPDATE _collections SET indexes = replace(indexes, '\`notes\`', '\`memos\`')`,
  });
  const service = await startService(t);
  assert.deepEqual(omissionsOf(await importInto(service, directory)), []);
  const { json } = await service.request('/api/collections/notes', { token: true });
  const [, email, paper] = json.fields;
  assert.deepEqual([email.exceptDomains, email.onlyDomains, paper.mimeTypes, paper.thumbs], [[], [], [], []]);
  assert.deepEqual(json.indexes, ['CREATE UNIQUE INDEX `idx_old_email` ON `notes` (`email`)']);
});
