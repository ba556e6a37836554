import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { issueSetupToken } from '../../src/auth/setup-token.ts';
import { listSuperusers } from '../../src/auth/superuser.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { NodeGroup } from './node-group.ts';

async function onDefault<Result>(app: App, work: (instance: Instance) => Promise<Result>): Promise<Result> {
  const entry = app.data.directory.findBySlug('default');
  assert.ok(entry);
  const loan = await app.data.instances.borrow(entry);
  return work(loan.instance).finally(() => loan.release());
}

test('the token of each node is good on all, and two who come to two nodes at once make one superuser', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  const tokens = [await onDefault(a, issueSetupToken), await onDefault(b, issueSetupToken)];
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
  assert.equal((await onDefault(a, listSuperusers)).length, 1);
  assert.equal(await onDefault(b, issueSetupToken), undefined);
  assert.deepEqual(group.log, []);
});
