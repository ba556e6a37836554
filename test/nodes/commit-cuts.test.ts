import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { App } from '../../src/app.ts';
import { startCommitProxy, type CommitProxy } from '../support/commit-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup, posts } from './node-group.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';

// Promise 1 of webhooks.md section 3, where the network ends at the one moment that leaves an outcome unknown.

const records = '/api/collections/posts/records';
const unknown = 'Something went wrong while processing your request.';

/** A change of each kind, with a text that only its transaction has. */
function changesOf(changed: string, deleted: string) {
  return [
    [`POST ${records}`, { id: 'cutcreate000001', title: 'cut create' }, 'cut create'],
    [`PATCH ${records}/${changed}`, { title: 'cut update' }, 'cut update'],
    [`DELETE ${records}/${deleted}`, undefined, deleted],
  ] as const;
}

test('a change whose COMMIT never reached PostgreSQL is not acknowledged, not there, and told to nobody', async (t) => {
  const { group, node, proxy } = await openProxied(t);
  const [changed, deleted] = [await post(group, node, 'first'), await post(group, node, 'second')];
  const asked = changesOf(changed, deleted);
  for (const [what, body, text] of asked) {
    const cut = proxy.cutAtCommit(text, 'before');
    await assertUnknown(group, node, [what, body]);
    await cut;
  }
  assert.deepEqual(await titles(group, node), ['first', 'second']);
  const rows = await ask(group.postgres, 'SELECT kind FROM chancery.event');
  assert.deepEqual(
    rows.map(({ kind }) => kind),
    ['record.create', 'record.create'],
  );
  // Asked again, each of them is done once.
  for (const [what, body] of asked) await group.get(node, what, body);
  await group.receiver.waitForRequests(5);
  await assertToldOnce(group, 5);
});

test('a change whose COMMIT was answered to a cut connection is not acknowledged, done once, and told', async (t) => {
  const { group, node, proxy } = await openProxied(t);
  const [changed, deleted] = [await post(group, node, 'first'), await post(group, node, 'second')];
  const asked = changesOf(changed, deleted);
  for (const [what, body, text] of asked) {
    const cut = proxy.cutAtCommit(text, 'after');
    await assertUnknown(group, node, [what, body]);
    await cut;
  }
  assert.deepEqual(await titles(group, node), ['cut create', 'cut update']);
  // A client that asks again finds it done.
  assert.equal((await group.ask(node, `POST ${records}`, asked[0][1])).status, 400);
  assert.equal((await group.ask(node, `DELETE ${records}/${deleted}`)).status, 404);
  await group.receiver.waitForRequests(5);
  await assertToldOnce(group, 5);
});

for (const when of ['before', 'after'] as const) {
  test(`a delivery is sent and logged once when the connection is cut ${when} the COMMIT that settles it`, async (t) => {
    const { group, node, proxy } = await openProxied(t);
    group.receiver.mode = { kind: 'status', status: 200, body: 'an answer like no other' };
    // What the receiver answered is part of the settlement.
    const cut = proxy.cutAtCommit('an answer like no other', when);
    await post(group, node, 'first');
    await cut;
    await post(group, node, 'second');
    await group.receiver.waitForRequests(2);
    await assertToldOnce(group, 2);
    // Before the proxy is closed: a stop gives what is not stored its time.
    await node.stop();
  });
}

test('an attempt that failed, and is stored once more as its COMMIT was answered to a cut connection, is followed by its schedule', async (t) => {
  const { group, node, proxy } = await openProxied(t, { schedule: [3_600] });
  group.receiver.mode = { kind: 'status', status: 500, body: 'an answer like no other' };
  const cut = proxy.cutAtCommit('an answer like no other', 'after');
  await post(group, node, 'first');
  await cut;
  // Whatever is to be stored is stored then.
  await node.stop();
  const [row] = await ask(
    group.postgres,
    `SELECT status, attempts, due > extract(epoch FROM now() + interval '40 minutes') * 1000 AS "isLater" FROM ${storedDeliveries.postgres}`,
  );
  assert.deepEqual({ ...row }, { status: 'pending', attempts: 1, isLater: true });
  assert.match(group.log.join(), /Results of attempts could not be stored/);
});

interface Proxied {
  readonly group: NodeGroup;
  readonly node: App;
  readonly proxy: CommitProxy;
}

/** A node that speaks to its database through the proxy, with `posts` and an endpoint. */
async function openProxied(
  t: TestContext,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Proxied> {
  const group = await NodeGroup.open(t);
  const url = new URL(group.postgres);
  const proxy = await startCommitProxy(t, Number(url.port));
  url.port = String(proxy.port);
  const node = await group.start(url.href);
  await group.signIn(node);
  await group.get(node, 'POST /api/collections', posts);
  await group.get(node, 'POST /api/webhooks/endpoints', { url: group.receiver.url, ...settings });
  return { group, node, proxy };
}

async function post(group: NodeGroup, node: App, title: string): Promise<string> {
  const { id } = await group.get(node, `POST ${records}`, { title });
  return String(id);
}

async function titles(group: NodeGroup, node: App): Promise<readonly string[]> {
  const { items } = await group.get(node, `GET ${records}?sort=title`);
  // The list contract: each item is a record of `posts`.
  return (items as readonly { readonly title: string }[]).map(({ title }) => title);
}

async function assertUnknown(
  group: NodeGroup,
  node: App,
  [what, body]: readonly [string, unknown],
): Promise<void> {
  assert.deepEqual(await group.ask(node, what, body), {
    status: 500,
    retryAfter: null,
    json: { data: {}, message: unknown, status: 500 },
  });
}

/** Each event is delivered, by one attempt, and has arrived once; nothing else has. */
async function assertToldOnce({ postgres, receiver }: NodeGroup, count: number): Promise<void> {
  await eventually('all is settled', async () => {
    const [row] = await ask(
      postgres,
      `SELECT count(*) AS pending FROM ${storedDeliveries.postgres} WHERE status = 'pending'`,
    );
    return Number(row?.['pending']) === 0;
  });
  const rows = await ask(
    postgres,
    `SELECT d.status, d.attempts, (SELECT count(*) FROM chancery.attempt a WHERE a.event = d.event)::integer AS logged, e.id
     FROM chancery.event e JOIN chancery.outcome d ON d.event = e.position ORDER BY e.id`,
  );
  const told = rows.map(({ status, attempts, logged }) => ({ status, attempts, logged }));
  assert.deepEqual(
    told,
    Array.from({ length: count }, () => ({ status: 'delivered', attempts: 1, logged: 1 })),
  );
  const arrived = receiver.requests.map(({ headers }) => String(headers['webhook-id'])).toSorted();
  assert.deepEqual(arrived, rows.map(({ id }) => String(id)).toSorted());
}
