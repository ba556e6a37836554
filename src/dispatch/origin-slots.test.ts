// Both engines: the results of attempts are stored in the database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { faultyDatabases } from '../../test/support/faulty-databases.ts';
import { HeldSender, type SenderPort } from '../../test/support/held-sender.ts';
import { startWebhookService } from '../../test/support/webhook-service.ts';

test('an origin gets its next attempts while the results of its last ones are stored', async (t) => {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const { databases, wrapDatabase } = faultyDatabases();
  const service = await startWebhookService(t, { parts: { wrapSender, wrapDatabase } });
  const [database] = databases;
  assert.ok(database);
  const [endpoints, originMax] = [20, 64];
  for (let count = 0; count < endpoints; count += 1) await service.addEndpoint({ maxInFlight: 64 });
  await service.addPost();
  await eventually('the first is sent to each', () => sender.given.length === endpoints);
  sender.succeed(sender.given);
  await eventually('the first are settled', async () =>
    (await service.deliveries()).every(({ status }) => status === 'delivered'),
  );
  for (let count = 0; count < 5; count += 1) await service.addPost();
  await eventually('the origin is full', () => sender.given.length === endpoints + originMax);
  database.canWrite = false;
  sender.succeed(sender.given.slice(endpoints));
  await eventually('all are sent', () => sender.given.length === 6 * endpoints);
  database.canWrite = true;
});
