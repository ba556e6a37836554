import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { Forwarder } from '../support/forwarder.ts';
import { ask, startTestPostgres } from '../support/postgres.ts';
import { NodeGroup, posts, superuser } from './node-group.ts';

const records = '/api/collections/posts/records';
const signIn = '/api/collections/_superusers/auth-with-password';

test('while the database is away a node says so, refuses with Retry-After, and goes on when it is back', async (t) => {
  const group = await NodeGroup.open(t);
  const port = Number(new URL(group.postgres).port);
  const forwarder = await Forwarder.open(port);
  const url = new URL(group.postgres);
  url.port = String(forwarder.port);
  const node = await startNode(group, url.href);
  t.after(() => forwarder.close());
  forwarder.pointTo(undefined);
  await assertAway(group, node);
  forwarder.pointTo(port);
  await assertBack(group, node);
});

test('a password that is changed under a node is told as a database that is away, and is not in the log', async (t) => {
  const server = await startTestPostgres({
    files: { 'pg_hba.conf': 'host all postgres all trust\nhost all app all scram-sha-256\n' },
  });
  await ask(server.url, `CREATE ROLE app LOGIN PASSWORD 'sesame'`);
  await ask(server.url, 'CREATE DATABASE of_app OWNER app');
  const group = await NodeGroup.open(t);
  const url = new URL(server.url);
  Object.assign(url, { pathname: '/of_app', username: 'app', password: 'sesame' });
  const node = await startNode(group, url.href);
  t.after(() => server.stop());
  await ask(server.url, `ALTER ROLE app PASSWORD 'another'`);
  await server.killBackends(url.href);
  await assertAway(group, node);
  await ask(server.url, `ALTER ROLE app PASSWORD 'sesame'`);
  await assertBack(group, node);
  assert.match(group.log.join('\n'), /password authentication failed/);
  assert.doesNotMatch(group.log.join('\n'), /sesame/);
});

/** A node with `posts` and an endpoint that has heard of one record. */
async function startNode(group: NodeGroup, url: string): Promise<App> {
  const node = await group.start(url);
  await group.signIn(node);
  await group.get(node, 'POST /api/collections', posts);
  await group.get(node, 'POST /api/webhooks/endpoints', { url: group.receiver.url });
  await group.get(node, `POST ${records}`, { title: 'before' });
  await group.receiver.waitForRequests(1);
  assert.equal((await group.ask(node, 'GET /api/health/ready')).status, 200);
  return node;
}

async function assertAway(group: NodeGroup, node: App): Promise<void> {
  for (const [what, body] of [
    [`GET ${records}`, undefined],
    [`POST ${records}`, { title: 'meanwhile' }],
    [`POST ${signIn}`, superuser],
    ['GET /api/webhooks/endpoints', undefined],
  ] as const) {
    const { status, retryAfter } = await group.ask(node, what, body);
    assert.deepEqual({ status, retryAfter }, { status: 503, retryAfter: '1' }, what);
  }
  await eventually('it is not ready', async () => {
    const { status, json, retryAfter } = await group.ask(node, 'GET /api/health/ready');
    if (status === 200) return false;
    assert.deepEqual(
      [status, json.message, json.data, retryAfter],
      [503, 'The database is away.', { reason: 'unavailable' }, '1'],
    );
    return true;
  });
  assert.equal((await group.ask(node, 'GET /api/health/live')).status, 200);
}

async function assertBack(group: NodeGroup, node: App): Promise<void> {
  await eventually('it is ready', async () => {
    return (await group.ask(node, 'GET /api/health/ready')).status === 200;
  });
  await group.get(node, `POST ${records}`, { title: 'after' });
  assert.equal((await group.get(node, `GET ${records}`)).totalItems, 2);
  await group.receiver.waitForRequests(2);
}
