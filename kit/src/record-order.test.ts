import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  follow,
  isLater,
  type OrderedWebhook,
  positionOf,
  RecordOrder,
  type RecordOrderOptions,
} from './record-order.ts';

/** The story of one record: sequence, second of the day, kind. */
const created = webhook(1, 10, 'record.create');
const first = webhook(2, 20);
const second = webhook(3, 30);
const deleted = webhook(4, 40, 'record.delete');
const createdAgain = webhook(1, 50, 'record.create');
const changedAgain = webhook(2, 60);

describe('a state of a record', () => {
  test('is handled when it is later than the last one, and dropped when it is not', async () => {
    assert.deepEqual(await handled([created, first, second, deleted]), [1, 2, 3, 4]);
    assert.deepEqual(await handled([first, created, second]), [2, 3]);
    assert.deepEqual(await handled([second, second, first, created]), [3]);
    assert.deepEqual(await handled([deleted, second]), [4]);
  });

  test('does not count as handled when its work has failed', async () => {
    const order = new RecordOrder();
    const fail = () => Promise.reject(new Error('the database is away'));
    await assert.rejects(order.handle(second, fail), /the database is away/);
    assert.equal(await order.handle(first, () => undefined), 'handled');
    assert.equal(await order.handle(second, () => undefined), 'handled');
  });

  test('waits until the work for another state of the record has ended, and other records do not', async () => {
    const order = new RecordOrder();
    const gate = Promise.withResolvers<void>();
    const done: string[] = [];
    const slow = order.handle(second, () => gate.promise.then(() => done.push('second')));
    const older = order.handle(first, () => done.push('first'));
    const other = order.handle(of('r2', created), () => done.push('other'));
    assert.equal(await other, 'handled');
    assert.deepEqual(done, ['other']);
    gate.resolve();
    assert.deepEqual([await slow, await older], ['handled', 'older']);
    assert.deepEqual(done, ['other', 'second']);
  });

  test('is compared within its collection and its instance', async () => {
    const order = new RecordOrder();
    const others = [{ collection: 'tags' }, { instance_id: 'i2' }].map((other) => ({
      ...created,
      event: { ...created.event, ...other },
    }));
    for (const one of [second, ...others]) assert.equal(await order.handle(one, () => undefined), 'handled');
  });
});

describe('a record under the id of a deleted one', () => {
  test('begins at 1 again, and what is left of the old one is dropped', async () => {
    const story = [created, first, deleted, createdAgain, second, deleted, changedAgain];
    assert.deepEqual(await handled(story), [1, 2, 4, 1, 2]);
  });

  test('is known by its time when the deletion comes late', async () => {
    assert.deepEqual(await handled([second, createdAgain, deleted, changedAgain]), [3, 1, 2]);
  });

  test('is told from the old one when its creation comes late', async () => {
    assert.deepEqual(await handled([first, deleted, changedAgain, createdAgain, second]), [2, 4, 2]);
  });

  test('is no copy of the old one that came late', async () => {
    assert.deepEqual(await handled([created, deleted, created]), [1, 4]);
    assert.deepEqual(await handled([deleted, created, first]), [4]);
  });

  test('may be created in the millisecond of the deletion', async () => {
    const atOnce = webhook(1, 40, 'record.create');
    assert.deepEqual(await handled([second, deleted, atOnce, second]), [3, 4, 1]);
  });
});

describe('with holdMs', () => {
  const patient = { holdMs: 60_000 };

  test('states that overtook each other are handled in order', async () => {
    const order = new RecordOrder(patient);
    const done: unknown[] = [];
    const handle = (one: OrderedWebhook) => order.handle(one, () => done.push(one.sequence));
    const waiting = [handle(deleted), handle(second), handle(first)];
    assert.deepEqual(done, []);
    const outcomes = await Promise.all([...waiting, handle(created)]);
    assert.deepEqual(done, [1, 2, 3, 4]);
    assert.deepEqual([...new Set(outcomes)], ['handled']);
  });

  test('a state goes on without those before it when they do not come in time', async () => {
    const order = new RecordOrder({ holdMs: 1 });
    assert.equal(await order.handle(second, () => undefined), 'handled');
    assert.equal(await order.handle(first, assert.fail), 'older');
  });

  test('nothing waits that has nothing to wait for', async () => {
    assert.deepEqual(await handled([created, first, created, first, second], patient), [1, 2, 3]);
    assert.deepEqual(await handled([created, ping(), withoutSequence()], patient), [1, 0, undefined]);
  });

  test('a change of a new record waits for its creation, not for the old one under its id', async () => {
    const order = new RecordOrder(patient);
    const done: unknown[] = [];
    const handle = (one: OrderedWebhook) => order.handle(one, () => done.push(one.event.timestamp));
    for (const one of [created, first, second, deleted]) await handle(one);
    const waiting = [webhook(5, 59), webhook(4, 57), webhook(3, 55), webhook(2, 53)].map(handle);
    await Promise.all([...waiting, handle(createdAgain)]);
    const seconds = done.map((time) => Number(String(time).slice(17, 19)));
    assert.deepEqual(seconds, [10, 20, 30, 40, 50, 53, 55, 57, 59]);
  });
});

test('neither a test nor an event about an endpoint counts as a state of a record', async () => {
  const trial = { ...second, isTest: true };
  assert.deepEqual(await handled([trial, first, created]), [3, 2]);
  const { event } = ping();
  const operational = { sequence: 1, event: { ...event, event: 'endpoint.disabled' } };
  assert.deepEqual(await handled([operational, operational]), [1, 1]);
});

test('the memory is bounded: the record that changed longest ago is forgotten', async () => {
  const order = new RecordOrder({ recordsMax: 2 });
  const handle = (sequence: number, id: string) =>
    order.handle(of(id, webhook(sequence, 30)), () => undefined);
  for (const id of ['a', 'b']) await handle(2, id);
  await handle(3, 'a');
  await handle(2, 'c');
  assert.deepEqual(
    [await handle(2, 'a'), await handle(2, 'c'), await handle(2, 'b')],
    ['older', 'older', 'handled'],
  );
});

test('options that are no numbers of records or milliseconds are refused', () => {
  for (const recordsMax of [0, 1.5, Number.NaN])
    assert.throws(() => new RecordOrder({ recordsMax }), RangeError);
  for (const holdMs of [-1, Number.NaN]) assert.throws(() => new RecordOrder({ holdMs }), RangeError);
});

test('a position that was stored as JSON and read again is compared like the one in memory', () => {
  const [start, next] = [positionOf(created), positionOf(first)];
  assert.ok(start !== undefined && next !== undefined);
  const position = follow(start, undefined);
  assert.deepEqual(JSON.parse(JSON.stringify(position)), position);
  assert.deepEqual([isLater(next, position), isLater(start, position)], [true, false]);
  assert.equal(follow(next, position).since, start.timestamp);
});

/** The sequences of those that were handled, of webhooks that came one after the other. */
async function handled(
  webhooks: readonly OrderedWebhook[],
  options?: RecordOrderOptions,
): Promise<readonly unknown[]> {
  const order = new RecordOrder(options);
  const done: unknown[] = [];
  for (const one of webhooks) await order.handle(one, () => done.push(one.sequence));
  return done;
}

function webhook(sequence: number, second: number, event = 'record.update'): OrderedWebhook {
  const timestamp = new Date(Date.UTC(2026, 10, 20) + second * 1000).toISOString();
  return { sequence, event: { event, timestamp, instance_id: 'i', collection: 'posts', data: { id: 'r1' } } };
}

/** The same state, of another record. */
function of(id: string, { sequence, event }: OrderedWebhook): OrderedWebhook {
  return { sequence, event: { ...event, data: { id } } };
}

function ping(): OrderedWebhook {
  const { event } = webhook(0, 0, 'ping');
  return { sequence: 0, event: { ...event, collection: '', data: {} } };
}

function withoutSequence(): OrderedWebhook {
  return { ...second, sequence: undefined };
}
