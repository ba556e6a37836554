// Both engines: collections are tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { sql } from '../../src/sql/sql.ts';
import { CollectionStage } from '../support/collection-stage.ts';
import { createRecord } from '../support/write-records.ts';

const path = '/api/collections';

interface Note {
  readonly id: string;
  readonly parent: string;
}

test('S-10 a collection to which others refer is not deleted, whoever refers only to itself is', async (t) => {
  const stage = await CollectionStage.start(t);
  const { json: target } = await stage.create({ name: 'target' });
  const relation = (name: string): object => ({ name, type: 'relation', collectionId: target.id });
  await stage.change('target', { fields: [relation('parent')] });
  for (const name of ['one', 'two'])
    await stage.create({ name, fields: [relation('first'), relation('second')] });
  const refused = await stage.remove('target');
  assert.deepEqual(
    [refused.status, refused.json],
    [
      400,
      {
        data: {},
        message: 'Failed to delete collection probably due to existing reference in one, two.',
        status: 400,
      },
    ],
  );
  assert.equal((await stage.records('target')).status, 200);
  await stage.change('one', { fields: [] });
  assert.match((await stage.remove('target')).json.message, /reference in two\.$/);
  assert.equal((await stage.remove('two')).status, 204);
  assert.equal((await stage.remove('target')).status, 204);
});

test('a collection of accounts takes along what these have beside them, also by an import', async (t) => {
  const stage = await CollectionStage.start(t);
  const beside = {
    _externalAuths: { provider: 'elsewhere', providerId: '1' },
    _mfas: { method: 'password' },
    _otps: { password: '12345678', passwordConfirm: '12345678', sentTo: 'ann@example.com' },
    _authOrigins: { fingerprint: 'here' },
  };
  const names = Object.keys(beside);
  const password = 'correct horse';
  for (const name of ['members', 'staff']) {
    const { json } = await stage.create({ name, type: 'auth' });
    const account = { email: 'ann@example.com', password, passwordConfirm: password };
    const recordRef = (await stage.add(name, account)).json.id;
    for (const [companion, body] of Object.entries(beside)) {
      const { status, text } = await stage.add(companion, { ...body, collectionRef: json.id, recordRef });
      assert.equal(status, 201, text);
    }
  }
  const kept = async (): Promise<readonly number[]> => {
    const lists = await Promise.all(names.map((name) => stage.records(name)));
    const secrets = await stage.service.withInstance('default', ({ database }) =>
      database.tuples(
        sql`SELECT 1 FROM ${database.names.table('$secret')} WHERE ${database.names.instance.condition} AND record <> '' AND collection = ${'pbc_1638494021'}`,
      ),
    );
    return [...lists.map(({ json }) => json.totalItems), secrets.length];
  };
  assert.deepEqual(await kept(), [2, 2, 2, 2, 2]);
  assert.equal((await stage.remove('members')).status, 204);
  assert.deepEqual(await kept(), [1, 1, 1, 1, 1]);
  const body = { collections: [{ name: 'posts', type: 'base', fields: [] }], deleteMissing: true };
  const imported = await stage.service.request(`${path}/import`, { method: 'PUT', token: true, body });
  assert.equal(imported.status, 204, imported.text);
  assert.deepEqual(await kept(), [0, 0, 0, 0, 0]);
});

test('a truncated collection is empty and otherwise as it was; each record goes with its event, in order', async (t) => {
  const stage = await CollectionStage.start(t);
  const { service } = stage;
  const { json: made } = await stage.create({
    name: 'posts',
    fields: [{ name: 'n', type: 'number' }],
    indexes: ['CREATE UNIQUE INDEX one ON posts (n)'],
  });
  // More than one transaction's worth.
  const count = 450;
  await service.withInstance('default', async (instance) => {
    const root = ruleInputOfCaller({ kind: 'superuser', id: '' });
    const bodies = Array.from({ length: count }, (_, n) => ({ n }));
    for (const body of bodies.slice(0, 2)) await createRecord(instance, root, { collection: 'posts', body });
    await Promise.all(
      bodies.slice(2).map((body) => createRecord(instance, root, { collection: 'posts', body })),
    );
  });
  const before: readonly { readonly id: string }[] = (await stage.records('posts', 'perPage=1000')).json
    .items;
  assert.equal(before.length, count);
  const answer = await stage.remove('POSTS/truncate');
  assert.deepEqual([answer.status, answer.text], [204, '']);
  assert.equal((await stage.records('posts')).json.totalItems, 0);
  assert.deepEqual((await service.request(`${path}/posts`, { token: true })).json, made);
  const deleted = await service.withInstance('default', ({ database }) =>
    database.all(
      sql`SELECT record, revision, body FROM ${database.names.table('$event')} WHERE kind = 'record.delete' ORDER BY position`,
    ),
  );
  assert.deepEqual(
    deleted.map(({ record }) => record),
    before.map(({ id }) => id),
  );
  assert.ok(deleted.every(({ revision }) => Number(revision) === 2));
  // A BLOB on both engines.
  const last: unknown = JSON.parse(Buffer.from(deleted[0]?.['body'] as Uint8Array).toString());
  assert.ok(typeof last === 'object' && last !== null && 'data' in last);
  const { collectionId: _, collectionName: __, ...members } = Object(before[0]);
  assert.deepEqual(last.data, members);
  assert.equal((await stage.remove('posts/truncate')).status, 204);
  assert.equal((await stage.add('posts', { n: 1 })).status, 201);
});

test('a collection is not truncated while records of others refer to it; references among its own are no matter', async (t) => {
  const stage = await CollectionStage.start(t);
  const { json: target } = await stage.create({ name: 'target' });
  const relation = (name: string, maxSelect: number): object => ({
    name,
    type: 'relation',
    collectionId: target.id,
    maxSelect,
  });
  await stage.change('target', { fields: [relation('parent', 1)] });
  for (const [name, maxSelect] of [
    ['one', 1],
    ['many', 2],
    ['none', 1],
  ] as const)
    await stage.create({ name, fields: [relation('to', maxSelect)] });
  const { json: first } = await stage.add('target', {});
  assert.equal((await stage.add('target', { parent: first.id })).status, 201);
  const { json: single } = await stage.add('one', { to: first.id });
  const { json: multiple } = await stage.add('many', { to: [first.id] });
  for (const name of ['one', 'many', 'none']) assert.equal((await stage.add(name, {})).status, 201);
  const refused = await stage.remove('target/truncate');
  assert.deepEqual(
    [refused.status, refused.json.message],
    [400, 'Failed to truncate collection probably due to existing reference in one, many.'],
  );
  assert.equal((await stage.records('target')).json.totalItems, 2);
  await stage.remove(`one/records/${single.id}`);
  await stage.remove(`many/records/${multiple.id}`);
  assert.equal((await stage.remove('target/truncate')).status, 204);
  assert.equal((await stage.records('target')).json.totalItems, 0);
});

test('what is made while its collection is truncated is not left with the id of what is gone', async (t) => {
  const stage = await CollectionStage.start(t);
  const { json: notes } = await stage.create({ name: 'notes' });
  await stage.change('notes', { fields: [{ name: 'parent', type: 'relation', collectionId: notes.id }] });
  const create = { method: 'POST', url: `${path}/notes/records`, body: {} };
  // More than a transaction takes, so that the last goes later than the first.
  const requests = Array.from({ length: 50 }, () => create);
  let last = '';
  for (let round = 0; round < 9; round += 1) {
    const made = await stage.service.request('/api/batch', {
      method: 'POST',
      token: true,
      body: { requests },
    });
    assert.equal(made.status, 200, made.text);
    last = made.json[requests.length - 1].body.id;
  }
  const truncated = stage.remove('notes/truncate');
  let count = 0;
  while ((await stage.add('notes', { parent: last })).status === 201) {
    count += 1;
    // Until the last is gone, or the truncation has stopped because of these.
    if (await isSettled(truncated)) break;
  }
  const { status, json } = await truncated;
  if (status !== 204) assert.match(json.message, /probably due to existing reference in notes\.$/);
  // As the API answers.
  const left = (await stage.records('notes', 'perPage=1000')).json.items as readonly Note[];
  const ids = new Set(left.map(({ id }) => id));
  for (const { parent } of left) assert.ok(parent === '' || ids.has(parent), `${parent} is gone`);
  assert.ok(count > 0);
  // Asked again it goes on, behind what was made meanwhile.
  assert.equal((await stage.remove('notes/truncate')).status, 204);
  assert.equal((await stage.records('notes')).json.totalItems, 0);
});

test('truncating is for superusers, and not for the collection of superusers', async (t) => {
  const stage = await CollectionStage.start(t);
  await stage.create({ name: 'posts', deleteRule: '' });
  const guest = await stage.service.request(`${path}/posts/truncate`, { method: 'DELETE' });
  assert.equal(guest.status, 401);
  assert.equal((await stage.remove('nope/truncate')).status, 404);
  assert.equal((await stage.remove('_superusers/truncate')).status, 400);
  assert.equal((await stage.records('_superusers')).json.totalItems, 1);
  const other = await stage.service.request(`${path}/posts/truncate`, { method: 'POST', token: true });
  assert.deepEqual([other.status, other.headers.get('allow')], [405, 'DELETE, OPTIONS']);
});

/** Whether it is by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), turn(false)]);
}
