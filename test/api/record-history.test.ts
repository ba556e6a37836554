// Both engines: the history of records is read from the log, and reverts write by it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noteTrimmed } from '../../src/events/trimmed.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import type { TestAnswer } from '../support/service.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';

async function history(service: WebhookService, id: string): Promise<readonly Json[]> {
  return listOf((await service.call('GET', `${posts}/${id}/history`)).items);
}

function reasonsOf(reverted: Json): Readonly<Record<string, string>> {
  return Object.fromEntries(listOf(reverted.notRestored).map(({ field, reason }) => [field, reason]));
}

async function addPost(service: WebhookService, body: object): Promise<Json> {
  return service.call('POST', posts, { body, status: 201 });
}

test('the history of a record has every change with its values, the newest first, hidden ones too, in pages', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await addPost(service, { title: 'one', note: 'hidden', rank: 1 });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'two', rank: 2 } });
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  const first = await service.call('GET', `${posts}/${id}/history?perPage=2&cursor=`);
  assert.deepEqual([first.revision, first.trimmed, first.perPage], [0, '', 2]);
  const cursor = encodeURIComponent(first.nextCursor);
  const last = await service.call('GET', `${posts}/${id}/history?perPage=2&cursor=${cursor}`);
  assert.equal(last.nextCursor, null);
  const items = [...listOf(first.items), ...listOf(last.items)];
  assert.deepEqual(
    items.map(({ kind, revision, actor, changed, data }) => [kind, revision, actor, changed, data.title]),
    [
      ['record.delete', 3, 'superuser', [], 'two'],
      ['record.update', 2, 'superuser', ['title', 'rank'], 'two'],
      ['record.create', 1, 'superuser', [], 'one'],
    ],
  );
  assert.equal(items[2].data.note, 'hidden');
  const events = listOf(
    (await service.call('GET', `/api/webhooks/events?record=posts/${id}&sort=-created`)).items,
  );
  assert.deepEqual(
    items.map((item) => item.id),
    events.map((event) => event.id),
  );
  const other = await addPost(service, { title: 'other' });
  await service.call('GET', `${posts}/${other.id}/history?cursor=${cursor}`, { status: 400 });
  await service.call('GET', `${posts}/${'x'.repeat(15)}/history`, { status: 404 });
  await service.call('GET', '/api/collections/nowhere/records/x/history', { status: 404 });
  const { message } = await service.call('GET', '/api/collections/_superusers/records/x/history', {
    status: 400,
  });
  assert.equal(message, 'Changes of _superusers are not in the event log.');
});

test('a record is reverted to a revision, an event or a time by an ordinary update with its event and webhook', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint();
  const { id, created } = await addPost(service, {
    title: 'one',
    note: 'hidden',
    extra: { a: [1, '2'] },
    rank: 1,
  });
  await service.call('PATCH', `${posts}/${id}`, {
    body: { title: 'two', note: '', extra: 'text', rank: 0, isPublic: true },
  });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'three' } });
  const [third, second, first] = await history(service, id);
  const back = await service.call('POST', `${posts}/${id}/revert`, { body: { to: 1 } });
  assert.deepEqual(
    [back.action, back.from.event, back.from.revision, back.notRestored, back.released],
    ['updated', first.id, 1, [], []],
  );
  const { title, note, extra, rank, isPublic } = back.record;
  assert.deepEqual([title, note, extra, rank, isPublic], ['one', 'hidden', { a: [1, '2'] }, 1, false]);
  assert.equal(back.record.created, created);
  const again = await service.call('POST', `${posts}/${id}/revert`, { body: { to: '1' } });
  assert.equal(again.action, 'unchanged');
  const byEvent = await service.call('POST', `${posts}/${id}/revert`, { body: { to: second.id } });
  assert.deepEqual([byEvent.record.title, byEvent.record.extra], ['two', 'text']);
  const byTime = await service.call('POST', `${posts}/${id}/revert`, { body: { to: third.created } });
  assert.equal(byTime.record.title, 'three');
  const [newest] = await history(service, id);
  assert.deepEqual([newest.kind, newest.revision, newest.actor], ['record.update', 6, 'superuser']);
  await eventually(
    'all webhooks',
    async () => (await service.deliveries("status = 'delivered'")).length === 6,
  );
  const sent = service.receiver.requests.map(({ body }) => JSON.parse(body.toString()));
  assert.deepEqual(sent.map(({ data }) => String(data.title)).toSorted(), [
    'one',
    'one',
    'three',
    'three',
    'two',
    'two',
  ]);
  const values = { rank: 7 };
  const both = await service.call('POST', `${posts}/${id}/revert`, { body: { to: 1, values } });
  assert.deepEqual([both.record.title, both.record.rank], ['one', 7]);
});

test('a deleted record is created again with its id and values, and what the service sets anew is named', async (t) => {
  const service = await startWebhookService(t);
  await service.call('PATCH', '/api/collections/posts', {
    body: { fields: [...(await fieldsOf(service)), { name: 'made', type: 'autodate', onCreate: true }] },
  });
  const { id } = await addPost(service, { title: 'one', note: 'hidden' });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'two' } });
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  const [deletion] = await history(service, id);
  const late = await service.call('POST', `${posts}/${id}/revert`, {
    body: { to: deletion.created },
    status: 400,
  });
  assert.match(late.data.to.message, /^The record did not exist at that time: it was deleted at /);
  const back = await service.call('POST', `${posts}/${id}/revert`, { body: { to: deletion.id } });
  assert.deepEqual(
    [back.action, back.record.id, back.record.title, back.record.note],
    ['created', id, 'two', 'hidden'],
  );
  assert.deepEqual(reasonsOf(back), {
    created: 'set_by_service',
    updated: 'set_by_service',
    made: 'set_by_service',
  });
  const [newest] = await history(service, id);
  assert.deepEqual([newest.kind, newest.revision], ['record.create', 1]);
  assert.equal((await service.call('GET', `${posts}/${id}`)).title, 'two');
  // Of two events with the same revision the last counts.
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'three' } });
  const first = await service.call('POST', `${posts}/${id}/revert`, { body: { to: 1 } });
  assert.equal(first.record.title, 'two');
});

test('fields that were renamed, removed or retyped, or whose values are refused by now, stay as they are and are named', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await addPost(service, {
    title: 'one',
    rank: 500,
    isPublic: true,
    extra: '"[1]"',
    note: '007',
  });
  const fields = await fieldsOf(service);
  const changed = fields.flatMap((field) => {
    if (field.name === 'title') return [{ ...field, name: 'headline' }];
    if (field.name === 'rank') return [{ ...field, max: 100 }];
    return field.name === 'isPublic' ? [] : [field];
  });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'two', rank: 5, note: 'y' } });
  await redefine(service, changed);
  await redefine(service, [
    ...(await fieldsOf(service)),
    { name: 'isPublic', type: 'select', values: ['a'] },
  ]);
  const back = await service.call('POST', `${posts}/${id}/revert`, { body: { to: 1 } });
  const { headline, rank, note, isPublic, extra } = back.record;
  assert.deepEqual([headline, rank, note, isPublic, extra], ['two', 5, '007', '', '[1]']);
  assert.deepEqual(reasonsOf(back), {
    headline: 'not_in_event',
    rank: 'invalid',
    isPublic: 'invalid',
    title: 'unknown_field',
  });
  await redefine(
    service,
    (await fieldsOf(service)).filter(({ name }) => name !== 'note'),
  );
  await redefine(service, [...(await fieldsOf(service)), { name: 'note', type: 'number' }]);
  const retyped = await service.call('POST', `${posts}/${id}/revert`, { body: { to: 1 } });
  assert.deepEqual([reasonsOf(retyped)['note'], retyped.record.note], ['other_type', 0]);
  const open = (await fieldsOf(service)).filter(({ name }) => name !== 'headline');
  await service.call('PATCH', '/api/collections/posts', {
    body: { fields: [...open, { name: 'title', type: 'password' }] },
  });
  const first = (await history(service, id)).at(-1);
  assert.deepEqual([first.data.note, 'title' in first.data], ['007', false]);
  const last = await service.call('POST', `${posts}/${id}/revert`, { body: { to: 1 } });
  assert.equal(reasonsOf(last)['title'], 'secret');
});

async function redefine(service: WebhookService, fields: readonly Json[]): Promise<void> {
  await service.call('PATCH', '/api/collections/posts', { body: { fields } });
}

async function fieldsOf(service: WebhookService): Promise<readonly Json[]> {
  return listOf((await service.call('GET', '/api/collections/posts')).fields);
}

test('an account is created again with a password that nobody has, and secrets are in no history', async (t) => {
  const service = await startWebhookService(t);
  const users = '/api/collections/users/records';
  const secret = 'correct horse battery';
  const body = { email: 'ann@example.com', password: secret, passwordConfirm: secret, verified: true };
  const { id } = await service.call('POST', users, { body, status: 201 });
  await service.call('DELETE', `${users}/${id}`, { status: 204 });
  const past = await service.call('GET', `${users}/${id}/history`);
  assert.deepEqual(
    Object.keys(past.items[0].data).filter((name) => /password|token/i.test(name)),
    [],
  );
  const back = await service.call('POST', `${users}/${id}/revert`, { body: { to: past.items[0].id } });
  assert.deepEqual([back.record.email, back.record.verified], ['ann@example.com', true]);
  assert.deepEqual(reasonsOf(back), {
    password: 'secret',
    tokenKey: 'secret',
    created: 'set_by_service',
    updated: 'set_by_service',
  });
  const signIn = (password: string): Promise<Json> =>
    service.request('/api/collections/users/auth-with-password', {
      method: 'POST',
      body: { identity: 'ann@example.com', password },
    });
  assert.equal((await signIn(secret)).status, 400);
  await service.call('DELETE', `${users}/${id}`, { status: 204 });
  const values = { password: secret, passwordConfirm: secret };
  await service.call('POST', `${users}/${id}/revert`, { body: { to: past.items[0].id, values } });
  assert.equal((await signIn(secret)).status, 200);
});

test('a state that is expunged, not kept, of another record or unknown is refused with the reason and changes nothing', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await addPost(service, { title: 'one' });
  const other = await addPost(service, { title: 'other' });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'two' } });
  const [second, first] = await history(service, id);
  const [ofOther] = await history(service, String(other.id));
  await service.call('DELETE', `/api/webhooks/events/${first.id}/body`, { status: 204 });
  const refusal = async (to: unknown, record = id): Promise<string> => {
    const answer = await service.call('POST', `${posts}/${record}/revert`, { body: { to }, status: 400 });
    assert.equal(answer.message, 'Failed to revert record.');
    return String(answer.data.to.message);
  };
  assert.match(await refusal(1), /^The values of this event were expunged at 20/);
  assert.equal((await history(service, id))[1].data, null);
  assert.equal(await refusal(ofOther.id), 'There is no such event of this record.');
  assert.equal(await refusal(9), 'The event log has no revision 9 of this record.');
  assert.equal(
    await refusal('2001-01-01 00:00:00Z'),
    'The event log has no change of this record up to that time.',
  );
  for (const to of [undefined, null, '', 'now', {}, 0, 1.5])
    assert.match(await refusal(to), /^Expected the id of an event, a revision, or a date/);
  await service.call('POST', `${posts}/${'x'.repeat(15)}/revert`, { body: { to: 1 }, status: 404 });
  const misspelt = await service.call('POST', `${posts}/${id}/revert`, { body: { too: 1 }, status: 400 });
  assert.equal(misspelt.data.too.code, 'validation_unknown_field');
  // As the janitor does it after the retention.
  await service.withInstance('default', ({ database }) =>
    database.write(async (tx) => {
      const { names } = tx;
      const events = names.table('$event');
      await tx.run(sql`DELETE FROM ${events} WHERE ${names.instance.condition} AND id = ${String(first.id)}`);
      await noteTrimmed(tx, { position: 1, time: String(first.created) });
    }),
  );
  const notKept = `Events up to ${first.created} are not kept any more.`;
  assert.equal(await refusal(first.id), notKept);
  assert.equal(await refusal(1), `The event log has no revision 1 of this record. ${notKept}`);
  assert.equal(
    await refusal(first.created),
    `The event log has no change of this record up to that time. ${notKept}`,
  );
  const kept = await service.call('GET', `${posts}/${id}/history`);
  assert.deepEqual([kept.trimmed, kept.items.length, kept.items[0].id], [first.created, 1, second.id]);
  assert.equal((await service.call('GET', `${posts}/${id}`)).title, 'two');
});

test('a record that is larger than a webhook may be is reverted whole', async (t) => {
  const service = await startWebhookService(t);
  const extra = { long: 'x'.repeat(600_000) };
  const { id } = await addPost(service, { title: 'one', extra });
  await service.call('PATCH', `${posts}/${id}`, { body: { extra: null } });
  const back = await service.call('POST', `${posts}/${id}/revert`, { body: { to: 1 } });
  assert.deepEqual(back.record.extra, extra);
  const key = { 'idempotency-key': '"large"' };
  await service.call('PATCH', `${posts}/${id}`, { body: { extra: null } });
  const send = (): Promise<TestAnswer> =>
    service.request(`${posts}/${id}/revert`, { method: 'POST', token: true, body: { to: 1 }, headers: key });
  assert.deepEqual([(await send()).status, (await send()).headers.get('idempotent-replayed')], [200, 'true']);
});
