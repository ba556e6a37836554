import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeGroup } from './node-group.ts';

const at = '/api/collections/things/records';
const id = 'aaaaaaaaaaaaaaa';

test('what a node knows of a record is not shown once another node has changed it', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  const fields = [{ name: 'title', type: 'text' }];
  await group.get(a, 'POST /api/collections', { name: 'things', fields });
  const seenBy = async (app: typeof a): Promise<readonly unknown[]> => {
    const { json: view } = await group.ask(app, `GET ${at}/${id}`);
    const list = await group.get(app, `GET ${at}`);
    const items: readonly { readonly title: string }[] = list.items;
    return [view.title, items.map(({ title }) => title).join()];
  };
  for (const round of [1, 2, 3]) {
    // With the same id each time, and the same revisions.
    await group.get(a, `POST ${at}`, { id, title: `made ${round}` });
    for (const title of [`made ${round}`, `changed ${round}`]) {
      if (title.startsWith('changed')) await group.get(a, `PATCH ${at}/${id}`, { title });
      for (const app of [b, b, b, b, b, a, a, a, a, a]) assert.deepEqual(await seenBy(app), [title, title]);
    }
    await group.get(b, `DELETE ${at}/${id}`);
    for (const app of [a, b]) assert.deepEqual(await seenBy(app), [undefined, '']);
  }
  assert.deepEqual(group.log, []);
});

test('what a node knows of a collection is not shown of another that is made under its name', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  const fields = [{ name: 'title', type: 'text' }];
  for (const title of ['first', 'second', 'third']) {
    await group.get(a, 'POST /api/collections', { name: 'things', fields });
    await group.get(a, `POST ${at}`, { title });
    // One that has been told of it at last, or has not been told yet: never what it knew before.
    for (let asked = 0; asked < 10; asked += 1) {
      const { json } = await group.ask(b, `GET ${at}`);
      // Of a list, unless the collection is not known.
      const items = (json.items ?? []) as readonly { readonly title: string }[];
      for (const item of items) assert.equal(item.title, title);
    }
    await group.get(a, 'DELETE /api/collections/things');
  }
});
