import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { readRecordQuota } from '../../src/collections/table-quotas.ts';
import { eventually } from '../support/eventually.ts';
import { onSlug } from '../support/on-slug.ts';
import { NodeGroup, posts } from './node-group.ts';

test('three nodes together create exactly as many records as the quota allows, and delete beside it', async (t) => {
  const group = await NodeGroup.open(t);
  const nodes = [await group.start(), await group.start(), await group.start()] as const;
  const [first] = nodes;
  await group.signIn(first);
  await group.get(first, 'POST /api/collections', posts);
  const read = (app: App): ReturnType<typeof readRecordQuota> =>
    onSlug(app.data, 'default', ({ database }) => readRecordQuota(database));
  const { directory } = first.data;
  const max = 90;
  await directory.setQuotas(directory.findBySlug('default')?.id ?? '', { records: max });
  await eventually('the database holds the quota', async () => (await read(first))?.max === max);
  const create = async (index: number): Promise<string | undefined> => {
    const { status, json } = await group.ask(nodes[index % 3]!, 'POST /api/records/posts', {
      title: `${index}`,
    });
    if (status !== 201) assert.deepEqual([status, Object.keys(json['data'] ?? {})], [400, ['quota']]);
    return status === 201 ? String(json['id']) : undefined;
  };
  const createMany = async (count: number): Promise<readonly string[]> => {
    const ids = await Promise.all(Array.from({ length: count }, (_, index) => create(index)));
    return ids.filter((id) => id !== undefined);
  };
  const ids = await createMany(150);
  assert.equal(ids.length, max);
  assert.deepEqual(await read(nodes[1]), { max, used: max });
  // Creates and deletes cross: what is deleted may or may not be free in time, and the count is right in the end.
  const deletes = ids
    .slice(0, 40)
    .map((id, index) => group.ask(nodes[index % 3]!, `DELETE /api/records/posts/${id}`));
  const more = await createMany(60);
  for (const { status } of await Promise.all(deletes)) assert.equal(status, 204);
  assert.ok(more.length <= 40);
  assert.deepEqual(await read(nodes[2]), { max, used: 50 + more.length });
  const { json } = await group.ask(first, 'GET /api/records/posts?filter=id!=""&perPage=1');
  assert.equal(json['totalItems'], 50 + more.length);
  assert.equal((await createMany(60)).length, 40 - more.length);
  // Much room is split into parts, and taken from all of them where it is needed.
  await directory.setQuotas(directory.findBySlug('default')?.id ?? '', { records: 20_000 });
  await eventually('the database holds more', async () => (await read(first))?.max === 20_000);
  assert.equal((await createMany(110)).length, 110);
  assert.deepEqual(await read(first), { max: 20_000, used: 200 });
  await directory.setQuotas(directory.findBySlug('default')?.id ?? '', { records: 250 });
  await eventually('the database holds less', async () => (await read(first))?.max === 250);
  assert.equal((await createMany(110)).length, 50);
});
