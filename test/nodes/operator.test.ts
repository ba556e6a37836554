import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NodeGroup, posts } from './node-group.ts';

test('an instance that is created on one node is served by the others, and its events are read there', async (t) => {
  const group = await NodeGroup.open(t);
  const [one, two] = [await group.start(), await group.start()];
  const { key } = await makeOperatorKey({ app: one });
  group.token = key;
  const api = '/api/operator/instances';
  const { nextCursor } = await group.get(two, 'GET /api/operator/events');
  const waiting = group.get(two, `GET /api/operator/events?wait=30&cursor=${nextCursor}`);
  const acme = {
    slug: 'acme',
    collections: [posts],
    endpoints: [{ url: group.receiver.urlAt('127.0.0.1', '/') }],
  };
  const created = await group.get(one, `POST ${api}`, acme);
  const { items }: { readonly items: readonly { readonly kind: string; readonly instance: string }[] } =
    await waiting;
  assert.deepEqual(
    items.map(({ kind, instance }) => [kind, instance]),
    [['instance.created', created.id]],
  );
  const askAt = (app: App, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(app.url + path, init);
  const records = '/i/acme/api/collections/posts/records';
  // A second, and what a busy machine takes.
  await eventually(
    'the other node serves it',
    async () => (await askAt(two, records)).status === 200,
    10_000,
  );
  const body = new URLSearchParams({ title: 'Hello' });
  assert.equal((await askAt(two, records, { method: 'POST', body })).status, 201);
  await eventually('the webhook is sent', () => group.receiver.requests.length === 1);

  const statuses = await Promise.all(
    Array.from({ length: 10 }, async (_, at) => {
      const app = at % 2 === 0 ? one : two;
      return (await group.ask(app, `POST ${api}`, { slug: 'beta', collections: [posts] })).status;
    }),
  );
  assert.deepEqual(
    statuses.toSorted((first, second) => first - second),
    [201, ...Array.from({ length: 9 }, () => 400)],
  );
  const headers = { authorization: key, 'content-type': 'application/json', 'idempotency-key': 'sign-up' };
  const twice = await Promise.all(
    [one, two].map(async (app) => {
      const body = JSON.stringify({ slug: 'gamma', collections: [posts] });
      const answer = await askAt(app, api, { method: 'POST', headers, body });
      // What the description of the route says.
      const { id } = (await answer.json()) as { readonly id: string };
      return { status: answer.status, id, replayed: answer.headers.get('idempotent-replayed') };
    }),
  );
  assert.deepEqual(
    twice.map(({ status, id }) => [status, id]),
    [0, 1].map(() => [201, twice[0]?.id]),
  );
  assert.deepEqual(new Set(twice.map(({ replayed }) => replayed)), new Set([null, 'true']));
  const { items: nodes } = await group.get(two, 'GET /api/operator/nodes');
  assert.equal(nodes.length, 2);
  const { id } = await group.get(one, 'GET /api/operator/instances/beta');
  await group.get(two, `POST ${api}/${id}/suspend`);
  await eventually('the other node refuses it', async () => {
    const { status } = await askAt(one, '/i/beta/api/collections/posts/records');
    return status === 403;
  });
});

test('an archive is written and read by the node that is asked for it, whatever the others do', async (t) => {
  const group = await NodeGroup.open(t);
  const backups = temporaryFolder(t);
  // A node with another disk: on this one, the archives of others cannot be written.
  writeFileSync(join(backups, '.partial'), 'no folder');
  const [one, two] = [await group.start(), await group.start(group.postgres, { backups })];
  const { key } = await makeOperatorKey({ app: one });
  const headers = { authorization: key, 'content-type': 'application/zip' };
  const api = '/api/operator/instances';
  const download = async (slug: string): Promise<ArrayBuffer> => {
    const archive = await fetch(`${one.url}${api}/${slug}/archive`, { headers });
    assert.equal(archive.status, 200, await archive.clone().text());
    return archive.arrayBuffer();
  };
  const body = await download('default');
  const slugs = Array.from({ length: 10 }, (_, at) => `copy-${at}`);
  for (const slug of slugs) {
    const url = `${one.url}${api}/import?copy=true&slug=${slug}`;
    const imported = await fetch(url, { method: 'POST', headers, body });
    assert.equal(imported.status, 201, await imported.text());
  }
  // As jobs that any node takes up, two at a time and twice a second, some would be the other's.
  const archives = await Promise.all(slugs.map(download));
  assert.ok(archives.every(({ byteLength }) => byteLength > 1_000));
  const health = (): Promise<Response> => fetch(`${two.url}/i/copy-9/api/health`);
  await eventually('the other node serves it', async () => (await health()).status === 200, 10_000);
});
