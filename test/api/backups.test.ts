// Both engines: each makes and restores backups by its own means.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startWebhookService } from '../support/webhook-service.ts';

const busyText = 'Try again later - another backup/restore process has already been started.';

test('a superuser makes, lists, downloads, deletes, uploads and restores a backup with the SDK', async (t) => {
  const service = await startWebhookService(t);
  const pb = await superuserSdk(service);
  const kept = await service.addPost('kept');
  const file = new File(['content of a file'], 'note.txt');
  await pb.collections.update('posts', {
    fields: [
      ...(await pb.collections.getOne('posts')).fields,
      { name: 'file', type: 'file', maxSize: 1_000 },
    ],
  });
  const withFile = await pb.collection('posts').create({ title: 'with a file', file });
  await pb.backups.create('first.zip');
  const [backup] = await pb.backups.getFullList();
  assert.equal(backup?.key, 'first.zip');
  assert.ok(Math.abs(Date.parse(backup.modified) - Date.now()) < 60_000);
  await pb.collection('posts').update(kept.id, { title: 'changed' });
  const later = await service.addPost('later');
  await pb.collection('posts').delete(withFile.id);

  const url = pb.backups.getDownloadURL(await pb.files.getToken(), 'first.zip');
  const content = await (await fetch(url)).arrayBuffer();
  assert.equal(content.byteLength, backup.size);
  const range = await fetch(url, { headers: { range: 'bytes=0-1' } });
  assert.deepEqual([range.status, await range.text()], [206, 'PK']);
  assert.equal((await fetch(pb.backups.getDownloadURL('none', 'first.zip'))).status, 403);
  await pb.backups.delete('first.zip');
  assert.deepEqual(await pb.backups.getFullList(), []);
  assert.equal((await refusalOf(pb.backups.restore('first.zip'))).status, 404);
  await pb.backups.upload({ file: new File([content], 'back.zip', { type: 'application/zip' }) });
  assert.deepEqual(
    (await pb.backups.getFullList()).map(({ key, size }) => [key, size]),
    [['back.zip', backup.size]],
  );

  await pb.backups.restore('back.zip');
  // The token, the endpoint of the API and the backups are still there.
  await eventually(
    'it is served again',
    async () => (await fetch(`${service.url}/api/health`)).status === 200,
  );
  const posts = await pb.collection('posts').getFullList({ sort: 'title' });
  assert.deepEqual(
    posts.map(({ id, title }) => [id, title]),
    [
      [kept.id, 'kept'],
      [withFile.id, 'with a file'],
    ],
  );
  const address = pb.files.getURL(withFile, withFile['file']);
  assert.equal(await (await fetch(address)).text(), 'content of a file');
  assert.equal((await refusalOf(pb.collection('posts').getOne(later.id))).status, 404);
  assert.equal((await pb.backups.getFullList()).length, 1);
  const status = await service.call('GET', '/api/backups/status');
  assert.deepEqual([status.running, status.failure, status.lastBackup.backup], [null, null, 'first.zip']);
  await service.call('POST', '/api/backups/back.zip/verify', { status: 204 });
  const verified = await service.call('GET', '/api/backups/status');
  assert.equal(verified.lastVerification.backup, 'back.zip');
});

test('after a restore, what was delivered is not sent again, and what waited is sent', async (t) => {
  const service = await startWebhookService(t);
  const { receiver } = service;
  await service.addEndpoint();
  const before = await service.addPost('before');
  await service.delivery('delivered', ({ status }) => status === 'delivered');
  const { instanceId } = (await service.call('GET', '/api/health')).data;
  receiver.mode = { kind: 'status', status: 503 };
  const waiting = await service.addPost('waiting');
  await eventually('it was tried', async () => receiver.requests.length === 2);
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  receiver.mode = { kind: 'ok' };
  await service.call('POST', `/api/webhooks/deliveries/${(await service.deliveries())[1].id}/retry`);
  await eventually('what waited was delivered', async () => receiver.requests.length === 3);
  const lost = await service.addPost('lost');
  await eventually('it was delivered', async () => receiver.requests.length === 4);
  await service.call('POST', '/api/backups/one.zip/restore', { status: 204 });
  await eventually(
    'it is served again',
    async () => (await fetch(`${service.url}/api/health`)).status === 200,
  );
  const after = await service.addPost('after');
  await eventually('the next one was delivered', async () => receiver.requests.length === 5);
  const sent = receiver.requests.map(({ body }) => JSON.parse(body.toString()).data.id);
  assert.deepEqual(sent, [before.id, waiting.id, waiting.id, lost.id, after.id]);
  assert.equal((await service.call('GET', '/api/health')).data.instanceId, instanceId);
  await eventually('all are settled', async () => {
    const deliveries = await service.deliveries();
    return deliveries.length === 3 && deliveries.every(({ status }) => status === 'delivered');
  });
});

test('what was expunged since the backup stays expunged, and a newer endpoint leaves nothing to a later one', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint();
  await service.addPost('secret');
  await service.delivery('delivered', ({ status }) => status === 'delivered');
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  const [event] = (await service.call('GET', '/api/webhooks/events')).items;
  await service.call('DELETE', `/api/webhooks/events/${event.id}/body`, { status: 204 });
  const newer = await service.addEndpoint({ name: 'newer' });
  await service.addPost('lost');
  await eventually('both have got it', async () => (await service.deliveries()).length === 3);
  await service.call('POST', '/api/backups/one.zip/restore', { status: 204 });
  await eventually(
    'it is served again',
    async () => (await fetch(`${service.url}/api/health`)).status === 200,
  );
  const restored = await service.call('GET', `/api/webhooks/events/${event.id}`);
  assert.deepEqual([restored.expunged === '', restored.body], [false, null]);
  await service.call('GET', `/api/webhooks/endpoints/${newer.id}`, { status: 404 });
  await service.addEndpoint({ name: 'newest' });
  assert.equal((await service.deliveries()).length, 1);
  await service.addPost('after');
  await eventually('both endpoints get it', async () => {
    const deliveries = await service.deliveries();
    return deliveries.length === 3 && deliveries.every(({ status }) => status === 'delivered');
  });
});

test('a backup that is restored after an older one knows what was delivered of its own events, and sends what waited', async (t) => {
  const service = await startWebhookService(t);
  const { receiver } = service;
  await service.addEndpoint();
  await service.call('POST', '/api/backups', { body: { name: 'old.zip' }, status: 204 });
  const delivered = await service.addPost('delivered');
  await service.delivery('delivered', ({ status }) => status === 'delivered');
  receiver.mode = { kind: 'status', status: 503 };
  const waiting = await service.addPost('waiting');
  await eventually('it was tried', async () => receiver.requests.length === 2);
  await service.call('POST', '/api/backups', { body: { name: 'new.zip' }, status: 204 });
  for (const name of ['old.zip', 'new.zip']) {
    await service.call('POST', `/api/backups/${name}/restore`, { status: 204 });
    await eventually(
      'it is served again',
      async () => (await fetch(`${service.url}/api/health`)).status === 200,
    );
  }
  receiver.mode = { kind: 'ok' };
  const [first, second] = await service.deliveries();
  assert.equal(first.status, 'delivered');
  await service.call('POST', `/api/webhooks/deliveries/${second.id}/retry`);
  await eventually('what waited was delivered', async () =>
    (await service.deliveries()).every(({ status }: { status: string }) => status === 'delivered'),
  );
  const sent = receiver.requests.map(({ body }) => JSON.parse(body.toString()).data.id);
  assert.equal(sent.filter((id) => id === delivered.id).length, 1);
  assert.equal(sent.at(-1), waiting.id);
});

test('a second job of an instance is refused while one runs', async (t) => {
  const service = await startWebhookService(t);
  const answers = await Promise.all(
    ['a.zip', 'b.zip', 'c.zip'].map((name) =>
      service.request('/api/backups', { method: 'POST', token: true, body: { name } }),
    ),
  );
  const refused = answers.filter(({ status }) => status !== 204);
  assert.equal(refused.length, 2);
  for (const { status, json } of refused) assert.deepEqual([status, json.message], [400, busyText]);
});

test('guests and users reach no backup', async (t) => {
  const service = await startWebhookService(t);
  await service.call('POST', '/api/backups', { body: { name: 'a.zip' }, status: 204 });
  for (const [method, path] of [
    ['GET', '/api/backups'],
    ['POST', '/api/backups'],
    ['POST', '/api/backups/upload'],
    ['DELETE', '/api/backups/a.zip'],
    ['POST', '/api/backups/a.zip/restore'],
    ['POST', '/api/backups/a.zip/verify'],
  ] as const)
    assert.equal((await service.request(path, { method })).status, 401, path);
  assert.equal((await service.request('/api/backups/a.zip')).status, 403);
  const pb = new PocketBase(service.url);
  assert.equal((await refusalOf(pb.backups.upload({ file: new File(['x'], 'x.zip') }))).status, 401);
});

test('names with paths, files that are no archives and archives of others are refused, and change nothing', async (t) => {
  const service = await startWebhookService(t);
  const pb = await superuserSdk(service);
  for (const name of ['../a.zip', 'a/b.zip', 'a.tar', 'A.zip', `${'a'.repeat(150)}.zip`, '.zip']) {
    const refused = await refusalOf(pb.backups.create(name));
    assert.deepEqual([refused.status, Object.keys(refused.response['data'])], [400, ['name']], name);
  }
  for (const key of ['..%2Fcontrol.db', '%2e%2e%2fx.zip', 'none.zip', 'x', '@auto_x.zip'])
    for (const [method, path] of [
      ['GET', `/api/backups/${key}`],
      ['DELETE', `/api/backups/${key}`],
      ['POST', `/api/backups/${key}/restore`],
    ] as const)
      assert.equal((await service.request(path, { method, token: true })).status, 404, path);
  const upload = async (content: string | Uint8Array<ArrayBuffer>, name: string): Promise<number> =>
    pb.backups.upload({ file: new File([content], name) }).then(
      () => 204,
      (error: { status: number }) => error.status,
    );
  assert.equal(await upload('no zip', 'a.zip'), 400);
  assert.equal(await upload(new Uint8Array([0x50, 0x4b, 3, 4, 0, 0, 0, 0]), '../a.zip'), 400);
  const cut = new Uint8Array([0x50, 0x4b, 3, 4, ...Array.from({ length: 60 }, () => 0)]);
  assert.equal(await upload(cut, 'cut.zip'), 204);
  const refused = await refusalOf(pb.backups.restore('cut.zip'));
  assert.equal(refused.status, 400);
  assert.match(refused.response['message'], /^The archive cannot be used/);
  await service.addPost('still there');
});

test('a schedule makes backups, keeps the newest of them, and shows how old the last one is', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  const backups = { cron: '0 3 * * *', cronMaxKeep: 2 };
  await service.call('PATCH', '/api/settings', { body: { backups } });
  await service.call('POST', '/api/backups', { body: { name: 'by-hand.zip' }, status: 204 });
  const seen = new Set<string>();
  for (let day = 1; day <= 3; day += 1) {
    clock.move(86_400_000);
    await service.signIn();
    await eventually(`the backup of day ${day} is made`, async () => {
      const status = await service.call('GET', '/api/backups/status');
      seen.add(status.lastBackup.backup);
      return status.running === null && seen.size === day + 1;
    });
  }
  const list: readonly { readonly key: string }[] = await service.call('GET', '/api/backups');
  const names = list.map(({ key }) => key);
  assert.equal(names.length, 3);
  assert.ok(names.includes('by-hand.zip'));
  assert.deepEqual(names.filter((name) => name.startsWith('@auto_default_')).length, 2);
  const { text } = await service.request('/metrics', { token: true });
  assert.match(text, /^chancery_backups_overdue 0$/m);
  assert.match(text, /^chancery_instance_backup_age_seconds\{slug="default"\} \d+$/m);
});
