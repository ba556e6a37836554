// Both engines: what is copied comes out of them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRecordQuota } from '../../src/collections/table-quotas.ts';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { startWebhookService } from '../support/webhook-service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Archive } from '../../src/transfer/archive/read-archive.ts';

test('a program clones an instance, and downloads an archive of it', async (t) => {
  const service = await startWebhookService(t);
  const post = await service.addPost('kept');
  const { key: token } = await makeOperatorKey(service);
  const path = '/api/operator/instances/default';
  const cloned = await service.request(`${path}/clone`, { method: 'POST', token, body: { slug: 'copy' } });
  assert.equal(cloned.status, 201, cloned.text);
  assert.deepEqual([cloned.json.slug, cloned.json.state], ['copy', 'active']);
  const answer = await service.request(`/i/copy/api/records/posts/${post.id}`, { token: true });
  assert.equal(answer.status, 200, answer.text);
  for (const body of [{ slug: 'copy' }, { slug: 'A' }, {}]) {
    const refused = await service.request(`${path}/clone`, { method: 'POST', token, body });
    assert.deepEqual([refused.status, Object.keys(refused.json.data)], [400, ['slug']], refused.text);
  }
  const archive = await fetch(`${service.url}${path}/archive`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(archive.status, 200);
  assert.match(archive.headers.get('content-disposition') ?? '', /filename="?default\.chancery/);
  const file = join(temporaryFolder(t), 'default.chancery');
  writeFileSync(file, new Uint8Array(await archive.arrayBuffer()));
  const { manifest } = await Archive.open(file).then((opened) => {
    opened.close();
    return opened;
  });
  assert.equal(manifest.instance.slug, 'default');
  const { key: reader } = await makeOperatorKey(service, ['instances:read']);
  assert.equal((await service.request(`${path}/archive`, { token: reader })).status, 403);
});

test('an instance whose backup was restored has the id that it had, for programs too', async (t) => {
  const service = await startWebhookService(t);
  const { key: token } = await makeOperatorKey(service);
  const path = '/api/operator/instances/default';
  const { id } = (await service.request(path, { token })).json;
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  await service.call('POST', '/api/backups/one.zip/restore', { status: 204 });
  await eventually('it is served', async () => (await fetch(`${service.url}/api/health`)).status === 200);
  assert.equal((await service.request(path, { token })).json.id, id);
  const byId = `/api/operator/instances/${id}`;
  const labels = { plan: 'pro' };
  const changed = await service.request(byId, { method: 'PATCH', token, body: { labels } });
  assert.deepEqual([changed.status, changed.json.labels], [200, labels]);
  assert.equal((await service.request(`${byId}/suspend`, { method: 'POST', token })).json.state, 'suspended');
  assert.equal((await service.request(`${byId}/resume`, { method: 'POST', token })).json.state, 'active');
  assert.equal((await service.request(`${byId}/backups`, { method: 'POST', token })).status, 204);
  const backups = (await service.request('/api/operator/backups', { token })).json;
  assert.deepEqual([backups.cron, backups.items.length, backups.items[0].slug], ['', 1, 'default']);
  assert.match(backups.items[0].lastBackup.backup, /^backup_default_/);
  const events = await service.request('/api/operator/events', { token });
  const items: readonly { readonly kind: string }[] = events.json.items;
  const kinds = new Set(items.map(({ kind }) => kind));
  for (const kind of ['backup.created', 'backup.restored', 'instance.suspended'])
    assert.ok(kinds.has(kind), kind);
});

test('a program limits an instance, and reads what it has used', async (t) => {
  const service = await startWebhookService(t);
  const { key: token } = await makeOperatorKey(service);
  const path = '/api/operator/instances';
  const created = await service.request(path, {
    method: 'POST',
    token,
    body: { slug: 'acme', quotas: { records: 2, endpoints: 1 } },
  });
  assert.deepEqual([created.status, created.json.quotas], [201, { records: 2, endpoints: 1 }]);
  const change = (quotas: object): ReturnType<typeof service.request> =>
    service.request(`${path}/default`, { method: 'PATCH', token, body: { quotas } });
  assert.deepEqual((await change({ records: 1 })).json.quotas, { records: 1 });
  const limited = (max: number | undefined): Promise<unknown> =>
    eventually('the quota holds', () =>
      service.withInstance('default', async ({ database }) => (await readRecordQuota(database))?.max === max),
    );
  await limited(1);
  await service.addPost('the only one');
  const body = { title: 'one too many' };
  const refused = await service.request('/api/records/posts', { method: 'POST', token: true, body });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.json.message, /quota/i);
  const wrong = await change({ records: -1, cakes: 1 });
  assert.deepEqual([wrong.status, Object.keys(wrong.json.data.quotas)], [400, ['cakes', 'records']]);
  assert.deepEqual((await change({})).json.quotas, {});
  await limited(undefined);
  await service.addPost('another');
  const usage = await service.request(`${path}/default/usage?step=hour`, { token });
  assert.equal(usage.status, 200, usage.text);
  assert.ok(Array.isArray(usage.json.items));
  assert.equal((await service.request('/api/operator/usage?by=writes&top=5', { token })).status, 200);
  for (const query of ['step=week', 'from=x']) {
    const answer = await service.request(`${path}/default/usage?${query}`, { token });
    assert.equal(answer.status, 400, query);
  }
  assert.equal((await service.request('/api/operator/usage?top=0', { token })).status, 400);
});
