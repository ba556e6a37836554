import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { issueSetupToken } from '../../src/auth/set-up.ts';
import { listSuperusers } from '../../src/auth/superuser.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { onSlug } from '../support/on-slug.ts';
import { NodeGroup } from './node-group.ts';

test('the token of each node is good on all, and two who come to two nodes at once make one superuser', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  const tokens = [
    await onSlug(a.data, 'default', issueSetupToken),
    await onSlug(b.data, 'default', issueSetupToken),
  ];
  const password = 'correct horse';
  const setUp = async (app: App, at: number): Promise<number> => {
    const email = `number${at}@example.com`;
    const body = { token: tokens[at % 2], email, password, passwordConfirm: password };
    return (await group.ask(app, 'POST /api/setup', body)).status;
  };
  // Each comes to the node that did not print his token.
  const statuses = await Promise.all([setUp(b, 0), setUp(a, 1), setUp(b, 2), setUp(a, 3)]);
  assert.deepEqual(
    statuses.toSorted((one, other) => one - other),
    [204, 403, 403, 403],
  );
  assert.equal((await onSlug(a.data, 'default', listSuperusers)).length, 1);
  assert.equal(await onSlug(b.data, 'default', issueSetupToken), undefined);
  assert.deepEqual(group.log, []);
});

test('a token is told to be wrong also where another node has just changed definitions', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  const body = { token: 'wrong' };
  for (const name of ['one', 'two', 'three']) {
    assert.equal((await group.ask(b, 'POST /api/setup', body)).status, 403);
    await onSlug(a.data, 'default', (instance) =>
      createCollection({ ...instance, now: instance.clock.now() }, { name, fields: [] }),
    );
    assert.equal((await group.ask(b, 'POST /api/setup', body)).status, 403);
  }
});
