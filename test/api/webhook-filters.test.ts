// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { recordedDatabase } from '../plans/recorded-database.ts';
import { allDecided } from '../support/all-decided.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';

test('an endpoint with a filter is told of the changes that leave what meets it', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ order: 'strict', filter: 'rank > 5 && title ~ "a"' });
  await service.call('POST', posts, { body: { title: 'a', rank: 5 } });
  const { id } = await service.call('POST', posts, { body: { title: 'abc', rank: 6 } });
  await service.call('PATCH', `${posts}/${id}`, { body: { rank: 1 } });
  await service.call('PATCH', `${posts}/${id}`, { body: { rank: 9 } });
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  const told = await toldIn(service, 3);
  assert.deepEqual(
    told.map(({ event, data }) => [event, data.rank]),
    [
      ['record.create', 6],
      ['record.update', 9],
      ['record.delete', 9],
    ],
  );
});

test('a filter may ask what the state was before, and what has changed', async (t) => {
  const service = await startWebhookService(t);
  const became = await addFiltered(service, 'title:changed = true && title = "paid"');
  const left = await addFiltered(service, '@old.title = "paid" && title != "paid"');
  const unseen = await addFiltered(service, '@old.note != note');
  const deep = await addFiltered(service, 'extra:changed = true && @old.extra.level < extra.level');
  const { id } = await service.call('POST', posts, { body: { title: 'new', extra: { level: 1 } } });
  const change = (body: object): Promise<Json> => service.call('PATCH', `${posts}/${id}`, { body });
  await change({ title: 'paid' });
  await change({ rank: 1 });
  await change({ title: 'sent', note: 'hidden' });
  await change({ extra: { level: 2 } });
  await change({ extra: { level: 0 } });
  const made = await service.call('POST', posts, { body: { title: 'paid' } });
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  assert.deepEqual(await toldTo(service, became), [`update 2 ${id}`, `create 1 ${made.id}`]);
  assert.deepEqual(await toldTo(service, left), [`update 4 ${id}`]);
  assert.deepEqual(await toldTo(service, unseen), [`update 4 ${id}`]);
  assert.deepEqual(await toldTo(service, deep), [`update 5 ${id}`]);
});

test('a filter follows relations, as they are when the record is written', async (t) => {
  const service = await startWebhookService(t);
  const authors = await service.call('POST', '/api/collections', {
    body: { name: 'authors', type: 'base', fields: [{ name: 'name', type: 'text' }] },
  });
  const fields = [
    { name: 'author', type: 'relation', collectionId: authors.id, maxSelect: 1 },
    { name: 'others', type: 'relation', collectionId: authors.id, maxSelect: 9 },
  ];
  await service.call('POST', '/api/collections', { body: { name: 'books', type: 'base', fields } });
  const add = (name: string): Promise<Json> =>
    service.call('POST', '/api/collections/authors/records', { body: { name } });
  const [ada, ben] = [await add('Ada'), await add('Ben')];
  const one = await addFiltered(service, 'author.name = "Ada"', ['books']);
  const before = await addFiltered(service, '@old.author.name = "Ada" && author:changed = true', ['books']);
  const any = await addFiltered(service, 'others.name ?= "Ben" || @old.others:length > others:length', [
    'books',
  ]);
  const books = '/api/collections/books/records';
  const { id } = await service.call('POST', books, { body: { author: ada.id } });
  await service.call('PATCH', `${books}/${id}`, { body: { author: ben.id } });
  await service.call('PATCH', `${books}/${id}`, { body: { others: [ada.id, ben.id] } });
  await service.call('PATCH', `${books}/${id}`, { body: { others: [] } });
  assert.deepEqual(await toldTo(service, one), [`create 1 ${id}`]);
  assert.deepEqual(await toldTo(service, before), [`update 2 ${id}`]);
  assert.deepEqual(await toldTo(service, any), [`update 3 ${id}`, `update 4 ${id}`]);
});

test('a filter that cannot be asked is refused, with where it is wrong', async (t) => {
  const service = await startWebhookService(t);
  for (const [settings, message] of [
    [{ filter: 'rank >' }, /position/],
    [{ filter: 'rnak > 1', collections: ['posts'] }, /Unknown field "rnak" at position 0/],
    [{ filter: 'absent > 1' }, /Unknown field "absent"/],
    [{ filter: '@request.auth.id != ""' }, /Unknown macro/],
    [{ filter: '@collection.posts.title = title' }, /Unknown macro/],
    [{ filter: '@old.absent = 1', collections: ['posts'] }, /Unknown macro "@old.absent"/],
    [{ filter: '@old.title:changed = true' }, /:changed/],
    [{ filter: 'title:changed' }, /position/],
    [{ filter: 'x'.repeat(4_000) }, /characters/],
    [{ filter: 7 }, /text/],
    [{ filter: 'rank > 1', collections: ['posts', 'users'] }, /Unknown field "rank"/],
  ] as const) {
    const body = { url: service.receiver.url, ...settings };
    const answer = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
    assert.match(answer.data.filter?.message ?? '', message, JSON.stringify([settings, answer]));
  }
  // One for all collections has to fit one of them, and is told of no other.
  const all = await addFiltered(service, 'rank > 1', []);
  await service.call('POST', posts, { body: { rank: 2 } });
  await signUp(service, 'mia');
  assert.deepEqual((await toldTo(service, all)).length, 1);
  assert.equal((await service.call('GET', `/api/webhooks/endpoints/${all}`)).filter, 'rank > 1');
});

test('a change of definitions that breaks a filter pauses its endpoint, which loses nothing', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint({ filter: 'rank > 5', collections: ['posts'] });
  const other = await service.addEndpoint({ filter: 'title != ""', collections: ['posts'] });
  const definition = await service.call('GET', '/api/collections/posts');
  const fields = listOf(definition.fields).map((field) =>
    field.name === 'rank' ? { ...field, name: 'priority' } : field,
  );
  await service.call('PATCH', '/api/collections/posts', { body: { fields } });
  const path = `/api/webhooks/endpoints/${id}`;
  const broken = await service.call('GET', path);
  assert.equal(broken.status, 'paused');
  assert.equal(
    broken.statusReason,
    'Its filter cannot be used any more: Unknown field "rank" at position 0.',
  );
  assert.equal((await service.call('GET', `/api/webhooks/endpoints/${other.id}`)).status, 'active');
  assert.ok(service.log.some(({ message }) => /paused/i.test(message)));
  const kept = await service.call('POST', posts, { body: { title: '', priority: 1 } });
  const refused = await service.call('POST', `${path}/resume`, { body: {}, status: 409 });
  assert.match(refused.message, /Its filter cannot be used: Unknown field "rank"/);
  await service.call('PATCH', path, { body: { filter: 'priority > 5' } });
  await service.call('POST', `${path}/resume`, { body: {} });
  const [request] = await service.receiver.waitForRequests(1);
  assert.equal(JSON.parse(String(request?.body)).data.id, kept.id);
});

test('an import that breaks a filter pauses its endpoint as well', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint({ filter: 'rank > 5' });
  const definition = await service.call('GET', '/api/collections/posts');
  const fields = listOf(definition.fields).filter(({ name }) => name !== 'rank');
  const body = { collections: [{ ...definition, fields }], deleteMissing: true };
  await service.call('PUT', '/api/collections/import', { body, status: 204 });
  assert.equal((await service.call('GET', `/api/webhooks/endpoints/${id}`)).status, 'paused');
});

test('all filters of a collection are asked by one statement for each change, and none where there is none', async (t) => {
  const texts: string[] = [];
  const wrapDatabase = (database: Database): Database =>
    recordedDatabase(database, ({ text }) => void texts.push(text));
  const service = await startWebhookService(t, { parts: { wrapDatabase } });
  const asked = async (): Promise<number> => {
    // The first write after a change of endpoints may be repeated, as it reads them again.
    await service.addPost();
    texts.length = 0;
    await service.addPost();
    return texts.filter((text) => text.includes('$before')).length;
  };
  await service.addEndpoint({ collections: ['posts'] });
  await service.addEndpoint({ collections: ['users'], filter: 'email != ""' });
  assert.equal(await asked(), 0);
  for (const rank of [1, 2, 3]) await service.addEndpoint({ filter: `rank > ${rank}` });
  assert.equal(await asked(), 1);
});

test('a replay sends an endpoint with a filter nothing that it was not told of', async (t) => {
  const service = await startWebhookService(t);
  await service.call('POST', posts, { body: { rank: 9 } });
  const { id } = await service.addEndpoint({ filter: 'rank > 5 && rank:changed = true' });
  await service.call('POST', posts, { body: { rank: 1 } });
  const met = await service.call('POST', posts, { body: { rank: 7 } });
  await service.delivery('the delivery', ({ status }) => status === 'delivered');
  for (const scope of ['all', 'missing']) {
    const { total } = await service.call('POST', `/api/webhooks/endpoints/${id}/replay`, {
      body: { scope, dryRun: true },
    });
    assert.equal(total, scope === 'all' ? 1 : 0);
  }
  await service.call('POST', `/api/webhooks/endpoints/${id}/replay`, { body: { scope: 'all' } });
  const again = (await service.receiver.waitForRequests(2)).map(
    ({ body }) => JSON.parse(String(body)).data.id,
  );
  assert.deepEqual(again, [met.id, met.id]);
});

test('where only what is told is kept, a change that no filter lets through is not', async (t) => {
  const service = await startWebhookService(t);
  await service.call('PATCH', '/api/settings', { body: { webhooks: { events: 'when told' } } });
  await service.addEndpoint({ filter: 'rank > 5' });
  await service.call('POST', posts, { body: { rank: 1 } });
  await service.call('POST', posts, { body: { rank: 6 } });
  const { items } = await service.call('GET', '/api/webhooks/events');
  assert.equal(listOf(items).length, 1);
});

test('an endpoint with an owner is told only of what its owner may view at the time', async (t) => {
  const service = await startWebhookService(t);
  const [mia, leo] = [await signUp(service, 'mia'), await signUp(service, 'leo')];
  const viewRule = 'isPublic = true || title = @request.auth.id';
  await service.call('PATCH', '/api/collections/posts', { body: { viewRule } });
  await service.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: false } } });
  const { id: endpoint, owner } = await service.addEndpoint({
    owner: `users/${mia}`,
    collections: ['posts'],
  });
  assert.equal(owner, `_pb_users_auth_/${mia}`);
  const own = await service.call('POST', posts, { body: { title: mia } });
  await service.call('POST', posts, { body: { title: leo } });
  const open = await service.call('POST', posts, { body: { isPublic: true } });
  await service.call('PATCH', `${posts}/${open.id}`, { body: { isPublic: false } });
  await service.call('DELETE', `${posts}/${own.id}`, { status: 204 });
  await allDecided(service);
  assert.deepEqual(await toldTo(service, endpoint), [
    `create 1 ${own.id}`,
    `create 1 ${open.id}`,
    `delete 2 ${own.id}`,
  ]);
  await service.call('PATCH', '/api/collections/posts', { body: { viewRule: null } });
  await service.call('POST', posts, { body: { title: mia, isPublic: true } });
  await allDecided(service);
  await service.call('PATCH', '/api/collections/posts', { body: { viewRule: '' } });
  await service.call('DELETE', `/api/collections/users/records/${mia}`, { status: 204 });
  await service.call('POST', posts, { body: { title: mia, isPublic: true } });
  await allDecided(service);
  assert.equal((await toldTo(service, endpoint)).length, 3);
});

test('an owner is an account that exists, and asks nothing of what it may not have seen', async (t) => {
  const service = await startWebhookService(t);
  const mia = await signUp(service, 'mia');
  const owner = `users/${mia}`;
  for (const [settings, member] of [
    [{ owner: 'users/absent000000000' }, 'owner'],
    [{ owner: `posts/${mia}` }, 'owner'],
    [{ owner: `_superusers/${mia}` }, 'owner'],
    [{ owner: mia }, 'owner'],
    [{ owner: 7 }, 'owner'],
    [{ owner, payload: 'previous' }, 'payload'],
    [{ owner, filter: '@old.title = "x"', collections: ['posts'] }, 'filter'],
    [{ owner, filter: 'note = "x"', collections: ['posts'] }, 'filter'],
  ] as const) {
    const body = { url: service.receiver.url, ...settings };
    const answer = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
    assert.deepEqual(Object.keys(answer.data), [member], JSON.stringify(settings));
  }
});

test('an owner is not told who has made a change, nor an address that an account hides', async (t) => {
  const service = await startWebhookService(t);
  await service.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: false } } });
  const mia = await signUp(service, 'mia');
  await service.call('PATCH', '/api/collections/users', { body: { viewRule: '' } });
  await service.addEndpoint({ owner: `users/${mia}`, collections: ['users'], order: 'strict' });
  await signUp(service, 'leo');
  await service.call('PATCH', `/api/collections/users/records/${mia}`, { body: { name: 'Mia' } });
  const [ofLeo, ofMia] = await service.receiver.waitForRequests(2);
  assert.deepEqual(
    [ofLeo?.headers['x-service-actor'], ofMia?.headers['x-service-actor']],
    [undefined, undefined],
  );
  assert.equal('email' in bodyOf(ofLeo).data, false);
  assert.equal(bodyOf(ofMia).data.email, 'mia@example.com');
});

test('a filter is tested with the last changes of a collection, as an endpoint would have been told of them', async (t) => {
  const service = await startWebhookService(t);
  const run = (filter: string, collection = 'posts'): Promise<Json> =>
    service.call('POST', '/api/webhooks/filters/test', { body: { filter, collection } });
  assert.deepEqual(await run('rank > 1'), { items: [], met: 0, warnings: [] });
  const { id } = await service.call('POST', posts, { body: { title: 'new', rank: 2, note: 'a' } });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'paid' } });
  await service.call('PATCH', `${posts}/${id}`, { body: { note: 'b' } });
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  await signUp(service, 'mia');
  const verdicts = async (filter: string): Promise<readonly unknown[]> =>
    listOf((await run(filter)).items).map(({ isMet }) => isMet);
  assert.deepEqual(await verdicts('title:changed = true && title = "paid"'), [false, false, true, false]);
  assert.deepEqual(await verdicts('@old.note = "a"'), [false, true, true, false]);
  assert.deepEqual(await verdicts('rank = 2'), [true, true, true, true]);
  const { items, met } = await run('@old.title = "new"');
  assert.equal(met, 1);
  const { id: event, created, ...rest } = items[2];
  assert.deepEqual(rest, { kind: 'record.update', record: id, revision: 2, isMet: true });
  assert.equal((await service.call('GET', `/api/webhooks/events/${event}`)).created, created);
  // Made again: the state before is that of the record of this time.
  await service.call('POST', posts, { body: { id, title: 'other' } });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'last' } });
  assert.deepEqual((await verdicts('@old.title = "other"')).slice(0, 2), [true, false]);
  for (let made = 0; made < 100; made += 1) await service.addPost();
  assert.equal((await run('rank = 0')).met, 100);
});

test('a filter test refuses what an endpoint would refuse, and what is no filter test', async (t) => {
  const service = await startWebhookService(t);
  for (const [body, member] of [
    [{ filter: 'absent = 1', collection: 'posts' }, 'filter'],
    [{ filter: '@request.method = 1', collection: 'posts' }, 'filter'],
    [{ filter: '', collection: 'posts' }, 'filter'],
    [{ filter: 7, collection: 'posts' }, 'filter'],
    [{ filter: 'rank = 1' }, 'collection'],
    [{ filter: 'rank = 1', collection: 'absent' }, 'collection'],
    [{ filter: 'rank = 1', collection: 'posts', more: 1 }, 'more'],
  ] as const) {
    const answer = await service.call('POST', '/api/webhooks/filters/test', { body, status: 400 });
    assert.deepEqual(Object.keys(answer.data), [member], JSON.stringify(body));
  }
});

async function addFiltered(
  service: WebhookService,
  filter: string,
  collections: readonly string[] = ['posts'],
): Promise<string> {
  const { id } = await service.addEndpoint({ filter, collections });
  return id;
}

async function signUp(service: WebhookService, name: string): Promise<string> {
  const account = {
    email: `${name}@example.com`,
    password: 'correct horse',
    passwordConfirm: 'correct horse',
  };
  return (await service.call('POST', '/api/collections/users/records', { body: account })).id;
}

/** What an endpoint is told of, in the order of the log: `update 2 <id of the record>`. */
async function toldTo(service: WebhookService, endpoint: string): Promise<readonly string[]> {
  return service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const rows = await database.tuples(sql`
      SELECT e.kind, e.revision, e.record FROM ${names.table('$delivery')} d
      JOIN ${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.position = d.event
      JOIN ${names.table('$endpoint')} p ON ${names.instance.conditionOf('p')} AND p.position = d.endpoint
      WHERE ${names.instance.conditionOf('d')} AND p.id = ${endpoint} ORDER BY d.event`);
    return rows.map(
      ([kind, revision, record]) =>
        `${String(kind).slice('record.'.length)} ${Number(revision)} ${String(record)}`,
    );
  });
}

async function toldIn(service: WebhookService, count: number): Promise<readonly Json[]> {
  return (await service.receiver.waitForRequests(count)).map(bodyOf);
}

function bodyOf(request: ReceivedRequest | undefined): Json {
  return JSON.parse(String(request?.body));
}
