// Both engines: decisions append transitions behind locks of records, and reconciles ask view rules in SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Account } from '../support/accounts.ts';
import { add, type AccountStage, endpoints, openAccountStage, posts } from '../support/account-stage.ts';
import { allDecided } from '../support/all-decided.ts';
import { eventually } from '../support/eventually.ts';
import { copied, lineOf, reconciled, toldAll, toTold } from '../support/mirror-stage.ts';
import type { Json } from '../support/webhook-service.ts';

const mirror = { transitions: true, order: 'record' };

async function change({ service }: AccountStage, id: string, body: object): Promise<void> {
  await service.call('PATCH', `${posts}/${id}`, { body });
  await allDecided(service);
}

function rule({ service }: AccountStage, viewRule: string | null): Promise<Json> {
  return service.call('PATCH', '/api/collections/posts', { body: { viewRule } });
}

async function startMirror(
  stage: AccountStage,
  settings: object = {},
): Promise<Account & { readonly path: string }> {
  const account = await stage.account('ann');
  const { id } = await stage.own(account, { ...mirror, ...settings });
  // What is written while the first comparison runs may be sent by both.
  await reconciled(stage.service);
  return { ...account, path: `${endpoints}/${id}` };
}

function wire({ service }: AccountStage): string {
  return service.receiver.requests.map(({ body }) => body.toString()).join('\n');
}

test('an account is told when it may view a record, and when it may no more', async (t) => {
  const stage = await openAccountStage(t);
  await startMirror(stage);
  const id = await add(stage, 'draft', { isPublic: false });
  await change(stage, id, { title: 'first', isPublic: true });
  await change(stage, id, { title: 'second' });
  await toldAll(stage.service.receiver, 2);
  await change(stage, id, { title: 'secret', isPublic: false });
  await change(stage, id, { title: 'more secret' });
  await stage.service.call('DELETE', `${posts}/${id}`);
  await add(stage, 'other');
  const told = await toldAll(stage.service.receiver, 4);
  assert.deepEqual(told.map(lineOf).toSorted(), [
    'create other',
    'enter first',
    'leave second',
    'update second',
  ]);
  assert.doesNotMatch(wire(stage), /draft|secret/);
  await copied(stage.service, 'other');
});

test('a record that an account may view again is sent as it is then', async (t) => {
  const stage = await openAccountStage(t);
  await startMirror(stage);
  const id = await add(stage, 'first');
  await change(stage, id, { isPublic: false, title: 'secret' });
  await change(stage, id, { isPublic: true, title: 'third' });
  await copied(stage.service, 'third');
  await stage.service.call('DELETE', `${posts}/${id}`);
  await copied(stage.service, '');
  assert.doesNotMatch(wire(stage), /secret/);
});

test('states that were over before they were decided are not sent', async (t) => {
  const stage = await openAccountStage(t);
  const { service } = stage;
  await startMirror(stage);
  const id = await add(stage, 'seen');
  const draft = await add(stage, 'draft', { isPublic: false });
  await copied(service, 'seen');
  const patch = (url: string, body: object): object => ({ method: 'PATCH', url: `${posts}/${url}`, body });
  const requests = [
    patch(draft, { isPublic: true, title: 'moment' }),
    patch(draft, { isPublic: false, title: 'secret' }),
    patch(id, { isPublic: false, title: 'secret' }),
    { method: 'DELETE', url: `${posts}/${id}` },
  ];
  await service.call('POST', '/api/batch', { body: { requests } });
  await allDecided(service);
  await copied(service, '');
  const told = service.receiver.requests.map(toTold);
  assert.deepEqual(told.map(lineOf), ['create seen', 'leave seen']);
  assert.doesNotMatch(wire(stage), /draft|secret|moment/);
});

test('another view rule sends what it lets in, and takes back what it no longer does', async (t) => {
  const stage = await openAccountStage(t);
  await startMirror(stage);
  await add(stage, 'a', { rank: 1 });
  await add(stage, 'b', { rank: 2, isPublic: false });
  await copied(stage.service, 'a');
  await rule(stage, 'rank >= 2');
  await copied(stage.service, 'b');
  await rule(stage, null);
  await copied(stage.service, '');
  await rule(stage, '');
  await copied(stage.service, 'a b');
});

test('an account that becomes a member is sent what members may view, and told to delete it when it leaves', async (t) => {
  const stage = await openAccountStage(t);
  const { service } = stage;
  const { id: users } = await service.call('GET', '/api/collections/users');
  const user = { type: 'relation', name: 'user', collectionId: users, maxSelect: 1 };
  await service.call('POST', '/api/collections', { body: { name: 'members', fields: [user] } });
  await rule(stage, '@collection.members.user ?= @request.auth.id');
  const ann = await startMirror(stage);
  await add(stage, 'a');
  await allDecided(service);
  const members = '/api/collections/members/records';
  const { id } = await service.call('POST', members, { body: { user: ann.id } });
  await copied(service, 'a');
  await add(stage, 'b');
  await copied(service, 'a b');
  await service.call('DELETE', `${members}/${id}`);
  await copied(service, '');
});

test('a filter of an account chooses among what it may view', async (t) => {
  const stage = await openAccountStage(t);
  const { path } = await startMirror(stage, { filter: 'rank > 1' });
  await add(stage, 'a', { rank: 1 });
  await add(stage, 'b', { rank: 2 });
  await add(stage, 'hidden', { rank: 3, isPublic: false });
  await copied(stage.service, 'b');
  await stage.service.call('PATCH', path, { body: { filter: 'rank < 5' } });
  await copied(stage.service, 'a b');
  assert.doesNotMatch(wire(stage), /hidden/);
});

test('what waited while an account could view it is sent as it may be now', async (t) => {
  const stage = await openAccountStage(t);
  const { service } = stage;
  const { path } = await startMirror(stage);
  const id = await add(stage, 'gone');
  await copied(service, 'gone');
  await service.call('POST', `${path}/pause`);
  await add(stage, 'unseen');
  await service.call('DELETE', `${posts}/${id}`);
  await allDecided(service);
  await rule(stage, "title = 'nothing'");
  await service.call('POST', `${path}/resume`, { body: {} });
  await copied(service, '');
  assert.doesNotMatch(wire(stage), /unseen/);
  const late = service.receiver.requests.map(toTold).filter(({ kind }) => kind === 'record.delete');
  assert.deepEqual(
    late.map(({ data }) => data),
    [{ id }],
  );
  await rule(stage, '');
  await copied(service, 'unseen');
});

test('a state that was withheld is sent once the account may view it again', async (t) => {
  const stage = await openAccountStage(t);
  const { service } = stage;
  const { path } = await startMirror(stage);
  await service.call('POST', `${path}/pause`);
  await add(stage, 'withheld');
  await allDecided(service);
  await rule(stage, "title = 'nothing'");
  await service.call('POST', `${path}/resume`, { body: {} });
  await eventually('the delivery is over', async () => {
    const [first] = await service.deliveries();
    return first?.status === 'cancelled' ? true : undefined;
  });
  await rule(stage, '');
  await copied(service, 'withheld');
});

test('a state that is withheld when it is sent again is compared by itself', async (t) => {
  const stage = await openAccountStage(t);
  const { service } = stage;
  const { path } = await startMirror(stage);
  await add(stage, 'a');
  await copied(service, 'a');
  const sent = await service.deliveries("status = 'delivered'");
  await rule(stage, "title = 'nothing'");
  await copied(service, '');
  const isCompared = async (): Promise<boolean> => !(await service.call('GET', path)).reconciling;
  await eventually('the rule is followed', isCompared);
  const [again] = sent;
  await service.call('POST', `/api/webhooks/deliveries/${again?.id}/retry`, { body: {} });
  // No look of a test wakes the service.
  await eventually('it is withheld', async () => {
    return (await service.deliveries("status = 'cancelled'")).length === 1;
  });
  await eventually('what it lacks is compared', isCompared);
  await copied(service, '');
});

test('an account that is deleted is sent nothing more', async (t) => {
  const stage = await openAccountStage(t);
  const { service } = stage;
  const ann = await startMirror(stage);
  await add(stage, 'a');
  await copied(service, 'a');
  await service.call('DELETE', `/api/collections/users/records/${ann.id}`);
  await add(stage, 'b');
  await eventually('all is decided and sent', async () => {
    service.look();
    return (await service.deliveries("status = 'pending'")).length === 0 ? true : undefined;
  });
  assert.ok(!service.receiver.requests.map(toTold).some(({ data }) => data.title === 'b'));
});
