import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup, posts } from './node-group.ts';

const records = '/api/collections/posts/records';

test('a node works beside newer ones on a schema that admits it, and refuses to start on one that does not', async (t) => {
  const group = await NodeGroup.open(t);
  const running = await group.start();
  await group.signIn(running);
  await group.get(running, 'POST /api/collections', posts);
  await group.get(running, 'POST /api/webhooks/endpoints', { url: group.receiver.url });
  const [row] = await ask(group.postgres, 'SELECT count(*)::integer AS known FROM chancery.migration');
  const known = Number(row?.['known']);
  // What a newer version would leave that needs no more than this one knows, or more.
  const apply = (number: number, admits: number): Promise<unknown> =>
    ask(group.postgres, `INSERT INTO chancery.migration VALUES (${number}, 'later', ${admits})`);
  await apply(known + 1, known);
  const restarted = await group.start();
  for (const node of [running, restarted]) await group.get(node, `POST ${records}`, { title: 'x' });
  await group.receiver.waitForRequests(2);

  const stream = await EventStream.open(t, running.url);
  await apply(known + 2, known + 1);
  const nodes = 'SELECT id FROM chancery.node ORDER BY id';
  const before = await ask(group.postgres, nodes);
  await assert.rejects(group.start(), /written by a newer version of Chancery/);
  assert.deepEqual(await ask(group.postgres, nodes), before);
  assert.equal(before.length, 2);

  // Those that run are outdated, and say so. What they might remember is not answered either.
  for (const node of [running, restarted]) {
    await eventually('it is not ready', async () => {
      const { status, json } = await group.ask(node, 'GET /api/health/ready');
      return status === 503 && json.data.reason === 'outdated';
    });
    for (const what of ['GET /api/health', `GET ${records}`, `POST ${records}`, 'POST /api/batch']) {
      const { status, retryAfter, json } = await group.ask(node, what, what.startsWith('P') ? {} : undefined);
      assert.deepEqual([status, retryAfter, json.data], [503, '1', {}], what);
    }
    // Nothing has to be read for a guest.
    assert.equal((await fetch(`${node.url}/api/health`)).status, 503);
    assert.equal((await group.ask(node, 'GET /api/health/live')).status, 200);
  }
  await eventually('its realtime connections have ended', () => stream.isOver);
  const told = group.log.filter((line) => /replace this process/.test(line));
  assert.ok(told.length >= 2, group.log.join('\n'));
  // Their leases end: nothing of theirs is written any more.
  const signs = 'SELECT id, seen::text FROM chancery.node ORDER BY id';
  const [first, pause] = [await ask(group.postgres, signs), 'SELECT pg_sleep(4)'];
  await ask(group.postgres, pause);
  assert.deepEqual(await ask(group.postgres, signs), first);
});
