import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { makePlace } from './archive-stage.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const superuser = 'ann@example.com';
const password = 'correct horse battery';

for (const engine of ['sqlite', 'postgres'] as const)
  test(`commands back up all instances on ${engine} beside a server, verify the backups and restore one`, async (t) => {
    const place = await makePlace(t, engine);
    const folder = join(temporaryFolder(t), 'backups');
    await place.run('superuser', 'upsert', superuser, password);
    await place.run('instance', 'create', 'shop');
    const app = await place.serve(t);
    const pb = new PocketBase(app.url);
    await pb.collection('_superusers').authWithPassword(superuser, password);
    await pb.collections.create({ name: 'posts', fields: [{ name: 'title', type: 'text' }] });
    await pb.collection('posts').create({ title: 'kept' });
    const created = await place.run(
      'backup',
      'create',
      '--all',
      '--to',
      folder,
      '--name',
      'nightly.chancery',
    );
    assert.match(created, /^default {2}nightly\.chancery {2}\d+\.\d MiB/m);
    assert.match(created, /^shop {2}nightly\.chancery/m);
    assert.match(created, /sealed with the master key, which is not in the backup/);
    assert.equal(readdirSync(folder).length, 2);
    // The same again is done in no time: what is there is left as it is.
    const again = await place.run('backup', 'create', '--all', '--to', folder, '--name', 'nightly.chancery');
    assert.match(again, /^default {2}nightly\.chancery {2}is there already$/m);
    assert.match(
      await place.run('backup', 'list', '--all', '--from', folder),
      /^shop {2}nightly\.chancery {2}/m,
    );
    assert.match(
      await place.run('backup', 'verify', '--all', '--from', folder),
      /^shop {2}nightly\.chancery/m,
    );

    await pb.collection('posts').create({ title: 'later' });
    const restored = await place.run('backup', 'restore', 'default', '--from', folder);
    assert.match(restored, /^default {2}nightly\.chancery/m);
    assert.match(restored, /^The previous state can be restored for 7 days: chancery instance list --all/m);
    await eventually('it is served again', async () => (await fetch(`${app.url}/api/health`)).status === 200);
    const posts = await pb.collection('posts').getFullList();
    assert.deepEqual(
      posts.map((post): unknown => post['title']),
      ['kept'],
    );
    // The replaced one can be brought back beside it.
    const listed = await place.run('instance', 'list', '--all');
    const [, replaced = ''] = /^\S+\t(default-\d{8}-\d{6})\tdeleted/m.exec(listed) ?? [];
    await place.run('instance', 'restore', replaced);
    await place.run('instance', 'resume', replaced);
    const old = new PocketBase(`${app.url}/i/${replaced}`);
    await eventually('the replaced one is served', async () =>
      (await (await fetch(`${old.baseURL}/api/health`)).text()).includes('healthy'),
    );
    await old.collection('_superusers').authWithPassword(superuser, password);
    assert.equal((await old.collection('posts').getFullList()).length, 2);
    await old.collection('posts').create({ title: 'written again' });
  });

test('a backup that is damaged, of another instance or without a backup is a line and an exit code', async (t) => {
  const place = await makePlace(t, 'sqlite');
  const folder = join(temporaryFolder(t), 'backups');
  await place.run('superuser', 'upsert', superuser, password);
  await place.run('instance', 'create', 'shop');
  await place.run('backup', 'create', 'default', '--to', folder, '--name', 'one.zip');
  const missing = await place.try('backup', 'restore', 'shop', '--from', folder);
  assert.deepEqual([missing.code, missing.stderr], [1, 'chancery: 1 instance failed.\n']);
  assert.equal(missing.stdout, 'shop  failed: There is no backup of shop.\n');
  const [id = ''] = readdirSync(folder);
  const path = join(folder, id, 'one.zip');
  writeFileSync(path, 'no zip');
  const damaged = await place.try('backup', 'verify', 'default', '--from', folder);
  assert.equal(damaged.code, 1);
  assert.match(damaged.stdout, /^default {2}failed: The archive cannot be used/);
  rmSync(path);
  assert.equal((await place.try('backup', 'create', '--to', folder)).code, 64);
  assert.equal((await place.try('backup', 'create', '--all', '--to', 's3://bucket')).code, 64);
});

test('a restore over a suspended instance is refused, and changes nothing', async (t) => {
  const place = await makePlace(t, 'sqlite');
  await place.run('superuser', 'upsert', superuser, password);
  await place.run('instance', 'create', 'shop');
  await place.run('backup', 'create', 'shop', '--name', 'one.zip');
  await place.run('instance', 'suspend', 'shop');
  const refused = await place.try('backup', 'restore', 'shop');
  assert.match(refused.stdout, /^shop {2}failed: The instance shop is suspended: resume it first\.\n/);
  assert.doesNotMatch(await place.run('instance', 'list', '--all'), /shop-/);
});

for (const engine of ['sqlite', 'postgres'] as const)
  test(`a backup that is imported on ${engine} on another machine refuses cursors of what is lost`, async (t) => {
    const [place, other] = [await makePlace(t, 'sqlite'), await makePlace(t, engine)];
    const folder = join(temporaryFolder(t), 'backups');
    await place.run('superuser', 'upsert', superuser, password);
    const app = await place.serve(t);
    const pb = new PocketBase(app.url);
    await pb.collection('_superusers').authWithPassword(superuser, password);
    await pb.collections.create({ name: 'posts', fields: [{ name: 'title', type: 'text' }] });
    const feed = async (
      cursor = '',
    ): Promise<{ readonly nextCursor: string; readonly items: readonly object[] }> =>
      pb.send(`/api/webhooks/feed?cursor=${encodeURIComponent(cursor)}`, {});
    await pb.collection('posts').create({ title: 'kept' });
    const kept = await feed();
    await place.run('backup', 'create', 'default', '--to', folder, '--name', 'one.zip');
    await pb.collection('posts').create({ title: 'lost' });
    const lost = await feed();
    await app.stop();
    await other.run('superuser', 'upsert', superuser, password);
    const [id = ''] = readdirSync(folder);
    // A restored instance has another id inside, and keeps the one that it shows.
    await place.run('backup', 'restore', 'default', '--from', folder);
    await place.run('backup', 'create', 'default', '--to', folder, '--name', 'two.zip');
    const file = join(folder, id, 'two.zip');
    assert.equal((await other.try('import', 'archive', file, '--copy', '--backup')).code, 64);
    assert.equal(
      await other.run('import', 'archive', file, '--as', 'restored', '--backup'),
      `Instance restored imported with the id ${id}.\n`,
    );
    const after = await other.serve(t);
    pb.baseURL = `${after.url}/i/restored`;
    await pb.collection('posts').create({ title: 'after' });
    await eventually('it is in the feed', async () => (await feed(kept.nextCursor)).items.length === 1);
    const refused = await feed(lost.nextCursor).catch((error: { readonly status: number }) => error.status);
    assert.equal(refused, 400);
  });
