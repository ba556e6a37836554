import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup, posts } from './node-group.ts';

const records = '/api/collections/posts/records';

/** Makes records, and an endpoint that is paused. Returns the ids of both. */
async function prepare(
  group: NodeGroup,
  node: App,
  count: number,
): Promise<{ readonly ids: readonly string[]; readonly endpoint: string }> {
  await group.signIn(node);
  await group.get(node, 'POST /api/collections', posts);
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1)
    ids.push((await group.get(node, `POST ${records}`, { title: `post ${index}` })).id);
  const settings = { url: group.receiver.url, status: 'paused' };
  const { id: endpoint } = await group.get(node, 'POST /api/webhooks/endpoints', settings);
  return { ids, endpoint };
}

/** The ids of the records that the backfill has sent. */
function sentBy({ receiver }: NodeGroup): readonly string[] {
  const of = receiver.requests.filter(({ headers }) => headers['x-service-backfill'] !== undefined);
  return of.map(({ body }) => String(JSON.parse(body.toString('utf8')).data.id));
}

test('a change that is not committed yet when a backfill comes to its record is waited for, and told once', async (t) => {
  const group = await NodeGroup.open(t);
  const node = await group.start();
  const { ids, endpoint } = await prepare(group, node, 3);
  const [changed = ''] = ids;
  const body = { collection: 'posts' };
  const { id } = await group.get(node, `POST /api/webhooks/endpoints/${endpoint}/backfill`, body);
  // As another node would change it: the row, its event, and that the endpoint is told of it.
  const other = new Client({ connectionString: group.postgres });
  await other.connect();
  t.after(() => other.end());
  await other.query('BEGIN');
  const { rows } = await other.query<{ schema: string }>(
    "SELECT table_schema AS schema FROM information_schema.tables WHERE table_name = 'posts'",
  );
  await other.query(
    `UPDATE "${rows[0]?.schema}".posts SET title = 'changed', "$revision" = 2 WHERE id = '${changed}'`,
  );
  await other.query(`
    WITH made AS (
      INSERT INTO chancery.event (instance_id, id, kind, collection, collection_name, record, revision, created, context, body)
      SELECT instance_id, 'changeelsewhere00000', 'record.update', collection, collection_name, record, 2, created, context, body
      FROM chancery.event WHERE record = '${changed}' RETURNING instance_id, position)
    INSERT INTO chancery.delivery SELECT made.instance_id, made.position, p.position FROM made, chancery.endpoint p`);
  await group.get(node, `POST /api/webhooks/endpoints/${endpoint}/resume`);
  const stateOf = async (): Promise<string> =>
    (await group.get(node, `GET /api/webhooks/replays/${id}`)).state;
  await eventually('the backfill waits for the record, or has passed it', async () => {
    const waiting = await ask(group.postgres, 'SELECT 1 FROM pg_locks WHERE NOT granted');
    return waiting.length > 0 || (await stateOf()) === 'done';
  });
  await other.query('COMMIT');
  await eventually('it is over', async () => (await stateOf()) === 'done');
  await group.receiver.waitForRequests(3);
  assert.deepEqual(new Set(sentBy(group)), new Set(ids.slice(1)));
  const states = group.receiver.requests.map(
    ({ headers, body: told }) =>
      `${JSON.parse(told.toString('utf8')).data.id} ${String(headers['x-service-sequence'])}`,
  );
  assert.equal(new Set(states).size, 3);
  assert.ok(states.includes(`${changed} 2`));
});

test('a backfill goes on at the node that takes its instance over, where it was', async (t) => {
  const group = await NodeGroup.open(t);
  const a = await group.start();
  const { ids, endpoint } = await prepare(group, a, 240);
  const body = { collection: 'posts', rate: 100 };
  const { id } = await group.get(a, `POST /api/webhooks/endpoints/${endpoint}/backfill`, body);
  await group.get(a, `POST /api/webhooks/endpoints/${endpoint}/resume`);
  await group.receiver.waitForRequests(50);
  const b = await group.start();
  await group.divided(a, 2);
  await a.stop();
  const over = await eventually('it is over', async () => {
    const replay = await group.get(b, `GET /api/webhooks/replays/${id}`);
    return replay.state === 'done' && replay.pending === 0 ? replay : undefined;
  });
  assert.deepEqual([over.taken, over.delivered], [240, 240]);
  const sent = sentBy(group);
  assert.deepEqual([sent.length, new Set(sent)], [240, new Set(ids)]);
});
