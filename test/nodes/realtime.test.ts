import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client as PostgresClient } from 'pg';
import type { App } from '../../src/app.ts';
import { alwaysSafe } from '../../src/events/log-horizon.ts';
import { Channel } from '../../src/realtime/channel.ts';
import { Client } from '../../src/realtime/client.ts';
import { parseTopic } from '../../src/realtime/topic.ts';
import { atEnd } from '../support/at-end.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/postgres.ts';
import { withOptions } from '../support/realtime-stage.ts';
import { type Answer, NodeGroup, posts } from './node-group.ts';

const records = '/api/collections/posts/records';

interface Stage {
  readonly group: NodeGroup;
  readonly nodes: readonly [App, App];
  readonly create: (app: App, title: string) => Promise<string>;
}

async function open(t: TestContext, definition: object = {}): Promise<Stage> {
  const group = await NodeGroup.open(t);
  const nodes = [await group.start(), await group.start()] as const;
  await group.signIn(nodes[0]);
  await group.get(nodes[0], 'POST /api/collections', { ...posts, ...definition });
  return {
    group,
    nodes,
    create: async (app, title) => String((await group.get(app, `POST ${records}`, { title })).id),
  };
}

/** A request of its own caller, not of the superuser. */
async function subscribe(app: App, body: object, authorization?: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) };
  const response = await fetch(`${app.url}/api/realtime`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, retryAfter: null, json: text === '' ? undefined : JSON.parse(text) };
}

test('a client of one node is told of what every node writes, in one order, each change once', async (t) => {
  const { nodes, create } = await open(t);
  const streams = await Promise.all(nodes.map((app) => EventStream.open(t, app.url)));
  for (const [index, stream] of streams.entries()) {
    const answer = await subscribe(nodes[index === 0 ? 0 : 1], {
      clientId: stream.clientId,
      subscriptions: ['posts/*'],
    });
    assert.equal(answer.status, 204);
  }
  const titles = Array.from({ length: 40 }, (_, n) => String(n));
  await Promise.all(titles.map((title, n) => create(nodes[n % 2 === 0 ? 0 : 1], title)));
  for (const stream of streams) await stream.received(titles.length);
  const [first, second] = streams.map(({ told }) => told);
  assert.deepEqual(first, second);
  assert.deepEqual(new Set(first), new Set(titles.map((title) => `create ${title}`)));
});

test('a subscription with transitions that another node has carried out gets what each node makes enter and leave', async (t) => {
  const { group, nodes, create } = await open(t);
  const stream = await EventStream.open(t, nodes[0].url);
  const topic = withOptions('posts/*', { query: { filter: "title = 'shown'", transitions: true } });
  const answer = await subscribe(nodes[1], { clientId: stream.clientId, subscriptions: [topic] });
  assert.equal(answer.status, 204);
  const id = await create(nodes[1], 'shown');
  const titles = ['x', 'shown', 'y', 'z', 'shown'];
  for (const [n, title] of titles.entries())
    await group.get(nodes[n % 2 === 0 ? 0 : 1], `PATCH ${records}/${id}`, { title });
  await stream.received(5);
  assert.deepEqual(stream.told, ['create shown', 'leave shown', 'enter shown', 'leave shown', 'enter shown']);
});

test('who comes back is told of what lies before as it is now, also while an open transaction holds the reading up', async (t) => {
  const { group, nodes, create } = await open(t);
  const [node] = nodes;
  const resumed = async (since: string): Promise<EventStream> => {
    const stream = await EventStream.open(t, node.url);
    const topic = withOptions('posts/*', { query: { since } });
    const answer = await subscribe(node, { clientId: stream.clientId, subscriptions: [topic] });
    assert.equal(answer.status, 204);
    return stream;
  };
  const stream = await resumed('');
  const id = await create(node, 'first');
  const cursor = String((await stream.received(1))[0]?.data.cursor);
  const other = new PostgresClient({ connectionString: group.postgres });
  await other.connect();
  atEnd(t, () => other.end());
  await other.query('BEGIN');
  await other.query('SELECT pg_current_xact_id()');
  await group.get(node, `PATCH ${records}/${id}`, { title: 'between' });
  await group.get(node, `PATCH ${records}/${id}`, { title: 'redacted' });
  await group.get(node, `DELETE ${records}/${await create(node, 'deleted')}`);
  const away = await resumed(cursor);
  await group.get(node, `PATCH ${records}/${id}`, { title: 'after' });
  await other.query('COMMIT');
  await create(node, 'last');
  await away.receivedWhere(({ data }) => data.record.title === 'last');
  assert.deepEqual(
    away.messages.map(({ data: { action, record } }) => [action, record.title]),
    [
      ['delete', undefined],
      ['update', 'after'],
      ['create', 'last'],
    ],
  );
});

test('a request for a client of another node is carried out there, with its refusals, and one for no client is refused', async (t) => {
  const { group, nodes, create } = await open(t, { listRule: '@request.auth.id != ""' });
  const stream = await EventStream.open(t, nodes[0].url);
  const { clientId } = stream;
  const accounts = '/api/collections/users';
  await group.get(nodes[0], `POST ${accounts}/records`, {
    email: 'ann@example.com',
    password: 'correct horse',
    passwordConfirm: 'correct horse',
  });
  const { token } = await group.get(nodes[1], `POST ${accounts}/auth-with-password`, {
    identity: 'ann@example.com',
    password: 'correct horse',
  });
  assert.equal(
    (await subscribe(nodes[1], { clientId, subscriptions: ['posts/*'] }, String(token))).status,
    204,
  );
  await create(nodes[1], 'heard');
  await stream.received(1);
  const options = encodeURIComponent(JSON.stringify({ query: { filter: 'nothing = 1' } }));
  const wrong = await subscribe(
    nodes[1],
    { clientId, subscriptions: [`posts/*?options=${options}`] },
    String(token),
  );
  assert.equal(wrong.status, 400);
  // It would be refused by a message the second time.
  assert.equal((await subscribe(nodes[1], { clientId, subscriptions: [] }, String(token))).status, 204);
  assert.deepEqual(
    wrong,
    await subscribe(nodes[0], { clientId, subscriptions: [`posts/*?options=${options}`] }, String(token)),
  );
  assert.equal((await subscribe(nodes[1], { clientId, subscriptions: ['posts/*'] })).status, 403);
  const unknown = [clientId.slice(0, 15) + 'x'.repeat(25), 'x'.repeat(40), 'nobody'];
  for (const id of unknown) {
    const answer = await subscribe(nodes[1], { clientId: id, subscriptions: ['posts/*'] });
    assert.deepEqual([answer.status, answer.json.message], [404, 'Missing or invalid client id.'], id);
  }
  // Nothing of it stays.
  assert.deepEqual(await ask(group.postgres, 'SELECT * FROM chancery.realtime_request'), []);
});

test('a password that is changed through one node takes the caller from the clients of another within a second', async (t) => {
  const { group, nodes, create } = await open(t, { listRule: '@request.auth.id != "" || title = "open"' });
  const accounts = '/api/collections/users';
  const password = { password: 'correct horse', passwordConfirm: 'correct horse' };
  const { id } = await group.get(nodes[0], `POST ${accounts}/records`, {
    email: 'ann@example.com',
    ...password,
  });
  const { token } = await group.get(nodes[0], `POST ${accounts}/auth-with-password`, {
    identity: 'ann@example.com',
    password: 'correct horse',
  });
  const stream = await EventStream.open(t, nodes[0].url);
  assert.equal(
    (await subscribe(nodes[0], { clientId: stream.clientId, subscriptions: ['posts/*'] }, String(token)))
      .status,
    204,
  );
  await create(nodes[1], 'before');
  await stream.received(1);
  const changedMs = performance.now();
  await group.get(nodes[1], `PATCH ${accounts}/records/${id}`, {
    password: 'another one',
    passwordConfirm: 'another one',
  });
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, changedMs + 1_000 - performance.now())));
  await create(nodes[1], 'after');
  await create(nodes[1], 'open');
  await stream.received(2);
  assert.deepEqual(stream.told, ['create before', 'create open']);
});

test('when its node stops, a client goes on at another node behind its last cursor, without a gap and nothing twice', async (t) => {
  const { nodes, create } = await open(t);
  const since = (cursor: string): string =>
    `posts/*?options=${encodeURIComponent(JSON.stringify({ query: { since: cursor } }))}`;
  const first = await EventStream.open(t, nodes[0].url);
  assert.equal(
    (await subscribe(nodes[0], { clientId: first.clientId, subscriptions: [since('')] })).status,
    204,
  );
  const titles = Array.from({ length: 60 }, (_, n) => String(n));
  for (const title of titles.slice(0, 20)) await create(nodes[1], title);
  await eventually('some', () => first.told.length > 5);
  await nodes[0].stop();
  await eventually('the end', () => first.isOver);
  const cursor: unknown = first.messages.at(-1)?.data.cursor;
  for (const title of titles.slice(20, 40)) await create(nodes[1], title);
  const second = await EventStream.open(t, nodes[1].url);
  assert.equal(
    (await subscribe(nodes[1], { clientId: second.clientId, subscriptions: [since(String(cursor))] })).status,
    204,
  );
  for (const title of titles.slice(40)) await create(nodes[1], title);
  await second.received(titles.length - first.told.length);
  assert.deepEqual(
    [...first.told, ...second.told],
    titles.map((title) => `create ${title}`),
  );
});

test('a client that was told more by another node than is known to be safe here is told nothing twice', async (t) => {
  const { group, nodes, create } = await open(t);
  const app = nodes[0];
  for (const title of ['1', '2', '3']) await create(app, title);
  const rows = await ask(
    group.postgres,
    'SELECT position::integer AS position FROM chancery.event ORDER BY 1',
  );
  const positions = rows.map(({ position }) => Number(position));
  const [first = 0, , third = 0] = positions;
  const [entry] = app.data.directory.all();
  assert.ok(entry);
  const loan = await app.data.instances.borrow(entry);
  atEnd(t, () => loan.release());
  const safeEnd = { ...alwaysSafe, safePosition: first };
  const onError = (error: unknown): void => assert.fail(String(error));
  const channel = new Channel({ instance: loan.instance, safeEnd, onError });
  const told: string[] = [];
  const connection = {
    write: (text: string) => void told.push(...(/"title":"(.*?)"/.exec(text)?.slice(1) ?? [])),
    unsentBytes: 0,
    drained: () => Promise.resolve(),
    end: () => undefined,
    disconnect: () => assert.fail('it is cut off'),
  };
  const counts = { connections: 0, messages: 0 };
  const client = new Client(connection, {
    id: 'client',
    quotaEntry: { address: '127.0.0.1', holder: '127.0.0.1' },
    nowMs: 0,
    counts,
  });
  await channel.join({
    client,
    topic: parseTopic('posts/*'),
    position: third,
    requestedAt: 0,
    isOver: false,
  });
  await create(app, '4');
  safeEnd.safePosition = Number.MAX_SAFE_INTEGER;
  await eventually('the fourth', () => told.includes('4'));
  assert.deepEqual(told, ['4']);
  await channel.stop();
});

test('a code of a sign-in provider reaches its client from any node, from its own address alone', async (t) => {
  const { nodes } = await open(t);
  const [first, second] = nodes;
  const stream = await EventStream.open(t, first.url);
  await subscribe(first, { clientId: stream.clientId, subscriptions: ['@oauth2'] });
  const redirect = async (state: string): Promise<number> =>
    (await fetch(`${second.url}/api/oauth2-redirect?state=${state}&code=x`)).status;
  assert.equal(await redirect(stream.clientId), 200);
  await stream.received(1);
  assert.deepEqual(stream.messages, [
    { event: '@oauth2', data: { state: stream.clientId, code: 'x', error: '' } },
  ]);
  assert.equal(await redirect(stream.clientId), 400);
  assert.equal(await redirect(`${stream.clientId.slice(0, 15)}${'x'.repeat(25)}`), 400);
});
