// Both engines: deliveries are claimed, read and settled in the database.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { deliveryKeys } from '../../test/support/delivery-rows.ts';
import { eventually } from '../../test/support/eventually.ts';
import { faultyDatabases } from '../../test/support/faulty-databases.ts';
import { HeldSender, type SenderPort } from '../../test/support/held-sender.ts';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { startWebhookService, type WebhookService } from '../../test/support/webhook-service.ts';
import { systemClock } from '../base/clock.ts';
import { sql } from '../sql/sql.ts';
import { readPendings, sendAnyway } from '../deliveries/deliveries.ts';
import { soleOwnership } from '../deliveries/delivery.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';

interface Lending {
  /** Instances that were lent, and how many of them are out. */
  readonly lent: Set<string>;
  out: number;
  most: number;
}

/** A dispatcher over many instances, each of them the service's only one under another name. */
async function startOverMany(t: TestContext, count: number): Promise<Lending> {
  const service = await startWebhookService(t);
  const [entry] = service.app.data.directory.all();
  assert.ok(entry);
  const lending: Lending = { lent: new Set(), out: 0, most: 0 };
  const borrow = async (id: string): ReturnType<DispatcherOptions['borrowAtOnce']> => {
    const loan = await service.app.data.instances.borrow(entry);
    lending.lent.add(id);
    lending.out += 1;
    lending.most = Math.max(lending.most, lending.out);
    const release = (): void => {
      lending.out -= 1;
      loan.release();
    };
    return { instance: { ...loan.instance, id }, release };
  };
  const ids = Array.from({ length: count }, (_, index) => `instance${index}`);
  const logger = { debug: fail, info: fail, warn: fail, error: fail };
  const rest = { sender: new HeldSender(), clock: systemClock, logger, version: '0' };
  const dispatcher = new Dispatcher({
    ownership: soleOwnership,
    onForeign: () => undefined,
    instances: () => ids,
    borrowAtOnce: borrow,
    ...rest,
  });
  t.after(() => dispatcher.stop(0));
  dispatcher.start();
  return lending;
}

function borrowFrom({ app }: WebhookService, id: string): ReturnType<DispatcherOptions['borrowAtOnce']> {
  const entry = app.data.directory.find(id);
  assert.ok(entry);
  return app.data.instances.borrow(entry);
}

function fail(message: string): void {
  assert.fail(message);
}

test('X-13 a start visits any number of instances with at most 64 of them open at a time', async (t) => {
  const lending = await startOverMany(t, 600);
  await eventually('all looked through', () => lending.lent.size === 600 && lending.out === 0);
  assert.equal(lending.most, 64);
});

test('a delivery that fails while its lane is read waits for its schedule', async (t) => {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const { databases, wrapDatabase } = faultyDatabases();
  const service = await startWebhookService(t, { parts: { wrapSender, wrapDatabase } });
  const [database] = databases;
  assert.ok(database);
  await service.addEndpoint({ schedule: [3_600] });
  await service.addPost('first');
  await eventually('the first is sent', () => sender.given.length === 1);
  // The look that the second post causes reads the first as pending and due, and is answered when it has failed.
  const release = database.holdReads('AS again');
  await service.addPost('second');
  await eventually('the look is under way', () => database.heldCount > 0);
  sender.fail(sender.given.slice(0, 1));
  await eventually('the first is settled', async () => (await service.deliveries())[0].attempts.length === 1);
  release();
  await eventually('the second is sent', () => sender.given.length > 1);
  sender.succeed(sender.given.slice(1));
  await eventually(
    'the second is settled',
    async () => (await service.deliveries())[1].status === 'delivered',
  );
  const [first, second] = await service.deliveries();
  assert.deepEqual(
    sender.given.map(({ deliveryId }) => deliveryId),
    [first.id, second.id],
  );
});

test('a turn is read with one statement, and a body that is large with one of its own', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const service = await startWebhookService(t, { parts: { wrapDatabase } });
  const { id } = await service.addEndpoint();
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  const sizes = [10, 20, 20_000, 40_000];
  for (const size of sizes) {
    const body = { title: 'x', extra: `${size}`.padEnd(size, 'x') };
    await service.call('POST', '/api/collections/posts/records', { body, status: 201 });
  }
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`);
  const requests = await service.receiver.waitForRequests(sizes.length);
  // webhooks.md section 1: the record's fields are in `data`.
  const extras = requests.map(({ body }) => JSON.parse(body.toString('utf8')).data.extra.length);
  assert.deepEqual(
    extras.toSorted((a, b) => a - b),
    sizes,
  );
  const reads = databases.flatMap(({ texts }) =>
    texts.filter((text) => /length\(e\.body\)|SELECT body/.test(text)),
  );
  // Two turns, as an endpoint that has not answered yet is sent two at once.
  assert.equal(reads.length, 4);
});

test('a delivery whose instance moves to another node during its read is not sent', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  let first = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (first = new HeldSender(real));
  const service = await startWebhookService(t, { parts: { wrapDatabase, wrapSender } });
  await service.addEndpoint();
  await service.addPost();
  await eventually('it is claimed by the service', () => first.given.length === 1);
  const [database] = databases;
  assert.ok(database);
  const release = database.holdReads('length(e.body)');
  let isOurs = true;
  const sender = new HeldSender();
  const logger = { debug: fail, info: fail, warn: fail, error: fail };
  const dispatcher = new Dispatcher({
    ownership: { owns: () => isOurs, epochOf: () => '', fence: (id) => soleOwnership.fence(id) },
    onForeign: () => undefined,
    instances: () => service.app.data.directory.all().map(({ id }) => id),
    borrowAtOnce: (id) => borrowFrom(service, id),
    sender,
    clock: systemClock,
    logger,
    version: '0',
  });
  dispatcher.start();
  await eventually('its row is read', () => database.heldCount > 0);
  isOurs = false;
  release();
  await dispatcher.stop(0);
  assert.deepEqual(sender.given, []);
});

for (const [whose, fence] of [
  ['an owner before', sql`FALSE`],
  ['an owner who has it again', sql`TRUE`],
] as const) {
  test(`a late result of an attempt of ${whose} does not change the count of newer attempts`, async (t) => {
    let owner = new HeldSender();
    const wrapSender = (real: SenderPort): SenderPort => (owner = new HeldSender(real));
    const clock = new MovableClock();
    const service = await startWebhookService(t, { parts: { wrapSender, clock } });
    await service.addEndpoint({ schedule: [1, 3_600] });
    await service.addPost();
    const before = new HeldSender();
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    const dispatcher = new Dispatcher({
      // Was stopped for longer than its lease: another has taken over meanwhile.
      ownership: { owns: () => true, epochOf: () => '', fence: () => fence },
      onForeign: () => undefined,
      instances: () => service.app.data.directory.all().map(({ id }) => id),
      borrowAtOnce: (id) => borrowFrom(service, id),
      sender: before,
      clock,
      logger,
      version: '0',
    });
    t.after(() => dispatcher.stop(0));
    dispatcher.start();
    await eventually('both have sent it', () => owner.given.length === 1 && before.given.length === 1);
    owner.fail(owner.given);
    await service.delivery('one attempt', ({ attempts }) => attempts.length === 1);
    clock.move(2_000);
    service.look();
    await eventually('the second attempt', () => owner.given.length === 2);
    owner.fail(owner.given.slice(1));
    await service.delivery('two attempts', ({ attempts }) => attempts.length === 2);
    before.fail(before.given.slice(0, 1));
    await dispatcher.stop(0);
    const [{ attempts }] = await service.deliveries();
    assert.equal(attempts.length, 2);
  });
}

test('a delivery that was read ahead before the clock was set back is sent when it is due', async (t) => {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  await service.addEndpoint({ maxInFlight: 1, schedule: [10] });
  await service.addPost('first');
  await service.addPost('second');
  for (const count of [1, 2]) {
    await eventually('both are sent', () => sender.given.length === count);
    sender.fail(sender.given.slice(-1));
  }
  await eventually('both have failed', async () =>
    (await service.deliveries()).every(({ attempts }) => attempts.length === 1),
  );
  clock.move(20_000);
  service.look();
  await eventually('the first is sent', () => sender.given.length === 3);
  clock.move(-20_000);
  sender.succeed(sender.given.slice(2));
  await eventually(
    'the first is settled',
    async () => (await service.deliveries("status = 'delivered'")).length === 1,
  );
  // What follows the settlement is a look that finds the second in memory; a sign-in takes longer.
  await service.signIn();
  assert.equal(sender.given.length, 3);
  clock.move(20_000);
  service.look();
  await eventually('the second is sent', () => sender.given.length === 4);
});

test('an instance that cannot be read is paused for a second, however often it is woken', async (t) => {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const { databases, wrapDatabase } = faultyDatabases();
  const service = await startWebhookService(t, { parts: { wrapDatabase, wrapSender } });
  await service.addEndpoint();
  await service.addPost();
  await eventually('it is claimed by the service', () => sender.given.length === 1);
  const [entry] = service.app.data.directory.all();
  const [database] = databases;
  assert.ok(entry && database);
  let complaints = 0;
  const logger = { debug: fail, info: fail, warn: fail, error: () => void (complaints += 1) };
  const dispatcher = new Dispatcher({
    ownership: soleOwnership,
    onForeign: () => undefined,
    instances: () => [entry.id],
    borrowAtOnce: () => service.app.data.instances.borrow(entry),
    sender: new HeldSender(),
    clock: systemClock,
    logger,
    version: '0',
  });
  database.canRead = false;
  const startMs = performance.now();
  dispatcher.start();
  await eventually('the complaint', () => complaints > 0);
  for (let times = 0; times < 50; times += 1) {
    dispatcher.noteDue(entry.id, 0);
    await nextTurn();
  }
  await dispatcher.stop(0);
  const seconds = (performance.now() - startMs) / 1_000;
  assert.ok(complaints <= 1 + seconds, `${complaints} complaints in ${seconds} s`);
});

test('when all slots are taken, the next free ones go to every endpoint in turn', async (t) => {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  // It decides by the time for which slots are held, which on a busy machine would be of no endpoint's making.
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  const ids: string[] = [];
  // Of five origins, as no origin gets more than 64 slots.
  for (let count = 1; count <= 5; count += 1) {
    const url = `http://127.0.0.${count}:9/hook`;
    ids.push((await service.addEndpoint({ url, maxInFlight: 64 })).id);
  }
  await Promise.all(Array.from({ length: 160 }, () => service.addPost()));
  // Two, as none of them has answered yet. Then each success opens a lane by one, and 256 is what an instance may have.
  let answered = 0;
  for (const round of [10, 30, 60, 120, 240]) {
    await eventually('a round', () => sender.given.length === answered + round);
    sender.succeed(sender.given.slice(answered, (answered += round)));
  }
  await eventually('full slots', () => sender.given.length === answered + 256);
  const from = sender.given.length;
  const sentSoFar = sender.given.map(({ endpointId }) => endpointId);
  const sentBefore = (id: string): number => sentSoFar.filter((one) => one === id).length;
  while (sender.given.length < from + 50) {
    const before = sender.given.length;
    clock.move(1);
    sender.succeed(sender.given.slice(answered, (answered += 1)));
    while (sender.given.length === before) await nextTurn();
  }
  const turnsOf = (begin: number, id: string): number =>
    sender.given.slice(begin).filter(({ endpointId }) => endpointId === id).length;
  // They may not have begun at the same time, so that one has used more than others. Who is behind goes first.
  const [behind = ''] = ids.toSorted((a, b) => sentBefore(a) - sentBefore(b));
  assert.ok(turnsOf(from, behind) >= 1);
  for (const id of ids) assert.ok(turnsOf(from, id) <= 40, `${turnsOf(from, id)} of 50 turns`);
});

test('a delivery that is cancelled after its lane was read uses no slot', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  // So few that an instance has two.
  const flags = { 'webhook-slots': '16' };
  const service = await startWebhookService(t, { flags, parts: { wrapDatabase } });
  const [database] = databases;
  assert.ok(database);
  await service.addEndpoint();
  for (let round = 0; round < 3; round += 1) {
    const release = database.holdReads('AS again');
    await service.addPost();
    await eventually('it is found', () => database.heldCount > 0);
    const [pending] = await service.deliveries("status = 'pending'");
    await service.call('POST', `/api/webhooks/deliveries/${pending.id}/cancel`);
    release();
  }
  assert.equal(service.receiver.requests.length, 0);
  await service.addPost();
  await service.receiver.waitForRequests(1);
});

test('results that arrive while others are being settled are settled together', async (t) => {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const { databases, wrapDatabase } = faultyDatabases();
  const service = await startWebhookService(t, { parts: { wrapSender, wrapDatabase } });
  await service.addEndpoint();
  await service.addPost();
  await eventually('the first is sent', () => sender.given.length === 1);
  sender.succeed(sender.given);
  await service.delivery('the first is delivered', ({ status }) => status === 'delivered');
  for (let count = 0; count < 4; count += 1) await service.addPost();
  await eventually('all are sent', () => sender.given.length === 5);
  for (const request of sender.given.slice(1)) sender.succeed([request]);
  await eventually('all are delivered', async () =>
    (await service.deliveries()).every(({ status }) => status === 'delivered'),
  );
  const settlements = databases.flatMap(({ options }) => options.filter(({ findsByKey }) => findsByKey));
  assert.equal(settlements.length, 3);
});

test('tests of endpoints use no slots of deliveries', async (t) => {
  const service = await startWebhookService(t, { parts: { wrapSender: (real) => new HeldSender(real) } });
  const [entry] = service.app.data.directory.all();
  assert.ok(entry);
  const { id } = await service.addEndpoint();
  await service.addPost();
  const [delivery] = await service.deliveries();
  const sender = new HeldSender();
  const logger = { debug: fail, info: fail, warn: fail, error: fail };
  const borrow: DispatcherOptions['borrowAtOnce'] = () => service.app.data.instances.borrow(entry);
  const rest = {
    sender,
    borrowAtOnce: borrow,
    clock: systemClock,
    logger,
    version: '0',
    onForeign: () => undefined,
  };
  const dispatcher = new Dispatcher({ ...rest, ownership: soleOwnership, instances: () => [entry.id] });
  t.after(() => dispatcher.stop(0));
  const loan = await service.app.data.instances.borrow(entry);
  const { instance } = loan;
  const endpoint = await instance.endpoints.get(instance.database, id);
  const keys = await deliveryKeys(instance.database);
  const [pending] = await readPendings(instance.database, {
    keys,
    policyOf: () => sendAnyway,
    instance,
    now: Date.now(),
  });
  assert.ok(pending);
  for (let count = 0; count < 300; count += 1)
    void dispatcher.sendNow(loan, endpoint, { ...pending, id: `test${count}` });
  dispatcher.start();
  await eventually('the delivery', () => sender.given.at(-1)?.deliveryId === delivery.id, 10_000);
});
