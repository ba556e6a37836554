// Both engines: bodies are measured where they are stored.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { toIsoTimestamp } from '../../src/base/timestamp.ts';
import { MovableClock } from '../support/movable-clock.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { type Json, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const bytesMax = 256 * 1024;
const records = '/api/collections/posts/records';

function addLarge(service: WebhookService, extra: string): Promise<Json> {
  return service.call('POST', records, { body: { title: 'large', extra }, status: 201 });
}

/** Verifies both signatures, as a receiver does; returns what was sent. */
function verified(request: ReceivedRequest | undefined, secret: string): Json {
  assert.ok(request);
  // Each header of ours is sent once, so each is one text.
  const headers = request.headers as Record<string, string>;
  const digest = createHmac('sha256', secret).update(request.body).digest('hex');
  assert.equal(headers['x-service-signature'], digest);
  return new Webhook(secret).verify(request.body, headers);
}

test('of a record that is too large only the id is sent, with whatever happens to it, signed as it is sent', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  const { secret } = await service.addEndpoint({ maxInFlight: 1 });
  const { id, created } = await addLarge(service, 'x'.repeat(bytesMax));
  await service.call('PATCH', `${records}/${id}`, { body: { title: 'changed' } });
  await service.call('DELETE', `${records}/${id}`, { status: 204 });
  const requests = await service.receiver.waitForRequests(3);
  const instanceId = await service.withInstance('default', (instance) => Promise.resolve(instance.id));
  for (const [index, kind] of ['record.create', 'record.update', 'record.delete'].entries()) {
    const request = requests[index];
    assert.equal(request?.headers['x-service-truncated'], 'data');
    assert.equal(request.headers['x-service-sequence'], String(index + 1));
    const sent = {
      event: kind,
      timestamp: toIsoTimestamp(created),
      instance_id: instanceId,
      collection: 'posts',
      data: { id },
    };
    // In this order, with nothing else.
    assert.equal(request.body.toString(), JSON.stringify(sent));
    assert.deepEqual(verified(request, secret), sent);
  }
});

test('a body of 256 KiB is sent whole, and one with a byte more is not', async (t) => {
  const service = await startWebhookService(t);
  const { secret } = await service.addEndpoint({ maxInFlight: 1 });
  await addLarge(service, '');
  const [small] = await service.receiver.waitForRequests(1);
  assert.ok(small);
  // Bytes count, not characters.
  const room = bytesMax - small.body.length - 2;
  await addLarge(service, `ü${'x'.repeat(room)}`);
  await addLarge(service, `ü${'x'.repeat(room + 1)}`);
  const [, whole, thin] = await service.receiver.waitForRequests(3);
  assert.equal(whole?.body.length, bytesMax);
  assert.equal(whole.headers['x-service-truncated'], undefined);
  assert.equal(verified(whole, secret).data.extra.length, room + 1);
  assert.equal(thin?.headers['x-service-truncated'], 'data');
  assert.deepEqual(Object.keys(verified(thin, secret).data), ['id']);
});

test('every attempt of a body that is too large has the same bytes, and the log has the record', async (t) => {
  const clock = new MovableClock();
  const mode = { kind: 'status', status: 404 } as const;
  const service = await startWebhookService(t, { mode, parts: { clock } });
  const { secret } = await service.addEndpoint({ schedule: [60] });
  const extra = 'x'.repeat(bytesMax);
  await addLarge(service, extra);
  await service.delivery('a failure', ({ attempts }) => attempts.length === 1);
  service.receiver.mode = { kind: 'ok' };
  clock.move(80_000);
  service.look();
  const { event } = await service.delivery('a success', ({ status }) => status === 'delivered');
  const [first, second] = service.receiver.requests;
  assert.deepEqual(second?.body, first?.body);
  assert.equal(second?.headers['x-service-truncated'], 'data');
  verified(second, secret);
  const { body } = await service.call('GET', `/api/webhooks/events/${event}`);
  assert.equal(body.data.extra, extra);
});
