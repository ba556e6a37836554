import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeGroup } from './node-group.ts';

test('a key that was revoked through one node is refused by the other from the answer on', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  const { token } = group;
  const statusOn = async (app: typeof a, key: string): Promise<number> => {
    group.token = key;
    const { status } = await group.ask(app, 'GET /api/collections/users/records');
    group.token = token;
    return status;
  };
  for (let round = 0; round < 10; round += 1) {
    const made = await group.get(a, 'POST /api/keys', { name: 'x', scopes: ['records:read'] });
    assert.equal(await statusOn(b, made.key), 200);
    await group.get(a, `DELETE /api/keys/${made.id}`);
    assert.equal(await statusOn(b, made.key), 401);
    assert.equal(await statusOn(a, made.key), 401);
  }
  assert.deepEqual(group.log, []);
});

test('a key writes to the collection that it is bound to under the name that another node has given it', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  const { token } = group;
  const define = (name: string, id: string) => ({ id, name, fields: [{ name: 'title', type: 'text' }] });
  let ids: readonly [string, string] = ['collection_one', 'collection_two'];
  const collections = () => [define('things', ids[0]), define('others', ids[1])];
  await group.get(a, 'PUT /api/collections/import', { collections: collections() });
  const settings = { name: 'x', scopes: ['records:write'], collections: [ids[1]] };
  const { key } = await group.get(a, 'POST /api/keys', settings);
  const statusOf = async (): Promise<number> => {
    group.token = key;
    const { status } = await group.ask(b, 'POST /api/collections/things/records', { title: 'x' });
    group.token = token;
    return status;
  };
  for (const status of [201, 403, 201]) {
    // Known to the other node, as it makes it so itself.
    await group.get(b, 'PUT /api/collections/import', { collections: collections() });
    ids = [ids[1], ids[0]];
    await group.get(a, 'PUT /api/collections/import', { collections: collections() });
    assert.equal(await statusOf(), status);
  }
});
