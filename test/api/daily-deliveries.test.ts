// Both engines: deliveries of earlier processes are counted by the database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DailyDeliveries } from '../../src/instances/daily-deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { logInto } from '../support/log-into.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startWebhookService } from '../support/webhook-service.ts';

test('webhooks beyond the quota of a day wait for the next day, and none is lost', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  const { receiver } = service;
  const { directory } = service.app.data;
  const id = directory.findBySlug('default')?.id ?? '';
  await directory.setQuotas(id, { deliveriesPerDay: 3 });
  await service.addEndpoint({ maxInFlight: 1 });
  for (let count = 0; count < 5; count += 1) await service.addPost();
  await eventually('three are delivered', () => receiver.requests.length === 3);
  service.look();
  await directory.setQuotas(id, { deliveriesPerDay: 4 });
  service.look();
  await eventually('one more is delivered', () => receiver.requests.length === 4);
  service.look();
  const waiting = await service.deliveries('status="pending"');
  assert.equal(waiting.length, 1);
  clock.move(24 * 3_600_000);
  await service.signIn();
  service.look();
  await eventually('the last is delivered', () => receiver.requests.length === 5);
  // A process counts once what earlier ones have delivered: only what is settled.
  await eventually('all are settled', async () =>
    (await service.deliveries()).every(({ status }) => status === 'delivered'),
  );
  const bodies = receiver.requests.map(({ body }) => JSON.parse(String(body)).data.id);
  assert.equal(new Set(bodies).size, 5);
  // As a process does that begins now.
  const woken: string[] = [];
  const { instances, dueClock } = service.app.data;
  const later = new DailyDeliveries({
    directory,
    instances,
    counts: () => new Map(),
    wake: (one) => woken.push(one),
    clock: dueClock,
    logger: logInto([]),
  });
  // The sending thread has a clock of its own, by which all five are of a later day.
  await directory.setQuotas(id, { deliveriesPerDay: 5 });
  await eventually('what was delivered today is counted', () => later.isUsedUp(id));
  await later.look();
  assert.deepEqual(woken, []);
  await directory.setQuotas(id, { deliveriesPerDay: 6 });
  await later.look();
  assert.deepEqual(woken, [id]);
  // What another process delivers counts too.
  await service.addPost();
  await eventually(
    'one more is delivered',
    async () => (await service.deliveries('status="delivered"')).length === 6,
  );
  assert.equal(later.isUsedUp(id), false);
  await later.look();
  assert.equal(later.isUsedUp(id), true);
});
