// Both engines: deliveries are listed by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { listOf, startWebhookService } from '../support/webhook-service.ts';

const eventCount = 60_000;
const fewPending = 12;

test('what is still to be sent is listed whatever the log has of what is over, and counted up to 10,000', async (t) => {
  const service = await startWebhookService(t);
  const ids: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    const { id } = await service.addEndpoint();
    await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
    ids.push(id);
  }
  const [done = '', waiting = ''] = ids;
  await service.addPost();
  const setCursor = (id: string, cursor: number): Promise<unknown> =>
    service.withInstance('default', ({ database }) =>
      database.write((tx) => {
        const { names } = tx;
        const number = sql`(SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND id = ${id})`;
        return tx.run(
          sql`UPDATE ${names.table('$lane')} SET cursor = CAST(${cursor} AS bigint) WHERE ${names.instance.condition} AND endpoint = ${number}`,
        );
      }),
    );
  const last = await service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const event = names.table('$event');
    const copied = sql`id, kind, collection, collection_name, record, revision, created, body`;
    // Copies of the one event, each time of all that there are.
    for (let count = 1; count < eventCount; count *= 2)
      await database.write((tx) =>
        tx.run(sql`
          INSERT INTO ${event} (${names.instance.column}${copied})
          SELECT ${names.instance.value}${copied} FROM ${event} WHERE ${names.instance.condition}`),
      );
    await database.write((tx) =>
      tx.run(sql`
        INSERT INTO ${names.table('$delivery')} (${names.instance.column}event, endpoint)
        SELECT ${names.instance.value}e.position, p.position FROM ${event} e JOIN ${names.table('$endpoint')} p ON ${names.instance.conditionOf('p')}
        WHERE ${names.instance.conditionOf('e')}
        ON CONFLICT DO NOTHING`),
    );
    const [row] = await database.tuples(
      sql`SELECT max(position) FROM ${event} WHERE ${names.instance.condition}`,
    );
    return Number(row?.[0]);
  });
  const page = (filter: string) =>
    service.call('GET', `/api/webhooks/deliveries?perPage=5&filter=${encodeURIComponent(filter)}`);
  await setCursor(done, last);
  await setCursor(waiting, last - fewPending);
  for (const filter of ["status = 'pending'", `status = 'pending' && endpoint = '${waiting}'`]) {
    const few = await page(filter);
    assert.deepEqual([few.totalItems, few.items.length], [fewPending, 5]);
    for (const { endpoint, status } of listOf(few.items))
      assert.deepEqual([endpoint, status], [waiting, 'pending']);
  }
  assert.equal((await page(`status = 'pending' && endpoint = '${done}'`)).items.length, 0);
  await setCursor(waiting, 0);
  const many = await page("status = 'pending'");
  assert.deepEqual([many.totalItems, many.totalPages, many.items.length], [-1, -1, 5]);
  assert.equal((await page(`status = 'pending' && endpoint = '${done}'`)).totalItems, 0);
  const stats = await service.call('GET', `/api/webhooks/endpoints/${waiting}/stats`);
  assert.deepEqual([stats.waiting, stats.waitingIsAtLeast], [10_000, true]);
  const others = await service.call('GET', `/api/webhooks/endpoints/${done}/stats`);
  assert.deepEqual([others.waiting, others.waitingIsAtLeast], [0, false]);
});
