import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { listOf } from '../support/webhook-service.ts';
import { NodeGroup, posts } from './node-group.ts';

const links = '/api/webhooks/portal-links';

test('a portal is opened on one node, used on another and ended on a third', async (t) => {
  const group = await NodeGroup.open(t);
  const nodes = [await group.start(), await group.start(), await group.start()] as const;
  const [a, b, c] = nodes;
  await group.signIn(a);
  const root = group.token;
  /** Makes requests with another token, or with none. */
  const withToken = async <Result>(token: string, work: () => Promise<Result>): Promise<Result> => {
    group.token = token;
    return work().finally(() => (group.token = root));
  };
  await group.get(a, 'POST /api/collections', posts);
  // A single attempt, so that a delivery fails for good at once.
  group.receiver.mode = { kind: 'status', status: 500 };
  const body = { url: group.receiver.url, schedule: [], collections: ['posts'] };
  const endpoint = await group.get(b, 'POST /api/webhooks/endpoints', body);
  await eventually('each node knows the collection', async () =>
    (await Promise.all(nodes.map((node) => group.ask(node, 'GET /api/collections/posts')))).every(
      ({ status }) => status === 200,
    ),
  );
  await group.get(c, 'POST /api/collections/posts/records', { title: 'one' });
  const open = async (by: App, at: App): Promise<{ readonly id: string; readonly session: string }> => {
    const { id, url } = await group.get(by, `POST ${links}`, { endpoints: [endpoint.id] });
    const token = new URL(url).hash.slice(1);
    const { token: session } = await withToken('', () => group.get(at, `POST ${links}/use`, { token }));
    // It is used up everywhere.
    for (const node of nodes)
      assert.equal((await withToken('', () => group.ask(node, `POST ${links}/use`, { token }))).status, 403);
    return { id, session: String(session) };
  };
  const first = await open(a, b);
  const failed = await eventually('the delivery has failed', async () => {
    const { items } = await withToken(first.session, () => group.get(c, 'GET /api/webhooks/deliveries'));
    return listOf(items).find(({ status }) => status === 'exhausted');
  });
  group.receiver.mode = { kind: 'ok' };
  await withToken(first.session, () => group.get(a, `POST /api/webhooks/deliveries/${failed.id}/retry`));
  await eventually('it is delivered', async () => {
    const delivery = await withToken(first.session, () =>
      group.get(b, `GET /api/webhooks/deliveries/${failed.id}`),
    );
    return delivery.status === 'delivered';
  });
  const statuses = (session: string): Promise<readonly number[]> =>
    Promise.all([0, 1, 2].map(async (at) => askOn(nodes[at] ?? a, session)));
  const askOn = async (node: App, session: string): Promise<number> => {
    const headers = { authorization: session };
    return (await fetch(`${node.url}/api/webhooks/endpoints`, { headers })).status;
  };
  assert.deepEqual(await statuses(first.session), [200, 200, 200]);
  // The owner of the service revokes one, the customer signs out of another: each is refused by all nodes from the answer on.
  await group.get(c, `DELETE ${links}/${first.id}`);
  assert.deepEqual(await statuses(first.session), [401, 401, 401]);
  const second = await open(b, c);
  assert.deepEqual(await statuses(second.session), [200, 200, 200]);
  await withToken(second.session, () => group.get(a, `DELETE ${links}/current`));
  assert.deepEqual(await statuses(second.session), [401, 401, 401]);
});
