import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { NodeGroup, posts } from './node-group.ts';

const records = '/api/collections/posts/records';
const written = 60;

test('what accounts are told is decided once for each change, while nodes come and go', async (t) => {
  const group = await NodeGroup.open(t);
  const a = await group.start();
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', { ...posts, viewRule: 'title != "secret"' });
  const password = 'correct horse';
  const account = { email: 'ann@example.com', password, passwordConfirm: password };
  const { id: ann } = await group.get(a, 'POST /api/collections/users/records', account);
  await group.get(a, 'PATCH /api/settings', { webhooks: { verifyAccountEndpoints: false } });
  await group.get(a, 'POST /api/webhooks/endpoints', { url: group.receiver.url, owner: `users/${ann}` });
  const nodes = [a, await group.start()];
  const titles: string[] = [];
  for (let count = 0; count < written; count += 1) {
    const title = count % 3 === 0 ? 'secret' : `title ${count}`;
    if (title !== 'secret') titles.push(title);
    const node = nodes[count % 2];
    assert.ok(node);
    await group.get(node, `POST ${records}`, { title });
    if (count % 20 !== 19) continue;
    // One after the other leaves and another one comes, so that the instance goes to another node at least once.
    await nodes.shift()?.stop();
    nodes.push(await group.start());
  }
  const sent = (): readonly string[] =>
    group.receiver.requests.map(({ body }) => String(JSON.parse(body.toString('utf8')).data.title));
  await eventually('all are told', () => new Set(sent()).size >= titles.length);
  assert.deepEqual(sent().toSorted(), titles.toSorted());
});
