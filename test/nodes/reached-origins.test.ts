import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppParts } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/postgres.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';
import { NodeGroup } from './node-group.ts';

/** So many that each node owns some, whichever shards are theirs. */
const slugs = Array.from({ length: 12 }, (_, index) => `instance-${index}`);

/** Handshakes never succeed, so that only attempts can show that a receiver is there. */
const withoutHandshakes: AppParts = {
  wrapSender: (sender) => ({
    send: (requests) => sender.send(requests),
    onResults: (listener) => sender.onResults(listener),
    stop: (graceMs) => sender.stop(graceMs),
    handshake: () => Promise.resolve(false),
    request: (request) => sender.request(request),
  }),
};

test('an endpoint of one node is probed once another node has reached its origin', async (t) => {
  const group = await NodeGroup.open(t);
  const a = await group.start(group.postgres, {}, withoutHandshakes);
  for (const slug of slugs) await group.makeInstance(a, slug);
  const post = (): Promise<unknown> =>
    Promise.all(
      slugs.map((slug) => group.get(a, `POST /i/${slug}/api/collections/posts/records`, { title: 'x' })),
    );
  const waiting = async (): Promise<number> => {
    const [row] = await ask(
      group.postgres,
      `SELECT count(*)::integer AS count FROM ${storedDeliveries.postgres} WHERE status = 'pending'`,
    );
    return Number(row?.['count']);
  };
  await post();
  await eventually('all are delivered', async () => {
    return group.receiver.requests.length === slugs.length && (await waiting()) === 0;
  });
  // Nodes that take over an instance read this; A goes on with what it knows.
  await ask(
    group.postgres,
    `UPDATE chancery.lane SET state = 'open', since = ${Date.now()}, probe_at = ${Date.now() + 600_000}, probe_delay = 600000`,
  );
  const b = await group.start(group.postgres, {}, withoutHandshakes);
  await group.divided(a, 2);
  await post();
  await eventually('those of A are delivered, and those of B wait', async () => {
    const count = group.receiver.requests.length - slugs.length;
    return count > 0 && (await waiting()) === slugs.length - count;
  });
  assert.ok((await waiting()) > 0);
  await eventually('those of B are probed', async () => {
    // Something of A has to succeed once B has said what it waits for.
    await post();
    return (await ask(group.postgres, `SELECT 1 FROM chancery.lane WHERE state = 'open'`)).length === 0;
  });
  await eventually('all are delivered', async () => (await waiting()) === 0);
  await b.stop();
});
