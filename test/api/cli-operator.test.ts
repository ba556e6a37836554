// Both engines: commands open the database beside a server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { Receiver } from '../support/receiver.ts';
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

test('operator endpoint makes, lists, tests and deletes endpoints of the operator beside a server', async (t) => {
  const service = await startService(t);
  await using receiver = await Receiver.open();
  const run = await localRun(service.data);
  const created = await run([
    'operator',
    'endpoint',
    'create',
    receiver.url,
    '--dev',
    '--events',
    'instance.*',
    '--description',
    'billing',
  ]);
  assert.match(created.stdout, /^whsec_\S+\n$/);
  const id = /endpoint (\w{15})/.exec(created.stderr)?.[1] ?? '';
  const listed = await run(['operator', 'endpoint', 'list']);
  assert.equal(listed.stdout, `${id}\tactive\t${receiver.url}\tinstance.*\t0\t0\t\t\n`);
  const { key } = await makeOperatorKey(service);
  await operatorCaller(service, key)(200, 'PATCH /instances/default', { body: { labels: { plan: 'pro' } } });
  const [request] = await receiver.waitForRequests(1);
  assert.equal(request?.headers['x-service-event'], 'instance.updated');
  const tested = await run(['operator', 'endpoint', 'test', id, '--dev']);
  assert.deepEqual([tested.code, tested.stdout], [0, 'Delivered: status 200.\n']);
  receiver.mode = { kind: 'status', status: 500 };
  const failed = await run(['operator', 'endpoint', 'test', id, '--dev']);
  assert.deepEqual([failed.code, failed.stderr], [1, 'chancery: The receiver answered with status 500.\n']);
  const refused = await run(['operator', 'endpoint', 'create', 'http://127.0.0.1:9/']);
  assert.deepEqual([refused.code, refused.stdout], [65, '']);
  assert.match(refused.stderr, /must begin with https/);
  assert.equal((await run(['operator', 'endpoint', 'delete', id])).stdout, `Endpoint ${id} deleted.\n`);
  assert.equal((await run(['operator', 'endpoint', 'list'])).stdout, '');
  assert.equal((await run(['operator', 'endpoint', 'delete', id])).code, 65);
});
