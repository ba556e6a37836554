import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { onSlug } from '../support/on-slug.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { older, type ShownJob, target } from '../support/schema-stage.ts';
import { NodeGroup } from './node-group.ts';

const api = '/api/operator';

async function prepare(group: NodeGroup, node: App, count: number): Promise<readonly string[]> {
  group.token = (await makeOperatorKey({ app: node })).key;
  const slugs = Array.from({ length: count }, (_, at) => `old-${at}`);
  for (const slug of slugs) await group.get(node, `POST ${api}/instances`, { slug, collections: older });
  return slugs;
}

async function over(group: NodeGroup, node: App, id: string): Promise<ShownJob> {
  return eventually(
    'the job is over',
    async () => {
      const job: ShownJob = await group.get(node, `GET ${api}/schema/${id}`);
      return ['waiting', 'running'].includes(job.state) ? undefined : job;
    },
    120_000,
  );
}

/** How often the definition of `posts` was changed, by the audit log of each instance. */
async function changesOf(node: App, slugs: readonly string[]): Promise<readonly number[]> {
  const counts: number[] = [];
  for (const slug of slugs)
    counts.push(
      await onSlug(node.data, slug, async ({ database: { names }, database }) => {
        const [row] = await database.tuples(sql`
          SELECT count(*) FROM ${names.table('$audit')} WHERE ${names.instance.condition} AND action = 'collection.update'`);
        return Number(row?.[0]);
      }),
    );
  return counts;
}

test('of two nodes one works on a job, and each instance is changed once, whichever loses its lease', async (t) => {
  const group = await NodeGroup.open(t);
  const [one, two] = [await group.start(), await group.start()];
  const slugs = await prepare(group, one, 24);
  const body = { instances: slugs, collections: target };
  const { id }: ShownJob = await group.get(one, `PUT ${api}/schema`, body);
  const { id: next }: ShownJob = await group.get(two, `PUT ${api}/schema`, body);
  const { control } = one.data.home;
  for (const done of [2, 8, 14]) {
    await eventually(`${done} instances are done`, async () => {
      const job: ShownJob = await group.get(two, `GET ${api}/schema/${id}`);
      return Number(job['done']) >= done;
    });
    // As if its holder had stood still for longer than its lease: another node goes on while that still works.
    await control.write((tx) =>
      tx.run(sql`UPDATE ${tx.names.table('$schema_job')} SET held_until = 0 WHERE state = 'running'`),
    );
  }
  assert.deepEqual(
    [(await over(group, one, id)).state, (await over(group, two, next)).state],
    ['done', 'done'],
  );
  const job: ShownJob = await group.get(one, `GET ${api}/schema/${next}`);
  assert.equal(job['unchanged'], 24);
  assert.deepEqual(
    await changesOf(one, slugs),
    slugs.map(() => 1),
  );
  const { items } = await group.get(one, `GET ${api}/schema/${id}/results?perPage=100`);
  const states: readonly { readonly state: string }[] = items;
  assert.deepEqual(new Set(states.map(({ state }) => state)), new Set(['changed']));
});

test('a node goes on at once with the job of a node that stops', async (t) => {
  const group = await NodeGroup.open(t);
  const one = await group.start();
  const slugs = await prepare(group, one, 16);
  const { id }: ShownJob = await group.get(one, `PUT ${api}/schema`, {
    instances: slugs,
    collections: target,
  });
  const two = await group.start();
  await eventually('it has begun', async () => {
    const job: ShownJob = await group.get(two, `GET ${api}/schema/${id}`);
    return job.state !== 'waiting';
  });
  await one.stop();
  assert.equal((await over(group, two, id)).state, 'done');
  assert.deepEqual(
    await changesOf(two, slugs),
    slugs.map(() => 1),
  );
});
