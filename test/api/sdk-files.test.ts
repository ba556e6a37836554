import assert from 'node:assert/strict';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { eventually } from '../support/eventually.ts';
import { FileStage } from '../support/file-stage.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';

function file(content: string, name = `${content}.txt`): File {
  return new File([content], name);
}

test('the SDK creates records with files, from a form and from plain objects', async (t) => {
  const stage = await FileStage.start(t);
  const pb = await superuserSdk(stage.service);
  const docs = pb.collection('docs');
  const form = new FormData();
  form.append('title', '007');
  form.append('photo', file('a'));
  form.append('papers', file('b'));
  form.append('papers', file('c'));
  const fromForm = await docs.create(form);
  assert.equal(fromForm['title'], '007');
  assert.equal(String(await stage.content(fromForm.id, fromForm['photo'])), 'a');
  assert.equal(fromForm['papers'].length, 2);
  const plain = await docs.create({ title: 12, photo: new Blob(['blob']), papers: [file('d'), file('e')] });
  assert.equal(plain['title'], '12');
  assert.equal(String(await stage.content(plain.id, plain['photo'])), 'blob');
  assert.equal(String(await stage.content(plain.id, plain['papers'][1])), 'e');
  await stage.settled();
});

test('the SDK adds, keeps, removes and replaces files of a record', async (t) => {
  const stage = await FileStage.start(t);
  const pb = await superuserSdk(stage.service);
  const docs = pb.collection('docs');
  const { id, papers } = await docs.create({ papers: [file('a')] });
  const [a] = papers;
  const added = await docs.update(id, { 'papers+': file('b') });
  assert.equal(added['papers'][0], a);
  assert.match(added['papers'][1], /^b/);
  const mixed = await docs.update(id, { papers: [a, file('c')] });
  assert.equal(mixed['papers'][0], a);
  assert.match(mixed['papers'][1], /^c/);
  const prepended = await docs.update(id, { '+papers': [file('d')] });
  assert.match(prepended['papers'][0], /^d/);
  const removed = await docs.update(id, { 'papers-': [a] });
  assert.equal(removed['papers'].length, 2);
  const emptied = await docs.update(id, { papers: [], photo: file('e') });
  assert.deepEqual(emptied['papers'], []);
  const without = await docs.update(id, { photo: null });
  assert.equal(without['photo'], '');
  await stage.settled();
  assert.deepEqual(await stage.stored(), []);
  const refusal = await refusalOf(docs.update(id, { papers: [1, 2, 3, 4].map((n) => file(String(n))) }));
  assert.equal(refusal.response['data'].papers.code, 'validation_too_many_files');
});

test('the SDK sends files in a batch', async (t) => {
  const stage = await FileStage.start(t);
  const pb = await superuserSdk(stage.service);
  await pb.settings.update({ batch: { enabled: true } });
  const batch = pb.createBatch();
  const docs = batch.collection('docs');
  const id = 'c'.repeat(15);
  docs.create({ id, title: 'one', photo: file('a') });
  docs.update(id, { 'papers+': [file('b'), file('c')] });
  docs.upsert({ id, title: 'two', 'papers+': file('d') });
  const results = await batch.send();
  assert.deepEqual(
    results.map(({ status }) => status),
    [201, 200, 200],
  );
  const record = await pb.collection('docs').getOne(id);
  assert.equal(record['title'], 'two');
  assert.equal(String(await stage.content(id, record['photo'])), 'a');
  const papers: readonly string[] = record['papers'];
  const contents = await Promise.all(papers.map(async (name) => String(await stage.content(id, name))));
  assert.deepEqual(contents, ['b', 'c', 'd']);
  await stage.settled();
});

test('an account has a picture, which goes with it', async (t) => {
  const stage = await FileStage.start(t);
  const pb = await superuserSdk(stage.service);
  const users = await pb.collections.getOne('users');
  const avatar = { name: 'avatar', type: 'file', maxSelect: 1 };
  const rule = 'id = @request.auth.id';
  const fields: readonly { readonly name: string }[] = users.fields;
  await pb.collections.update('users', {
    fields: [...fields.filter(({ name }) => name !== 'avatar'), avatar],
    updateRule: rule,
    deleteRule: rule,
  });
  const guest = new PocketBase(stage.service.url);
  const account = { email: 'ann@example.com', password: '1234567890', passwordConfirm: '1234567890' };
  const ann = await guest.collection('users').create({ ...account, avatar: file('face') });
  await guest.collection('users').authWithPassword(account.email, account.password);
  const changed = await guest.collection('users').update(ann.id, { avatar: file('other face') });
  assert.match(changed['avatar'], /^other_face/);
  await eventually('the first face is gone', async () => (await stage.stored()).join() === changed['avatar']);
  await guest.collection('users').delete(ann.id);
  await stage.settled();
  assert.deepEqual(await stage.stored(), []);
});
