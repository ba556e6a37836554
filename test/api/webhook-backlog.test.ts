// Both engines: deliveries are moved by SQL.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { toTimestamp } from '../../src/base/timestamp.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { sql } from '../../src/sql/sql.ts';
import { deleteEndpoint, setEndpointStatus } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { recordedDatabase } from '../plans/recorded-database.ts';
import { eventually } from '../support/eventually.ts';
import { HeldSender, type SenderPort } from '../support/held-sender.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const [few, many] = [20, 2_000];

interface Trial {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  readonly sender: () => HeldSender;
}

async function start(t: TestContext): Promise<Trial> {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock();
  return {
    service: await startWebhookService(t, { parts: { wrapSender, clock } }),
    clock,
    sender: () => sender,
  };
}

/** Writes so many events, of which all endpoints are told. */
function addEvents(service: WebhookService, count: number): Promise<void> {
  return service.withInstance('default', async ({ database, events, clock }) => {
    const about = { kind: 'record.create', collection: 'c', collectionName: 'posts', revision: 1 } as const;
    const created = toTimestamp(clock.now());
    await database.write(async (tx) => {
      for (let number = 0; number < count; number += 1)
        await events.append(tx, { ...about, record: `r${number}`, created, dataJson: '{}' });
    });
  });
}

async function countOf(service: WebhookService, endpoint: string, status: string): Promise<number> {
  const filter = encodeURIComponent(`endpoint = '${endpoint}' && status = '${status}'`);
  return (await service.call('GET', `/api/webhooks/deliveries?perPage=1&filter=${filter}`)).totalItems;
}

/** Runs a change of endpoints; returns its statements. */
function statementsOf(
  service: WebhookService,
  change: (instance: Instance) => Promise<unknown>,
): Promise<readonly string[]> {
  return service.withInstance('default', async (instance) => {
    const noted: string[] = [];
    const database = recordedDatabase(instance.database, ({ text }) => void noted.push(text));
    await change({ ...instance, database });
    return noted;
  });
}

/** How many ranges of the log end deliveries, and how many deliveries have a row of their own for what became of them. */
function rowsOf(service: WebhookService): Promise<readonly number[]> {
  return service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const [row] = await database.tuples(sql`
      SELECT (SELECT count(*) FROM ${names.table('$gap')} WHERE ${names.instance.condition}),
        (SELECT count(*) FROM ${names.table('$outcome')} WHERE ${names.instance.condition})`);
    return (row ?? []).map(Number);
  });
}

async function oldestWaiting(service: WebhookService): Promise<number> {
  return (await service.call('GET', '/api/health')).data.oldestUndeliveredSeconds;
}

test('skipping what waits costs the same however much it is, and leaves that of others', async (t) => {
  const { service, clock, sender } = await start(t);
  const { id } = await service.addEndpoint({ status: 'paused' });
  const { id: other } = await service.addEndpoint({ status: 'paused' });
  const skip = (): Promise<readonly string[]> =>
    statementsOf(service, (instance) => setEndpointStatus(instance, id, 'skip'));
  await addEvents(service, few);
  const before = await skip();
  assert.deepEqual(await rowsOf(service), [1, 0]);
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  await addEvents(service, many);
  clock.move(60_000);
  assert.deepEqual(await skip(), before);
  assert.deepEqual(await rowsOf(service), [2, 0]);
  assert.deepEqual(
    [await countOf(service, id, 'cancelled'), await countOf(service, other, 'pending')],
    [few + many, few + many],
  );
  const [first] = await service.deliveries(`endpoint = '${id}'`);
  assert.equal(first.cause, 'Skipped when the endpoint was resumed.');
  assert.equal(await oldestWaiting(service), 60, 'what waits for the other one');
  await service.addPost('later');
  await eventually('what follows is sent', () => sender().given.length > 0);
  sender().succeed(sender().given);
  await eventually('it is settled', async () => (await countOf(service, id, 'delivered')) === 1);
  assert.equal(sender().given.length, 1);
});

test('deleting an endpoint costs the same however much waits for it, and leaves that of others', async (t) => {
  const { service, clock, sender } = await start(t);
  const { id: other } = await service.addEndpoint({ status: 'paused' });
  const { id: small } = await service.addEndpoint({ status: 'paused' });
  const remove = (id: string): Promise<readonly string[]> =>
    statementsOf(service, (instance) => deleteEndpoint(instance, id));
  await addEvents(service, few);
  const before = await remove(small);
  assert.deepEqual(await rowsOf(service), [1, 0]);
  const { id: large } = await service.addEndpoint({ status: 'paused' });
  await addEvents(service, many);
  clock.move(60_000);
  assert.deepEqual(await remove(large), before);
  assert.deepEqual(await rowsOf(service), [2, 0]);
  assert.deepEqual(
    [
      await countOf(service, small, 'cancelled'),
      await countOf(service, large, 'cancelled'),
      await countOf(service, other, 'pending'),
    ],
    [few, many, few + many],
  );
  assert.equal(await oldestWaiting(service), 60, 'what waits for the other one');
  await service.call('DELETE', `/api/webhooks/endpoints/${other}`, { status: 204 });
  assert.equal(await oldestWaiting(service), 0);
  await service.addEndpoint();
  await service.addPost('later');
  await eventually('what follows is sent', () => sender().given.length > 0);
  assert.equal(sender().given.length, 1);
});

test('of an endpoint that is deleted while it is sent to, nothing follows what is on its way', async (t) => {
  const { service, sender } = await start(t);
  const { id } = await service.addEndpoint();
  const { id: other } = await service.addEndpoint({ status: 'paused' });
  await addEvents(service, many);
  service.look();
  // One that has not answered yet is sent two at once.
  await eventually('two are on their way', () => sender().given.length === 2);
  await service.call('DELETE', `/api/webhooks/endpoints/${id}`, { status: 204 });
  assert.equal(await countOf(service, id, 'cancelled'), many);
  sender().succeed(sender().given.slice(0, 1));
  sender().fail(sender().given.slice(1));
  await eventually('both are settled', async () => (await rowsOf(service))[1] === 2);
  assert.deepEqual(
    [await countOf(service, id, 'delivered'), await countOf(service, id, 'cancelled')],
    [1, many - 1],
  );
  await service.call('POST', `/api/webhooks/endpoints/${other}/resume`);
  await eventually('the other one is sent its own', () => sender().given.length >= 4);
  assert.deepEqual(
    sender().given.map(({ endpointId }) => endpointId),
    [id, id, other, other],
  );
});
