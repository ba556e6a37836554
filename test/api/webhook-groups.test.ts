// Both engines: deliveries are inserted with their event.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toTimestamp } from '../../src/base/timestamp.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Transaction } from '../../src/storage/database.ts';
import { startWebhookService } from '../support/webhook-service.ts';
import { newId } from '../../src/base/ids.ts';
import { openLane } from '../../src/deliveries/lane-store.ts';

const count = 150;
/** Of those of `posts`. */
const largeAt = 70;

/** Says how often their works have run. Events of two collections, `posts` and one that is gone, one event too large to be sent, asked for in one turn: an engine may write them at once. */
async function appendMany(instance: Instance): Promise<number> {
  let runs = 0;
  const posts = instance.collections.get('posts').id;
  const created = toTimestamp(instance.clock.now());
  const event = { kind: 'record.create', collectionName: 'posts', revision: 1, created } as const;
  const works = Array.from({ length: count }, (_, index) => {
    const dataJson = index === largeAt ? JSON.stringify('x'.repeat(256 * 1024)) : '{}';
    const made = { ...event, collection: isPost(index) ? posts : 'gone', record: recordOf(index), dataJson };
    const work = (tx: Transaction): Promise<unknown> => {
      runs += 1;
      return instance.events.append(tx, made);
    };
    return instance.database.write(work, { isAppending: true });
  });
  await Promise.all(works);
  return runs;
}

/** Neighbours of both kinds, alone and several. */
function isPost(index: number): boolean {
  return [0, 1, 3, 4].includes(index % 7);
}

function recordOf(index: number): string {
  return `r${String(index).padStart(3, '0')}`;
}

test('events that are written at once go to each endpoint that wants them, and to no other', async (t) => {
  const service = await startWebhookService(t);
  const wanted = [{}, { collections: ['posts'] }, { events: ['record.update'] }];
  const ids: string[] = [];
  for (const settings of wanted) {
    const { id } = await service.addEndpoint(settings);
    await service.call('POST', `/api/webhooks/endpoints/${id}/pause`, { body: {} });
    ids.push(id);
  }
  const records = Array.from({ length: count }, (_, index) => recordOf(index));
  await service.withInstance('default', async (instance) => {
    const runs = await appendMany(instance);
    const { names, engine } = instance.database;
    // Nothing was refused, to be written one by one.
    if (engine === 'sqlite') assert.equal(runs, count);
    const events = await instance.database.tuples(
      sql`SELECT record FROM ${names.table('$event')} WHERE ${names.instance.condition} ORDER BY position`,
    );
    const written = events.map(([record]) => String(record));
    assert.deepEqual(engine === 'sqlite' ? written : written.toSorted(), records);
  });
  const expected = [records, records.filter((_, index) => isPost(index)), []];
  const deliveries = await service.deliveries();
  for (const [index, endpoint] of ids.entries()) {
    const told = deliveries.filter((delivery) => delivery.endpoint === endpoint);
    assert.deepEqual(told.map(({ record }) => String(record)).toSorted(), expected[index]);
  }
  for (const { id, event, endpoint, status } of deliveries) {
    assert.equal(id, `${event}-${endpoint}`);
    assert.equal(status, 'pending');
  }
});

test('an endpoint is told of what hundreds of paused ones are told as well', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ status: 'paused' });
  await service.withInstance('default', async ({ database, endpoints }) => {
    const [one] = await endpoints.stored(database);
    assert.ok(one);
    await database.write(
      async (tx) => {
        for (let made = 0; made < 300; made += 1) {
          const { number } = await endpoints.insert(tx, { ...one, id: newId() });
          await openLane(tx, number);
        }
      },
      { isExclusive: true },
    );
  });
  await service.addEndpoint();
  for (const title of ['a', 'b']) await service.addPost(title);
  await service.receiver.waitForRequests(2);
});
