// Both engines: hashes are rows beside those of records.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test, type TestContext } from 'node:test';
import type { Collection } from '../../src/collections/collection.ts';
import { clientKey } from '../../src/limits/rate-limiter.ts';
import { hashPasswords, passwordChanges } from '../../src/records/passwords.ts';
import { PasswordHasher } from '../../src/secrets/password.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventsOf } from '../support/events-of.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const passwords = new PasswordHasher();
const share = { instance: 'a', address: '' };
const records = '/api/collections/doors/records';
const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const pin = { id: 'pin', name: 'pin', type: 'password', min: 4, required: true };
const spare = { id: 'spare', name: 'spare', type: 'password', hidden: true };
const fields = [pin, { name: 'name', type: 'text' }, spare];

async function setUp(t: TestContext): Promise<TestService> {
  const service = await startService(t, { parts: { passwords } });
  const body = { name: 'doors', ...open, fields };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  return service;
}

function add(service: TestService, body: object, token?: true): Promise<TestAnswer> {
  return service.request(records, { method: 'POST', body, ...(token && { token }) });
}

function change(service: TestService, id: string, body: object): Promise<TestAnswer> {
  return service.request(`${records}/${id}`, { method: 'PATCH', body });
}

function redefine(service: TestService, body: object): Promise<TestAnswer> {
  return service.request('/api/collections/doors', { method: 'PATCH', token: true, body });
}

/** The secrets of the records of doors: `field:pin of abc…` to the hash. */
function secretsOf(service: TestService): Promise<ReadonlyMap<string, string>> {
  return service.withInstance('default', async ({ database, collections }) => {
    const rows = await database.all(
      sql`SELECT record, name, value FROM ${database.names.table('$secret')}
        WHERE ${database.names.instance.condition} AND collection = ${collections.get('doors').id}`,
    );
    return new Map(
      rows.map(({ record, name, value }) => [`${String(name)} of ${String(record)}`, String(value)]),
    );
  });
}

test('A13 a password is stored as a hash apart from its record, and is in no answer and no event', async (t) => {
  const service = await setUp(t);
  const made = await add(service, { name: 'front', pin: 'canary 1' });
  assert.equal(made.status, 201, made.text);
  const { id } = made.json;
  const secrets = await secretsOf(service);
  assert.deepEqual([...secrets.keys()], [`field:pin of ${id}`]);
  const hash = secrets.get(`field:pin of ${id}`) ?? '';
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  assert.equal(await passwords.verify('canary 1', hash, share), true);
  const changed = await change(service, id, { pin: 'canary 2' });
  assert.equal(changed.status, 200);
  assert.notEqual(changed.json.updated, undefined);
  const [changedHash] = (await secretsOf(service)).values();
  assert.equal(await passwords.verify('canary 2', changedHash, share), true);
  for (const token of [{}, { token: true } as const])
    for (const path of [records, `${records}/${id}`, `${records}?fields=*,pin,spare`, `${records}/${id}?fields=pin`]) {
      const shown = await service.request(path, token);
      assert.equal(shown.status, 200);
      assert.doesNotMatch(shown.text, /"pin"|"spare"|canary|argon2/, path);
    }
  assert.deepEqual(Object.keys(made.json), ['collectionId', 'collectionName', 'id', 'name', 'created', 'updated']);
  await service.request(`${records}/${id}`, { method: 'DELETE' });
  const events = await eventsOf(service, id);
  assert.deepEqual(events.map(({ kind, revision }) => `${kind} ${revision}`), ['record.create 1', 'record.update 2', 'record.delete 3']);
  assert.doesNotMatch(JSON.stringify(events), /pin|spare|canary|argon2/);
  assert.doesNotMatch(JSON.stringify(service.log), /canary|argon2/);
}); // prettier-ignore

// prettier-ignore

test('Q-23 no filter, sort or index reaches a password, nor does a superuser', async (t) => {
  const service = await setUp(t);
  await add(service, { name: 'a', pin: 'canary' });
  for (const query of ["filter=NAME~'$'", "filter=NAME=''", "filter=NAME!=''", 'filter=NAME=null', 'sort=NAME', 'sort=-NAME', "filter=NAME.a='x'", "filter=NAME:lower='x'"])
    for (const options of [{}, { token: true } as const])
      for (const name of ['pin', 'spare']) {
        const asked = await service.request(`${records}?${query.replace('NAME', name)}`, options);
        const unknown = await service.request(`${records}?${query.replace('NAME', 'nope')}`, options);
        assert.deepEqual([asked.status, asked.text], [400, unknown.text.replaceAll('nope', name)], query);
      }
  const indexed = await redefine(service, { indexes: ['CREATE INDEX on_pin ON doors (pin)'] });
  assert.deepEqual([indexed.status, indexed.json.data.indexes['0'].code], [400, 'validation_invalid_index_expression']);
  const other = await redefine(service, { indexes: ["CREATE INDEX on_name ON doors (name) WHERE pin = ''"] });
  assert.equal(other.status, 400);
}); // prettier-ignore

// prettier-ignore

test('Q-23 a rule knows of a password what was sent, and nothing of what is stored', async (t) => {
  const service = await setUp(t);
  const doors = (await service.request('/api/collections/doors', { token: true })).json.id;
  const keys = { name: 'keys', ...open, fields: [{ name: 'door', type: 'relation', collectionId: doors }] };
  const { json: made } = await service.request('/api/collections', { method: 'POST', token: true, body: keys });
  for (const rule of ["pin != ''", "spare = null", "keys_via_door.door.pin ~ '$'", "@collection.doors.pin ~ '$'"]) {
    const refused = await redefine(service, { listRule: rule });
    assert.deepEqual([refused.status, refused.json.data.listRule?.code], [400, 'validation_invalid_rule'], rule);
  }
  const related = await service.request(`/api/collections/${made.id}/records?filter=door.pin!=''`);
  assert.equal(related.status, 400);
  const rules = {
    createRule: "@request.body.pin = @request.body.again && name != ''",
    updateRule: '@request.body.pin:changed = false',
  };
  assert.equal((await redefine(service, rules)).status, 200);
  assert.equal((await add(service, { name: 'a', pin: 'first', again: 'other' })).status, 400);
  const door = await add(service, { name: 'a', pin: 'first', again: 'first' });
  assert.equal(door.status, 201, door.text);
  assert.equal((await change(service, door.json.id, { pin: 'first' })).status, 404);
  assert.equal((await change(service, door.json.id, { name: 'b' })).status, 200);
}); // prettier-ignore

// prettier-ignore

test('a password that is given is a change, one that is not stays, and an empty one goes', async (t) => {
  const service = await setUp(t);
  const { json } = await add(service, { name: 'a', pin: 'first', spare: 'ignored' });
  const before = await secretsOf(service);
  assert.deepEqual([...before.keys()], [`field:pin of ${json.id}`], 'to guests a hidden field is none');
  assert.equal((await change(service, json.id, { name: 'b', spare: 'ignored' })).status, 200);
  assert.deepEqual(await secretsOf(service), before);
  assert.equal((await change(service, json.id, { name: 'b' })).status, 200);
  assert.equal((await change(service, json.id, { pin: 'first' })).status, 200);
  const after = await secretsOf(service);
  assert.notDeepEqual(after, before, 'the same password has another salt');
  const revisions = (await eventsOf(service, json.id)).map(({ revision }) => revision);
  assert.deepEqual(revisions, [1, 2, 3]);
  const path = `${records}/${json.id}`;
  await service.request(path, { method: 'PATCH', token: true, body: { spare: 'second' } });
  assert.equal((await secretsOf(service)).size, 2);
  await service.request(path, { method: 'PATCH', token: true, body: { spare: '' } });
  assert.deepEqual(await secretsOf(service), after);
});

test('a refused password leaves no secret, no record and no event', async (t) => {
  const service = await setUp(t);
  for (const [body, code] of [
    [{}, 'validation_required'],
    [{ pin: '' }, 'validation_required'],
    [{ pin: null }, 'validation_required'],
    [{ pin: [] }, 'validation_unsupported_value_type'],
    [{ pin: 'abc' }, 'validation_min_text_constraint'],
    [{ pin: 'x'.repeat(513) }, 'validation_max_text_constraint'],
  ] as const) {
    const refused = await add(service, body);
    assert.deepEqual([refused.status, refused.json.data.pin?.code], [400, code]);
    assert.doesNotMatch(refused.text, /xxx/);
  }
  assert.equal((await add(service, { 'pin+': 'x' })).json.data['pin+'].code, 'validation_invalid_value');
  const { json } = await add(service, { pin: 1234 });
  for (const pinGiven of ['', 'abc'])
    assert.equal((await change(service, json.id, { pin: pinGiven, name: 'x' })).status, 400);
  const twin = await add(service, { id: json.id, pin: 'another' });
  assert.equal(twin.json.data.id.code, 'validation_not_unique');
  const [hash] = (await secretsOf(service)).values();
  assert.equal(await passwords.verify('1234', hash, share), true);
  assert.equal((await eventsOf(service, json.id)).length, 1);
});

test('the secrets of a password go with the record, with the field and with the collection', async (t) => {
  const service = await setUp(t);
  const [one, two] = [await add(service, { pin: 'first' }), await add(service, { pin: 'second', spare: 'third' }, true)];
  await service.request(`${records}/${one.json.id}`, { method: 'DELETE' });
  const left = [`field:pin of ${two.json.id}`, `field:spare of ${two.json.id}`];
  assert.deepEqual([...(await secretsOf(service)).keys()].toSorted(), left);
  // A rename is no new field.
  assert.equal((await redefine(service, { fields: [{ ...pin, name: 'code' }, spare] })).status, 200);
  assert.deepEqual([...(await secretsOf(service)).keys()].toSorted(), left);
  assert.equal((await change(service, two.json.id, { code: 'fourth' })).status, 200);
  assert.equal((await redefine(service, { fields: [spare] })).status, 200);
  assert.deepEqual([...(await secretsOf(service)).keys()], [`field:spare of ${two.json.id}`]);
  assert.equal((await redefine(service, { fields: [spare, pin] })).status, 200);
  assert.equal((await change(service, two.json.id, { name: 'x' })).status, 200, 'no old password comes back');
  assert.equal((await secretsOf(service)).size, 1);
  const { id } = (await service.request('/api/collections/doors', { token: true })).json;
  await service.request('/api/collections/doors', { method: 'DELETE', token: true });
  const rows = await service.withInstance('default', ({ database }) =>
    database.all(sql`SELECT name FROM ${database.names.table('$secret')} WHERE ${database.names.instance.condition} AND collection = ${id}`),
  );
  assert.deepEqual(rows, []);
}); // prettier-ignore

// prettier-ignore

test('a password may stand where other columns would be: as created, or in a swap of names', async (t) => {
  const service = await startService(t);
  const ask = (method: string, path: string, body: object): Promise<TestAnswer> =>
    service.request(`/api/collections${path}`, { method, token: true, body });
  const field = (id: string, name: string, type: string): object => ({ id, name, type });
  const made = await ask('POST', '', {
    name: 'odd',
    fields: [field('p', 'created', 'password'), field('q', 'b', 'password'), field('a', 'a', 'text')],
  });
  assert.equal(made.status, 200, made.text);
  const first = await ask('POST', '/odd/records', { created: 'x', a: 'kept', b: 'y' });
  assert.deepEqual(Object.keys(first.json).slice(2), ['id', 'a', 'updated']);
  const swapped = await ask('PATCH', '/odd', {
    fields: [field('p', 'created', 'password'), field('q', 'a', 'password'), field('a', 'b', 'text')],
  });
  assert.equal(swapped.status, 200, swapped.text);
  const shown = await service.request(`/api/collections/odd/records/${first.json.id}`, { token: true });
  assert.deepEqual([shown.json.a, shown.json.b], [undefined, 'kept']);
});

test('a definition that changes while the hash is made is a conflict, and then is followed', async (t) => {
  const service = await setUp(t);
  const body = { pin: 'first', name: 'long enough' };
  const collection = (): Promise<Collection> =>
    service.withInstance('default', async ({ collections }) => collections.get('doors'));
  const request = { body, isSuperuser: false, hashes: await hashPasswords(await collection(), { body, isSuperuser: false }, { hasher: passwords, share }) };
  assert.equal(passwordChanges(await collection(), request).length, 1);
  for (const fields of [[pin], [pin, { id: 'n', name: 'name', type: 'password' }]])
    assert.equal((await redefine(service, { fields })).status, 200);
  const after = await collection();
  assert.throws(() => passwordChanges(after, request), { code: 'conflict' });
  assert.equal((await add(service, body)).status, 201);
  assert.equal((await secretsOf(service)).size, 2);
}); // prettier-ignore

// prettier-ignore

test('passwords of a batch are set with its records, made and changed ones, or not at all', async (t) => {
  const service = await setUp(t);
  const [one, two] = ['a'.repeat(15), 'b'.repeat(15)];
  const requests = [
    { method: 'POST', url: records, body: { id: one, pin: 'first' } },
    { method: 'PUT', url: records, body: { id: two, pin: 'second' } },
    { method: 'PUT', url: records, body: { id: one, pin: 'third' } },
    { method: 'PATCH', url: `${records}/${two}`, body: { pin: 'fourth' } },
  ];
  const ask = (items: readonly object[]): Promise<TestAnswer> =>
    service.request('/api/batch', { method: 'POST', body: { requests: items } });
  const refused = await ask([...requests, { method: 'PATCH', url: `${records}/${one}`, body: { pin: 'abc' } }]);
  assert.equal(refused.status, 400, refused.text);
  assert.equal((await secretsOf(service)).size, 0);
  const done = await ask(requests);
  assert.equal(done.status, 200, done.text);
  const secrets = await secretsOf(service);
  assert.equal(await passwords.verify('third', secrets.get(`field:pin of ${one}`), share), true);
  assert.equal(await passwords.verify('fourth', secrets.get(`field:pin of ${two}`), share), true);
  const revisions = (await eventsOf(service, one)).map(({ revision }) => revision);
  assert.deepEqual(revisions, [1, 2]);
}); // prettier-ignore

// prettier-ignore

test('while no more hashes can wait a password is answered 503, and nothing is stored', async (t) => {
  const service = await setUp(t);
  await whileHashing(service, async () => {
    const refused = await add(service, { pin: 'first' });
    assert.deepEqual([refused.status, refused.headers.has('retry-after')], [503, true]);
  });
  assert.equal((await secretsOf(service)).size, 0);
  assert.equal((await add(service, { pin: 'first' })).status, 201);
});

test('no hash is made for who may not write, nor of what will be refused', async (t) => {
  const service = await setUp(t);
  await whileHashing(service, async () => {
    assert.equal((await add(service, { pin: 'abc' })).status, 400);
    assert.equal((await redefine(service, { createRule: null, updateRule: null })).status, 200);
    assert.equal((await add(service, { pin: 'first' })).status, 403);
    const body = { requests: [{ method: 'PUT', url: records, body: { pin: 'first' } }] };
    const upsert = await service.request('/api/batch', { method: 'POST', body });
    assert.match(upsert.text, /Only superusers can perform this action/);
  });
});

/** Work during which no hash can be made for the client of the service: as many run and wait as may, each followed by its next before anything else comes in. */
async function whileHashing(service: TestService, work: () => Promise<void>): Promise<void> {
  const instance = await service.withInstance('default', async ({ id }) => id);
  const share = { instance, address: clientKey(Uint8Array.of(127, 0, 0, 1)) };
  const shift = { isOver: false };
  const keepBusy = async (): Promise<void> => {
    while (!shift.isOver) await passwords.hash('x', share);
  };
  const busy = Promise.all(Array.from({ length: 50 + Math.min(availableParallelism(), 3) }, keepBusy));
  try {
    await work();
  } finally {
    shift.isOver = true;
    await busy;
  }
}
