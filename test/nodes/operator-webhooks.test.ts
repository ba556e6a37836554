import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup, verify } from './node-group.ts';

const endpoints = '/api/operator/endpoints';
const instance = '/api/operator/instances/default';

function textsOf({ receiver }: NodeGroup): readonly string[] {
  return receiver.requests.map(({ body }) => {
    // The labels of each event are such.
    const { data } = JSON.parse(body.toString()) as {
      readonly data: { readonly labels: { readonly n: string } };
    };
    return data.labels.n;
  });
}

test('of several nodes one sends to an endpoint of the operator: each event once, in the order of the feed', async (t) => {
  const group = await NodeGroup.open(t);
  const nodes = [await group.start(), await group.start(), await group.start()] as const;
  const [one, two] = nodes;
  group.token = (await makeOperatorKey({ app: one })).key;
  const { id, secret } = await group.get(one, `POST ${endpoints}`, { url: group.receiver.url });
  for (let n = 0; n < 60; n += 1) {
    const node = nodes[n % nodes.length] ?? one;
    await group.get(node, `PATCH ${instance}`, { labels: { n: String(n) } });
  }
  await eventually(
    'all are settled',
    async () => (await group.get(two, `GET ${endpoints}/${id}`)).behind === 0,
  );
  assert.deepEqual(
    textsOf(group),
    Array.from({ length: 60 }, (_, n) => String(n)),
  );
  for (const request of group.receiver.requests) verify(request, secret);
  assert.equal(group.receiver.openRequestsMost, 1);
  assert.deepEqual(group.log, []);
});

test('a node that stops hands an endpoint over at once, and what was on its way is not sent again', async (t) => {
  const group = await NodeGroup.open(t);
  const one = await group.start();
  group.token = (await makeOperatorKey({ app: one })).key;
  await group.get(one, `POST ${endpoints}`, { url: group.receiver.url });
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  group.receiver.mode = { kind: 'held', until };
  for (const n of ['a', 'b']) await group.get(one, `PATCH ${instance}`, { labels: { n } });
  await group.receiver.waitForRequests(1);
  await group.start();
  const stopping = one.stop();
  group.receiver.mode = { kind: 'ok' };
  release();
  await stopping;
  await group.receiver.waitForRequests(2);
  assert.deepEqual(textsOf(group), ['a', 'b']);
});

test('another node takes an endpoint over whose holder is gone, and a holder that comes back moves nothing', async (t) => {
  const group = await NodeGroup.open(t);
  const one = await group.start();
  group.token = (await makeOperatorKey({ app: one })).key;
  const { id } = await group.get(one, `POST ${endpoints}`, { url: group.receiver.url });
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  group.receiver.mode = { kind: 'held', until, status: 500 };
  await group.get(one, `PATCH ${instance}`, { labels: { n: 'a' } });
  await group.receiver.waitForRequests(1);
  const two = await group.start();
  group.receiver.mode = { kind: 'ok' };
  await group.get(two, `PATCH ${instance}`, { labels: { n: 'b' } });
  // As if its lease had ended while it hangs.
  await ask(group.postgres, 'UPDATE chancery.operator_endpoint SET held_until = 0');
  const shown = (): Promise<{
    readonly behind: number;
    readonly failingSince: string;
    readonly lastStatus: number;
  }> => group.get(two, `GET ${endpoints}/${id}`);
  await eventually('both are settled by the other', async () => (await shown()).behind === 0);
  assert.deepEqual(textsOf(group), ['a', 'a', 'b']);
  release();
  // Its answer is noted by nobody.
  await one.stop();
  const { failingSince, lastStatus } = await shown();
  assert.deepEqual([failingSince, lastStatus], ['', 200]);
});
