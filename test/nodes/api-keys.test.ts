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
