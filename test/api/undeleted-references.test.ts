// Both engines: relations are locked and released by SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longId, startBlog } from '../support/blog.ts';
import { FileStage } from '../support/file-stage.ts';
import { type Json, listOf } from '../support/webhook-service.ts';

test('an undelete names the records that the delete has changed or deleted, and brings back relations to those that are left', async (t) => {
  const { ask } = await startBlog(t);
  const [p1, ann, bob] = ['p1', 'ann', 'bob'].map((id) => longId(id));
  const comments = (await ask('GET', '/comments')).json;
  const fields = listOf(comments.fields).map((field) =>
    field.name === 'post' ? { ...field, cascadeDelete: true } : field,
  );
  assert.equal((await ask('PATCH', '/comments', { fields })).status, 200);
  // A change of the same comment by another request is not one of the delete.
  const c2 = `/comments/records/${longId('c2')}`;
  assert.equal((await ask('PATCH', c2, { stars: 4 })).status, 200);
  assert.equal((await ask('DELETE', `/posts/records/${p1}`)).status, 204);
  assert.equal((await ask('DELETE', `/people/records/${ann}`)).status, 204);
  const undeleted = (await ask('POST', `/posts/records/${p1}/revert`, { to: 1 })).json;
  assert.deepEqual(
    [undeleted.action, undeleted.record.readers, undeleted.record.author],
    ['created', [bob], ''],
  );
  const lost = listOf(undeleted.notRestored).map(
    ({ field, reason, values }) => `${field} ${reason} ${values}`,
  );
  assert.deepEqual(lost.filter((loss) => loss.includes('gone')).toSorted(), [
    `author relation_gone ${ann}`,
    `readers relation_gone ${ann}`,
  ]);
  const released = listOf(undeleted.released);
  assert.deepEqual(
    released.map(({ collection, record, kind }) => `${collection} ${record} ${kind}`).toSorted(),
    [`comments ${longId('c1')} record.delete`, `comments ${longId('c2')} record.delete`],
  );
  for (const { collection, record, event } of released) {
    const back = await ask('POST', `/${collection}/records/${record}/revert`, { to: event });
    assert.deepEqual([back.status, back.json.record.post], [200, p1]);
  }
  assert.equal((await ask('GET', c2)).json.stars, 4);
  const people = (await ask('POST', `/people/records/${ann}/revert`, { to: 1 })).json;
  const reduced: readonly Json[] = listOf(people.released);
  assert.ok(reduced.length > 0 && reduced.every(({ kind }) => kind === 'record.update'));
  // To the revision before, the reference is there again.
  const [one] = reduced.filter(({ collection }) => collection === 'posts');
  const { json } = await ask('POST', `/posts/records/${one.record}/revert`, { to: one.revision });
  assert.ok(JSON.stringify(json.record).includes(String(ann)));
});

test('a relation that a record must have and that is gone refuses its undelete, with the field', async (t) => {
  const { ask } = await startBlog(t);
  const fields = [
    { name: 'post', type: 'relation', collectionId: (await ask('GET', '/posts')).json.id, required: true },
  ];
  assert.equal((await ask('POST', '', { name: 'marks', fields })).status, 200);
  const mark = (await ask('POST', '/marks/records', { post: longId('p3') })).json;
  assert.equal((await ask('DELETE', `/marks/records/${mark.id}`)).status, 204);
  assert.equal((await ask('DELETE', `/posts/records/${longId('p3')}`)).status, 204);
  const refused = await ask('POST', `/marks/records/${mark.id}/revert`, { to: 1 });
  assert.deepEqual([refused.status, refused.json.data.post.code], [400, 'validation_required']);
  const values = { post: longId('p2') };
  const back = await ask('POST', `/marks/records/${mark.id}/revert`, { to: 1, values });
  assert.deepEqual([back.status, back.json.record.post], [200, longId('p2')]);
});

test('files that are left are restored, and those that were deleted are named', async (t) => {
  const stage = await FileStage.start(t);
  const { service } = stage;
  const docs = '/api/collections/docs/records';
  const send = async (method: string, path: string, body?: object): Promise<Json> => {
    const answer = await service.request(path, { method, token: true, ...(body && { body }) });
    assert.ok(answer.status < 300, answer.text);
    return answer.json;
  };
  const doc = (
    await stage.send('/collections/docs/records', [
      ['title', 'one'],
      ['photo', 'a photo', 'photo.txt'],
      ['papers', 'a', 'a.txt'],
      ['papers', 'b', 'b.txt'],
    ])
  ).json;
  const path = `${docs}/${doc.id}`;
  await send('PATCH', path, { title: 'two', papers: listOf(doc.papers).toReversed() });
  const reordered = await send('POST', `${path}/revert`, { to: 1 });
  assert.deepEqual([reordered.record.papers, reordered.notRestored], [doc.papers, []]);
  await send('PATCH', path, { title: 'three', photo: '', 'papers-': doc.papers[0] });
  const back = await send('POST', `${path}/revert`, { to: 1 });
  const { title, photo, papers } = back.record;
  // Not fewer than it has: the field is as it was.
  assert.deepEqual([title, photo, papers], ['one', '', [doc.papers[1]]]);
  assert.deepEqual(
    listOf(back.notRestored).map(({ field, reason, values }) => [field, reason, values]),
    [
      ['photo', 'file_gone', [doc.photo]],
      ['papers', 'file_gone', [doc.papers[0]]],
    ],
  );
  await send('DELETE', path);
  const made = await send('POST', `${path}/revert`, { to: 1 });
  assert.deepEqual([made.action, made.record.photo, made.record.papers], ['created', '', []]);
});
