// Both engines: batches are stored in the database, under the fence of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { faultyDatabases } from '../../test/support/faulty-databases.ts';
import { HeldSender, type SenderPort } from '../../test/support/held-sender.ts';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { startWebhookService, type WebhookService } from '../../test/support/webhook-service.ts';
import { soleOwnership } from '../deliveries/delivery.ts';
import { type Sql, sql } from '../sql/sql.ts';
import { readMembers } from './batch-members.ts';
import { Dispatcher } from './dispatcher.ts';

interface Stage {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  /** What the service sends. */
  readonly sent: HeldSender;
  /** How many reads with this text were made. */
  readonly countReads: (text: string) => number;
  /** Starts another process that takes the instances for its own, and returns what it sends. */
  readonly takeOver: (fence?: Sql, clock?: MovableClock) => { dispatcher: Dispatcher; sender: HeldSender };
}

async function openStage(t: TestContext): Promise<Stage> {
  const held = { sender: new HeldSender() };
  const wrapSender = (real: SenderPort): SenderPort => (held.sender = new HeldSender(real));
  const clock = new MovableClock();
  const { databases, wrapDatabase } = faultyDatabases();
  const service = await startWebhookService(t, { parts: { wrapSender, wrapDatabase, clock } });
  const fail = (message: string): void => assert.fail(message);
  const takeOver: Stage['takeOver'] = (fence = soleOwnership.fence(''), own = clock) => {
    const sender = new HeldSender();
    const dispatcher = new Dispatcher({
      ownership: { owns: () => true, epochOf: () => '', fence: () => fence },
      onForeign: () => undefined,
      instances: () => service.app.data.directory.all().map(({ id }) => id),
      borrowAtOnce: (id) => {
        const entry = service.app.data.directory.find(id);
        assert.ok(entry);
        return service.app.data.instances.borrow(entry);
      },
      sender,
      clock: own,
      logger: { debug: fail, info: fail, warn: fail, error: fail },
      version: '0',
    });
    t.after(() => dispatcher.stop(0));
    dispatcher.start();
    return { dispatcher, sender };
  };
  const countReads = (text: string): number =>
    databases.flatMap(({ texts }) => texts.filter((one) => one.includes(text))).length;
  return { service, clock, sent: held.sender, countReads, takeOver };
}

test('what a process has sent as a batch when it dies is sent by the next one as the same batch', async (t) => {
  const { service, sent, takeOver } = await openStage(t);
  await service.addEndpoint({ batch: { max: 2, waitMs: 60_000 } });
  for (const title of ['a', 'b']) await service.addPost(title);
  await eventually('the batch is sent', () => sent.given.length === 1);
  const { sender } = takeOver();
  await eventually('it is sent again', () => sender.given.length === 1);
  const [[before], [after]] = [sent.given, sender.given];
  assert.deepEqual([after?.eventId, after?.body], [before?.eventId, before?.body]);
});

test('a batch is not stored, and so not sent, by a process that owns the instance no longer', async (t) => {
  const { service, countReads, takeOver } = await openStage(t);
  await service.addEndpoint({ batch: { max: 10, waitMs: 60_000 } });
  await service.addPost();
  const later = new MovableClock();
  later.move(120_000);
  const { sender, dispatcher } = takeOver(sql`FALSE`, later);
  // It reads them again once they could not be stored.
  const hasTried = (): boolean => countReads('length(body)') > 1 || sender.given.length > 0;
  await eventually('it has tried to store the batch', hasTried);
  await dispatcher.stop(0);
  assert.equal(sender.given.length, 0);
  assert.equal((await service.deliveries("status = 'pending'")).length, 1);
});

test('a delivery that is cancelled while its batch is stored is not sent', async (t) => {
  const { service, clock, sent } = await openStage(t);
  await service.addEndpoint({ batch: { max: 10, waitMs: 60_000 } });
  for (const title of ['a', 'b']) await service.addPost(title);
  const [first] = await service.deliveries();
  assert.ok(first);
  clock.move(60_000);
  const cancelled = service.withInstance('default', async ({ database }) => {
    // Both writes wait for the other to end; whichever is first, the batch has no cancelled delivery.
    await database.write(async (tx) => {
      service.look();
      const { names } = tx;
      await tx.run(sql`
        INSERT INTO ${names.table('$outcome')} (${names.instance.column}event, endpoint, status, attempts, is_wide, cause, updated)
        SELECT ${names.instance.value}min(event), min(endpoint), 'cancelled', 0, 0, '', '' FROM ${names.table('$delivery')} WHERE ${names.instance.condition}`);
    });
  });
  await cancelled;
  await eventually('the other is sent', () => sent.given.length === 1);
  assert.equal(sent.given[0]?.batch?.ids.length, 1);
});

test('as many bodies are read for a batch as one request may have, and at least one', async (t) => {
  const { service } = await openStage(t);
  await service.addEndpoint({ status: 'paused' });
  for (const length of [50_000, 50_000, 50_000, 10])
    await service.call('POST', '/api/collections/posts/records', { body: { extra: 'x'.repeat(length) } });
  await service.withInstance('default', async ({ database }) => {
    const rows = await database.tuples(
      sql`SELECT event FROM ${database.names.table('$delivery')} WHERE ${database.names.instance.condition} ORDER BY event`,
    );
    const events = rows.map(([event]) => Number(event));
    const count = async (bytesMax: number): Promise<number> =>
      (await readMembers(database, { endpoint: 1, batch: { id: '', events }, bytesMax })).length;
    assert.deepEqual([await count(110_000), await count(60_000), await count(200_000)], [2, 1, 4]);
    // Larger ones are sent with their ids alone.
    assert.equal(await count(10_000), 4);
  });
});
