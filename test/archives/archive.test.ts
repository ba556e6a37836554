import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { Random } from '../faults/random.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Engine, makePlace, randomKey } from './archive-stage.ts';
import { fillWorld } from './archive-world.ts';
import { assertSameParts, look } from './compare-instances.ts';

const password = 'correct horse battery';
const superuser = 'ann@example.com';

for (const [from, to] of [
  ['sqlite', 'sqlite'],
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
  ['postgres', 'postgres'],
] as const)
  test(`an instance on ${from} is the same on ${to}, to the last byte`, (t) => roundTrip(t, from, to));

async function roundTrip(t: TestContext, from: Engine, to: Engine): Promise<void> {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const receiver = await Receiver.open();
  t.after(() => receiver.close());
  const folder = temporaryFolder(t);
  const [source, target] = [await makePlace(t, from), await makePlace(t, to)];
  await source.run('superuser', 'upsert', superuser, password);
  const before = await source.serve(t);
  const pb = new PocketBase(before.url);
  await pb.collection('_superusers').authWithPassword(superuser, password);
  const { endpoint } = await fillWorld(pb, new Random(seed), receiver.url);
  const file = join(folder, 'one.chancery');
  assert.match(await source.run('export', 'default', file), /^Exported to .*\n\d+ collections, \d+ records/m);
  const seen = await look(before.url, '', pb.authStore.token);
  await before.stop();
  await target.run('instance', 'create', 'other');
  assert.match(
    await target.run('import', 'archive', file, '--as', 'restored'),
    /^Instance restored imported/m,
  );
  const again = join(folder, 'two.chancery');
  await target.run('export', 'restored', again);
  await assertSameParts(file, again);
  const after = await target.serve(t);
  assert.deepEqual(await look(after.url, '/i/restored', pb.authStore.token), seen);
  await assertGoesOn(pb, { url: `${after.url}/i/restored`, endpoint, receiver });
}

test('an archive with a passphrase is opened by a service with another master key, and by nobody without it', async (t) => {
  const folder = temporaryFolder(t);
  const source = await makePlace(t, 'sqlite');
  await source.run('superuser', 'upsert', superuser, password);
  const before = await source.serve(t);
  const pb = new PocketBase(before.url);
  await pb.collection('_superusers').authWithPassword(superuser, password);
  await fillWorld(pb, new Random(7), 'http://127.0.0.1:9/hook');
  const feed = await pb.send<{ nextCursor: string }>('/api/webhooks/feed?limit=3', {});
  await before.stop();
  const [phrase, other] = [join(folder, 'phrase'), join(folder, 'other')];
  writeFileSync(phrase, 'a long passphrase\n');
  writeFileSync(other, 'another long passphrase');
  const file = join(folder, 'one.chancery');
  await source.run('export', 'default', file, '--passphrase-file', phrase);
  const target = await makePlace(t, 'sqlite', randomKey());
  await target.run('instance', 'create', 'other');
  const run = (...args: readonly string[]): ReturnType<typeof target.try> =>
    target.try('import', 'archive', file, '--as', 'restored', ...args);
  assert.match((await run()).stderr, /it needs the passphrase/);
  assert.match((await run('--passphrase-file', other)).stderr, /the passphrase is another one/);
  writeFileSync(other, 'short');
  assert.match((await run('--passphrase-file', other)).stderr, /at least 12 characters/);
  assert.equal((await run('--passphrase-file', phrase)).code, 0);
  const after = await target.serve(t);
  pb.baseURL = `${after.url}/i/restored`;
  // The token, the cursor and the secrets of the source are still good.
  assert.equal((await pb.collection('_superusers').getList()).totalItems, 1);
  await pb.send(`/api/webhooks/feed?cursor=${encodeURIComponent(feed.nextCursor)}`, {});
  const [endpoint] = (await pb.send<{ items: { id: string }[] }>('/api/webhooks/endpoints', {})).items;
  const secret = await pb.send<{ secret: string }>(`/api/webhooks/endpoints/${endpoint?.id}/secret`, {});
  assert.match(secret.secret, /^whsec_/);
  await after.stop();
  // Its own archives are sealed with the master key that it has now.
  const again = join(folder, 'two.chancery');
  await target.run('export', 'restored', again);
  const third = await makePlace(t, 'sqlite', target.key);
  await third.run('instance', 'create', 'other');
  await third.run('import', 'archive', again, '--as', 'restored');
  const last = await third.serve(t);
  pb.baseURL = `${last.url}/i/restored`;
  assert.equal((await pb.collection('_superusers').getList()).totalItems, 1);
});

for (const engine of ['sqlite', 'postgres'] as const)
  test(`a clone on ${engine} is another instance with the same content, and sends nothing`, async (t) => {
    const receiver = await Receiver.open();
    t.after(() => receiver.close());
    const place = await makePlace(t, engine);
    await place.run('superuser', 'upsert', superuser, password);
    const app = await place.serve(t);
    const pb = new PocketBase(app.url);
    await pb.collection('_superusers').authWithPassword(superuser, password);
    const { endpoint } = await fillWorld(pb, new Random(7), receiver.url);
    await pb.send(`/api/webhooks/endpoints/${endpoint}/resume`, { method: 'POST' });
    const { totalItems } = await pb.collection('notes').getList(1, 1);
    assert.match(
      await place.run('instance', 'clone', 'default', 'copy'),
      /Instance copy cloned from default, with the id [a-z0-9]{15}\. Its endpoints are paused\.\n$/,
    );
    const copy = new PocketBase(`${app.url}/i/copy`);
    await eventually(
      'the copy is found',
      async () => (await fetch(`${copy.baseURL}/api/health`)).status === 200,
    );
    await copy.collection('_superusers').authWithPassword(superuser, password);
    assert.equal((await copy.collection('notes').getList(1, 1)).totalItems, totalItems);
    const [paused] = (
      await copy.send<{ items: { status: string; statusReason: string }[] }>('/api/webhooks/endpoints', {})
    ).items;
    assert.deepEqual(
      [paused?.status, paused?.statusReason],
      ['paused', 'The instance is a copy of another one.'],
    );
    await copy.collection('notes').create({ serial: 2_000, title: 'only here' });
    await pb.collection('notes').create({ serial: 2_001, title: 'only there' });
    assert.equal((await copy.collection('notes').getList(1, 1)).totalItems, totalItems + 1);
    await eventually('the source has sent', () =>
      receiver.requests.some(({ body }) => Buffer.from(body).includes('only there')),
    );
    assert.ok(receiver.requests.every(({ body }) => !Buffer.from(body).includes('only here')));
    const again = await place.try('instance', 'clone', 'default', 'copy');
    assert.equal(again.code, 65);
    assert.match(again.stderr, /The slug copy belongs to another instance/);
  });

test('an archive of an instance with its files in S3 is refused before anything is there', async (t) => {
  const folder = temporaryFolder(t);
  const place = await makePlace(t, 'sqlite');
  await place.run('superuser', 'upsert', superuser, password);
  const app = await place.serve(t);
  const pb = new PocketBase(app.url);
  await pb.collection('_superusers').authWithPassword(superuser, password);
  const s3 = {
    enabled: true,
    bucket: 'bucket',
    region: 'us-east-1',
    endpoint: 'http://127.0.0.1:9',
    accessKey: 'access',
    secret: 'quiet secret',
    forcePathStyle: true,
  };
  await pb.settings.update({ s3 });
  const file = join(folder, 'one.chancery');
  await place.run('export', 'default', file);
  const { code, stderr } = await place.try('import', 'archive', file, '--copy', '--as', 'copy');
  assert.equal(code, 65);
  assert.match(stderr, /keeps its files in S3/);
  assert.doesNotMatch(await place.run('instance', 'list', '--all'), /copy/);
});

/** What waits is sent once, and new records, events and tokens follow those that were imported. */
async function assertGoesOn(
  pb: PocketBase,
  {
    url,
    endpoint,
    receiver,
  }: { readonly url: string; readonly endpoint: string; readonly receiver: Receiver },
): Promise<void> {
  pb.baseURL = url;
  const path = `/api/webhooks/deliveries?perPage=500&endpoint=${endpoint}`;
  const waiting = await pb.send<{ items: { id: string; status: string }[] }>(path, {});
  const pending = waiting.items.filter(({ status }) => status === 'pending').length;
  assert.ok(pending > 40);
  const late = await pb.collection('notes').create({ serial: 1_000, title: 'late' });
  const newest = await pb.collection('notes').getList(1, 1, { sort: '-@rowid' });
  assert.equal(newest.items[0]?.id, late.id);
  await pb.send(`/api/webhooks/endpoints/${endpoint}/resume`, { method: 'POST' });
  await eventually('all are sent', () => receiver.requests.length >= pending + 1);
  const ids = receiver.requests.map(({ headers }) => String(headers['webhook-id']));
  assert.equal(new Set(ids).size, pending + 1);
  const user = new PocketBase(url);
  await user.collection('authors').authWithPassword('author1@example.com', password);
}
