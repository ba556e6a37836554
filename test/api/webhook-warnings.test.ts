import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startWebhookService, type Json, type WebhookService } from '../support/webhook-service.ts';

const failing = { kind: 'status', status: 500 } as const;

/** The members of the lines that the service has written with this message. */
function linesOf({ log }: WebhookService, message: string): readonly Json[] {
  return log.filter((line) => line.message === message).map(({ members }) => members);
}

const exhausted = 'A delivery is exhausted.';
const begunToFail = 'An endpoint started failing.';
const paused = 'An endpoint was paused by the service.';

test('one line in a minute says that deliveries of an endpoint are exhausted, and nothing of its URL but the host', async (t) => {
  const service = await startWebhookService(t, { mode: failing });
  const { host } = new URL(service.receiver.url);
  const url = `${service.receiver.url}/hook?token=s3cret`;
  const { id: endpoint } = await service.addEndpoint({ url, schedule: [] });
  await service.addPost('one');
  await service.addPost('two');
  const all = await eventually('both are exhausted', async () => {
    const found = await service.deliveries("status='exhausted'");
    return found.length === 2 ? found : undefined;
  });
  const [line, ...others] = await eventually('it is told', () => {
    const lines = linesOf(service, exhausted);
    return lines.length > 0 ? lines : undefined;
  });
  assert.deepEqual(others, []);
  const { event, ...members } = line;
  assert.ok(all.map((delivery) => delivery.event).includes(event));
  const { id: instance } = await service.withInstance('default', async ({ id }) => ({ id }));
  const cause = 'The receiver answered with status 500.';
  assert.deepEqual(members, { instance, endpoint, host, cause });
  assert.doesNotMatch(JSON.stringify(service.log), /s3cret|\/hook/);
});

test('a last attempt that fails is not told as exhausted when a retry by hand goes on', async (t) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const service = await startWebhookService(t, { mode: { kind: 'held', until, status: 500 } });
  await service.addEndpoint({ schedule: [] });
  await service.addPost();
  await service.receiver.waitForRequests(1);
  const [{ id }] = await service.deliveries();
  await service.call('POST', `/api/webhooks/deliveries/${id}/retry`);
  service.receiver.mode = { kind: 'ok' };
  release();
  await service.delivery('the retry', ({ status }) => status === 'delivered');
  assert.deepEqual(linesOf(service, exhausted), []);
});

test('the first attempt that fails after one that succeeded is told, and no later one', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ schedule: [3_600] });
  await service.addPost('one');
  await service.delivery('it is delivered', ({ status }) => status === 'delivered');
  assert.deepEqual(linesOf(service, begunToFail), []);
  service.receiver.mode = failing;
  await service.addPost('two');
  await service.addPost('three');
  const failed = await eventually('both have failed', async () => {
    const found = await service.deliveries("status='pending' && cause!=''");
    return found.length === 2 ? found : undefined;
  });
  const lines = linesOf(service, begunToFail);
  assert.equal(lines.length, 1);
  assert.ok(failed.map(({ event }) => event).includes(lines[0].event));
});

test('an endpoint that answers 410 is told as paused, once', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 410 } });
  const { id: endpoint } = await service.addEndpoint();
  await service.addPost();
  const [line] = await eventually('it is told', () => {
    const lines = linesOf(service, paused);
    return lines.length > 0 ? lines : undefined;
  });
  const [delivery] = await service.deliveries();
  assert.equal(line.endpoint, endpoint);
  assert.equal(line.event, delivery.event);
  assert.equal(line.cause, 'The receiver answered 410 Gone.');
  assert.equal(linesOf(service, paused).length, 1);
});

test('an endpoint that loses its last collection is told as paused', async (t) => {
  const service = await startWebhookService(t);
  const { id: endpoint } = await service.addEndpoint({ collections: ['posts'] });
  await service.addEndpoint({ collections: ['posts'], status: 'paused' });
  await service.call('DELETE', '/api/collections/posts', { status: 204 });
  const lines = linesOf(service, paused);
  assert.deepEqual(
    lines.map((line) => [line.endpoint, line.cause]),
    [[endpoint, 'The last of its collections, posts, was deleted.']],
  );
});
