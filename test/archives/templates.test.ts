import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { Random } from '../faults/random.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makePlace, randomKey, readParts } from './archive-stage.ts';
import { fillWorld } from './archive-world.ts';

const password = 'correct horse battery';
const superuser = 'ann@example.com';
const smtp = {
  enabled: true,
  host: 'mail.example.com',
  username: 'ann',
  password: 'the secret of a mail account',
};
const settings = { meta: { appName: 'Shop' }, smtp };

for (const engine of ['sqlite', 'postgres'] as const)
  test(`a template from ${engine} makes new instances with its definitions and settings, and nothing else`, async (t) => {
    const folder = temporaryFolder(t);
    const source = await makePlace(t, engine);
    await source.run('superuser', 'upsert', superuser, password);
    const before = await source.serve(t);
    const pb = new PocketBase(before.url);
    await pb.collection('_superusers').authWithPassword(superuser, password);
    await fillWorld(pb, new Random(7), 'http://127.0.0.1:9/hook');
    await pb.settings.update(settings);
    const { token } = pb.authStore;
    const collectionsOf = async (client: PocketBase): Promise<readonly unknown[]> =>
      client.collections.getFullList();
    const expected = await collectionsOf(pb);
    const file = join(folder, 'shop.chancery');
    assert.match(
      await source.run('export', 'default', file, '--template'),
      /^Exported the definitions and settings to .*: \d+ collections, without secrets\.$/m,
    );
    await before.stop();

    const parts = await readParts(file);
    const filled = [...parts].filter(
      ([name, content]) => /^(?:tables|records|files)\//.test(name) && content !== '',
    );
    assert.deepEqual(
      filled.map(([name]) => name),
      ['tables/collection.ndjson', 'tables/instance_setting.ndjson'],
    );
    assert.match(parts.get('manifest.json') ?? '', /"template": true/);
    assert.doesNotMatch(parts.get('tables/instance_setting.ndjson') ?? '', /\\"password\\":\\"[^\\]/);

    // Another master key: there is nothing that it has to open.
    const target = await makePlace(t, engine, randomKey());
    await target.run('instance', 'create', 'other');
    for (const slug of ['acme', 'beta'])
      assert.match(
        await target.run('import', 'archive', file, '--as', slug),
        /^Instance \w+ imported with the id/m,
      );
    await target.run('superuser', 'upsert', superuser, password, '--instance', 'acme');
    const after = await target.serve(t);
    const acme = new PocketBase(`${after.url}/i/acme`);
    acme.authStore.save(token, null);
    await assert.rejects(acme.collection('_superusers').getList(), { status: 403 });
    await acme.collection('_superusers').authWithPassword(superuser, password);
    assert.deepEqual(await collectionsOf(acme), expected);
    assert.equal((await acme.collection('notes').getList()).totalItems, 0);
    const own = await acme.settings.getAll();
    const { enabled, host } = own['smtp'] ?? {};
    assert.deepEqual([own['meta']?.appName, enabled, host], ['Shop', false, smtp.host]);
    const lists = ['endpoints', 'events'].map((name) =>
      acme.send<{ items: unknown[] }>(`/api/webhooks/${name}`, {}),
    );
    assert.deepEqual(
      (await Promise.all(lists)).map(({ items }) => items),
      [[], []],
    );

    const account = { email: 'bob@example.com', password, passwordConfirm: password };
    await acme.collection('authors').create(account);
    await acme.collection('authors').authWithPassword(account.email, password);
    const beta = new PocketBase(`${after.url}/i/beta`);
    beta.authStore.save(acme.authStore.token, null);
    await assert.rejects(beta.collection('authors').authRefresh(), { status: 401 });
  });

test('a template is no backup, and takes no passphrase', async (t) => {
  const folder = temporaryFolder(t);
  const place = await makePlace(t, 'sqlite');
  const [file, phrase] = [join(folder, 'shop.chancery'), join(folder, 'phrase')];
  await place.run('instance', 'create', 'other');
  await place.run('export', 'other', file, '--template');
  const backup = await place.try('import', 'archive', file, '--as', 'acme', '--backup');
  assert.deepEqual([backup.code, /it is a template, which has no records/.test(backup.stderr)], [65, true]);
  assert.doesNotMatch(await place.run('instance', 'list', '--all'), /acme/);
  writeFileSync(phrase, 'a long passphrase');
  const sealed = await place.try(
    'export',
    'other',
    join(folder, 'b.chancery'),
    '--template',
    '--passphrase-file',
    phrase,
  );
  assert.match(sealed.stderr, /A template has no secrets/);
});
