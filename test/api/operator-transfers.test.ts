// Both engines: what is copied comes out of them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
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
  for (const body of [{ slug: 'copy' }, { slug: 'A' }, {}])
    assert.equal((await service.request(`${path}/clone`, { method: 'POST', token, body })).status, 400);
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
  const events = await service.request('/api/operator/events', { token });
  const kinds = events.json.items.map(({ kind }: { kind: string }) => kind);
  assert.ok(
    ['backup.created', 'backup.restored', 'instance.suspended'].every((kind) => kinds.includes(kind)),
  );
});
