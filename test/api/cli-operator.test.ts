// Both engines: commands open the database beside a server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localRun, posts } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWebhookService } from '../support/webhook-service.ts';

test('what a command changes is in the audit log as done by the operator', async (t) => {
  const service = await startService(t);
  await service.request('/api/collections', { method: 'POST', token: true, body: posts });
  const run = await localRun(service.data);
  await run([
    'record',
    'create',
    '_superusers',
    'email=b@example.com',
    'password=12345678',
    'passwordConfirm=12345678',
  ]);
  const { json } = await service.request('/api/audit?filter=actor~"operator"', { token: true });
  const [entry] = json.items;
  assert.deepEqual([entry.action, entry.actor], ['superuser.create', 'operator'], JSON.stringify(json));
});

test('a command beside a server is not shut out by its settings for superusers', async (t) => {
  const service = await startService(t);
  await service.request('/api/collections', { method: 'POST', token: true, body: posts });
  // The service refuses settings that shut out who sets them.
  await service.withInstance('default', ({ database, settings }) =>
    database.write((tx) => settings.save(tx, { ...settings.current, superuserIPs: ['192.0.2.1'] }), {
      isExclusive: true,
    }),
  );
  assert.equal((await service.request('/api/collections/posts/records', { token: true })).status, 403);
  const run = await localRun(service.data);
  assert.equal((await run(['record', 'list', 'posts'])).code, 0);
});

test('an instance is named by --instance, and one that is not there is said to be missing', async (t) => {
  const data = temporaryFolder(t);
  const run = await localRun(data);
  assert.equal((await run(['instance', 'create', 'acme'])).code, 0);
  const values = ['email=a@example.com', 'password=12345678', 'passwordConfirm=12345678'];
  assert.equal((await run(['record', 'create', 'users', ...values, '--instance', 'acme'])).code, 0);
  const list = ['record', 'list', 'users', '--fields', 'email'];
  assert.equal((await run([...list, '--instance', 'acme'])).stdout, 'a@example.com\n');
  assert.equal((await run(list)).stdout, '');
  assert.equal((await run(list, { environment: { CHANCERY_INSTANCE: 'acme' } })).stdout, 'a@example.com\n');
  const missing = await run([...list, '--instance', 'beta']);
  assert.deepEqual([missing.code, missing.stderr], [65, 'chancery: There is no instance beta.\n']);
});

test('a running server delivers and tells at once what a command beside it has written', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint();
  const run = await localRun(service.data);
  const feed = service.call('GET', '/api/webhooks/feed?wait=30');
  const { code, stderr } = await run(['record', 'create', 'posts', 'title=Hello']);
  assert.equal(code, 0, stderr);
  const { items } = await feed;
  assert.deepEqual([items.length, items[0].payload.data.title], [1, 'Hello']);
  await eventually('it is delivered', () => service.receiver.requests.length === 1);
});
