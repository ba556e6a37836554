// Both engines: deliveries are counted by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWebhookService } from '../../../test/support/webhook-service.ts';
import { BacklogCounter } from './backlog.ts';

const freshMs = 5_000;

test('the backlog is counted at most every five seconds, of open instances with pending deliveries', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 503 } });
  await service.addEndpoint({ schedule: [3_600] });
  await service.addPost();
  await service.receiver.waitForRequests(1);
  const { instances, directory } = service.app.data;
  const id = directory.findBySlug('default')?.id ?? '';
  const working = new Set([id, 'a closed one']);
  const asked: string[] = [];
  let nowMs = 0;
  const clock = { monotonic: () => nowMs };
  const logger = { debug: assert.fail, info: assert.fail, warn: assert.fail, error: assert.fail };
  const borrow = (one: string): ReturnType<typeof instances.borrowOpen> => {
    asked.push(one);
    return instances.borrowOpen(one);
  };
  const backlog = new BacklogCounter({ instances: () => working, borrow, clock, logger });
  await Promise.all([backlog.refresh(), backlog.refresh()]);
  await backlog.refresh();
  assert.deepEqual(asked, [id, 'a closed one']);
  const { slug, waiting, ageMs } = backlog.backlogs.get(id) ?? {};
  assert.deepEqual([backlog.backlogs.size, slug, waiting], [1, 'default', 1]);
  assert.ok((ageMs ?? 0) > 0);
  nowMs += freshMs;
  working.delete(id);
  await backlog.refresh();
  assert.equal(backlog.backlogs.size, 0);
});
