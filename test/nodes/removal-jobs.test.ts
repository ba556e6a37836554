import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../src/access/caller.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import type { App } from '../../src/app.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { onSlug } from '../support/on-slug.ts';
import { NodeGroup } from './node-group.ts';

const author = 'author000000001';
const count = 1_100;

/** Two nodes on one database, with posts that go with their author. */
async function openPair(t: Parameters<typeof NodeGroup.open>[0]): Promise<{
  readonly group: NodeGroup;
  readonly a: App;
  readonly b: App;
  readonly deletes: (node: App) => Promise<readonly [number, number]>;
}> {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', { id: 'authors', name: 'authors', type: 'base' });
  const relation = { type: 'relation', collectionId: 'authors', cascadeDelete: true };
  await group.get(a, 'POST /api/collections', {
    name: 'posts',
    type: 'base',
    fields: [{ name: 'author', ...relation }],
  });
  await group.get(a, 'POST /api/collections/authors/records', { id: author });
  for (let at = 0; at < count; at += 50) {
    const one = { method: 'POST', url: '/api/collections/posts/records', body: { author } };
    await group.get(a, 'POST /api/batch', { requests: Array.from({ length: 50 }, () => one) });
  }
  return {
    group,
    a,
    b,
    deletes: (node) =>
      onSlug(node.data, 'default', async ({ database }) => {
        const { names } = database;
        const [row] = await database.tuples(sql`
          SELECT count(*), count(DISTINCT record) FROM ${names.table('$event')} WHERE ${names.instance.condition} AND kind = 'record.delete'`);
        return [Number(row?.[0]), Number(row?.[1])];
      }),
  };
}

test('a delete in steps that a node has begun is finished by another one when that stops, each record once', async (t) => {
  const { group, a, b, deletes } = await openPair(t);
  const input = ruleInputOfCaller(operator);
  const { id } = await onSlug(a.data, 'default', (instance) =>
    a.data.removals.remove(instance, input, { collection: 'authors', id: author, waitMs: 0 }),
  );
  await eventually('it is under way', async () => (await group.get(a, `GET /api/jobs/${id}`)).found > 1);
  const answer = await group.ask(b, `DELETE /api/collections/authors/records/${author}`);
  assert.ok([204, 404, 409].includes(answer.status), JSON.stringify(answer));
  await a.stop();
  await eventually('the other has finished it', async () => {
    const { state } = await group.get(b, `GET /api/jobs/${id}`);
    return state === 'done';
  });
  assert.deepEqual(await deletes(b), [count + 1, count + 1]);
});

test('a record that two nodes are asked to delete is deleted once', async (t) => {
  const { group, a, b, deletes } = await openPair(t);
  const path = `DELETE /api/collections/authors/records/${author}`;
  const answers = await Promise.all([a, b].map((node) => group.ask(node, path)));
  for (const { status, json } of answers)
    assert.ok([202, 204, 404, 409].includes(status), JSON.stringify(json));
  await eventually('all are gone', async () => (await deletes(a))[1] === count + 1);
  assert.deepEqual(await deletes(b), [count + 1, count + 1]);
});
