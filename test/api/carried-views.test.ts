// Both engines: a view is made again where an instance is restored, and each engine reads its query itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { importInto } from '../support/import-into.ts';
import { blogPosts } from '../support/pocketbase-blog.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  type SourceTable,
} from '../support/pocketbase-directory.ts';
import { superuserSdk } from '../support/sdk.ts';
import { startService } from '../support/service.ts';

test('a backup brings views back, with views of them', async (t) => {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  await pb.collections.create({ name: 'posts', type: 'base', fields: [{ name: 'title', type: 'text' }] });
  const { id } = await pb.collection('posts').create({ title: 'one' });
  // The outer one has the name that comes first.
  await pb.collections.create({ name: 'within', type: 'view', viewQuery: 'SELECT id, title FROM posts' });
  await pb.collections.create({
    name: 'above',
    type: 'view',
    viewQuery: 'SELECT id, title AS name FROM within',
  });
  await pb.backups.create('first.zip');
  await pb.collections.delete('above');
  await pb.backups.restore('first.zip');
  await eventually('the view is back', async () => {
    try {
      return (await pb.collection('above').getOne(id))['name'] === 'one';
    } catch {
      return false;
    }
  });
});

test('an import from PocketBase brings views whose queries fit, and names the others', async (t) => {
  const view = (name: string, viewQuery: string): SourceTable => ({
    id: `pbc_${name}`,
    name,
    type: 'view',
    fields: [],
    more: { viewQuery, listRule: '' },
  });
  const directory = makePocketbaseDirectory(t, {
    tables: [
      ...sourceAccounts([]),
      view('shown', 'SELECT id, heading FROM headings'),
      view('headings', 'SELECT id, title AS heading FROM posts'),
      view('schema', 'SELECT name AS id FROM sqlite_master'),
      blogPosts,
    ],
  });
  const service = await startService(t);
  const { omissions } = await importInto(service, directory);
  const left = omissions.filter(({ what }) => what === 'the collection');
  assert.deepEqual(
    left.map(({ of }) => of),
    ['schema'],
  );
  const { status, json } = await service.request('/api/collections/shown/records');
  assert.deepEqual([status, json.totalItems > 0], [200, true]);
});
