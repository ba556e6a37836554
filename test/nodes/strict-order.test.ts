import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { HeldSender, type SenderPort } from '../support/held-sender.ts';
import { ask } from '../support/postgres.ts';
import { beginElsewhere } from './begin-elsewhere.ts';
import { NodeGroup, posts } from './node-group.ts';

const records = '/api/collections/posts/records';

test('a strict order sends what is decided for an account while its lane is read', async (t) => {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const { databases, wrapDatabase } = faultyDatabases();
  const group = await NodeGroup.open(t);
  const node = await group.start(undefined, {}, { wrapSender, wrapDatabase });
  await group.signIn(node);
  const [database] = databases;
  assert.ok(database);
  await group.get(node, 'POST /api/collections', posts);
  const password = 'correct horse';
  const account = { email: 'ann@example.com', password, passwordConfirm: password };
  const { id: ann } = await group.get(node, 'POST /api/collections/users/records', account);
  const endpoint = {
    url: group.receiver.url,
    owner: `users/${ann}`,
    collections: ['posts'],
    order: 'strict',
  };
  await group.get(node, 'PATCH /api/settings', { webhooks: { verifyAccountEndpoints: false } });
  await group.get(node, 'POST /api/webhooks/endpoints', endpoint);
  await group.get(node, `POST ${records}`, { title: 'first' });
  await eventually('the first is sent', () => sender.given.length === 1);
  // As long as this transaction is open, no later event is safe, or decided.
  const other = await beginElsewhere(t, group.postgres);
  await group.get(node, `POST ${records}`, { title: 'second' });
  const release = database.holdReads('AS again');
  t.after(release);
  sender.succeed(sender.given.slice(0, 1));
  await eventually('the lane is read', () => database.heldCount > 0);
  await other.query('COMMIT');
  await eventually('the second is decided', async () => {
    return (await ask(group.postgres, 'SELECT 1 FROM chancery.delivery')).length === 2;
  });
  // Its lane is told right after the commit.
  await group.get(node, 'GET /api/webhooks/deliveries');
  release();
  await eventually('the second is sent', () => sender.given.length === 2);
});
