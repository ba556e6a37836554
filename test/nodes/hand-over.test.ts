import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup } from './node-group.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';

/** So many that each node owns some, whichever shards are theirs. */
const slugs = Array.from({ length: 12 }, (_, index) => `instance-${index}`);

function post(group: NodeGroup, app: App): Promise<unknown> {
  const body = { title: 'x' };
  return Promise.all(
    slugs.map((slug) => group.get(app, `POST /i/${slug}/api/collections/posts/records`, body)),
  );
}

test('work is handed over at once, and what is on its way meanwhile is neither waited for nor sent twice', async (t) => {
  const group = await NodeGroup.open(t);
  const a = await group.start();
  for (const slug of slugs) await group.makeInstance(a, slug);
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  group.receiver.mode = { kind: 'held', until };
  await post(group, a);
  await group.receiver.waitForRequests(slugs.length);
  // Each is on its way until it is released, so whatever changes hands below does so with its instance's delivery open.
  const b = await group.start();
  await eventually('B knows all instances', () => slugs.every((slug) => b.data.directory.findBySlug(slug)));
  await group.divided(a, 2);
  const startedMs = performance.now();
  const stopping = a.stop();
  await group.divided(b, 1);
  t.diagnostic(`handed over ${Math.round(performance.now() - startedMs)} ms after the stop began`);
  group.receiver.mode = { kind: 'ok' };
  // Whatever B took for due would be sent in one turn with these.
  await post(group, b);
  const arrived = await group.receiver.waitForRequests(2 * slugs.length);
  release();
  await stopping;
  const states = (): Promise<readonly unknown[]> =>
    ask(
      group.postgres,
      `SELECT status, attempts, count(*) FROM ${storedDeliveries.postgres} GROUP BY status, attempts`,
    );
  await eventually('all settled', async () => {
    assert.deepEqual(await states(), [{ status: 'delivered', attempts: 1, count: String(2 * slugs.length) }]);
    return true;
  });
  assert.equal(arrived.length, 2 * slugs.length);
  assert.deepEqual(group.log, []);
});

test('an attempt that fails after its delivery was handed over is followed by the next one of the schedule', async (t) => {
  const group = await NodeGroup.open(t);
  const a = await group.start();
  for (const slug of slugs) await group.makeInstance(a, slug);
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  group.receiver.mode = { kind: 'held', until, status: 500 };
  await post(group, a);
  await group.receiver.waitForRequests(slugs.length);
  await group.start();
  await group.divided(a, 2);
  const releasedAt = Date.now();
  release();
  const rows = await eventually('all settled', async () => {
    const settled = await ask(group.postgres, 'SELECT due, updated FROM chancery.outcome WHERE attempts = 1');
    return settled.length === slugs.length ? settled : undefined;
  });
  for (const { due, updated } of rows) {
    // 5 s by the schedule; the time that those which were handed over had been put off until is half a minute away.
    assert.ok(Number(due) - releasedAt < 15_000, `${Number(due) - releasedAt} ms`);
    // Nor at once, as if somebody had asked for it.
    const delayMs = Number(due) - Date.parse(String(updated));
    assert.ok(delayMs > 1_000, `${delayMs} ms after it was settled`);
  }
});
