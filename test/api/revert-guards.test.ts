// Both engines: reverts and other writes lock rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../src/access/caller.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { AppError } from '../../src/base/errors.ts';
import { prepareRevert, revertRecord } from '../../src/records/revert-record.ts';
import { issueSuperuserToken } from '../support/issue-superuser-token.ts';
import { makeKey } from '../support/make-key.ts';
import type { TestAnswer } from '../support/service.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';

async function history(service: WebhookService, id: string): Promise<readonly Json[]> {
  return listOf((await service.call('GET', `${posts}/${id}/history`)).items);
}

async function addPost(service: WebhookService, body: object): Promise<Json> {
  return service.call('POST', posts, { body, status: 201 });
}

test('a revert never overwrites a change that it has not seen', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await addPost(service, { title: 'one' });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'two' } });
  const seen = (await service.request(`${posts}/${id}`, { token: true })).headers.get('etag') ?? '';
  const revert = (to: unknown, headers = {}): Promise<Json> =>
    service.request(`${posts}/${id}/revert`, { method: 'POST', token: true, body: { to }, headers });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'three' } });
  assert.equal((await revert(1, { 'if-match': seen })).status, 412);
  assert.equal((await service.call('GET', `${posts}/${id}`)).title, 'three');
  const now = (await service.request(`${posts}/${id}`, { token: true })).headers.get('etag') ?? '';
  const both = await Promise.all([revert(1, { 'if-match': now }), revert(2, { 'if-match': now })]);
  assert.deepEqual(
    both.map(({ status }) => Number(status)).toSorted((one, other) => one - other),
    [200, 412],
  );
  const { etag } = Object.fromEntries(both.find(({ status }) => status === 200).headers);
  assert.match(etag, /^"4-/);
  // Each update is either before the revert or refused, or it comes after: none is lost.
  for (let round = 0; round < 5; round += 1) {
    const [reverted] = await Promise.all([
      revert(1),
      service.call('PATCH', `${posts}/${id}`, { body: { 'rank+': 1, title: `update ${round}` } }),
    ]);
    assert.ok([200, 412].includes(reverted.status), reverted.text);
  }
  const revisions = (await history(service, id)).map(({ revision }) => revision);
  assert.deepEqual(
    revisions,
    revisions.map((_, at) => revisions.length - at),
  );
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  assert.equal((await revert(1, { 'if-match': '*' })).status, 412);
  const undeletes = await Promise.all([revert(1), revert(2)]);
  const statuses = undeletes.map(({ status }) => Number(status)).toSorted((one, other) => one - other);
  assert.ok(
    JSON.stringify(statuses) === '[200,412]' || JSON.stringify(statuses) === '[200,200]',
    String(statuses),
  );
  const creates = (await history(service, id)).filter(({ kind }) => kind === 'record.create');
  assert.equal(creates.length, 2);
});

test('what happens between the look at a record and its revert refuses the revert', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await addPost(service, { title: 'one' });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'two' } });
  /** Reverts to a revision, with `change` after everything was looked up. Returns the code of the refusal. */
  const revertAfter = (to: number, change: () => Promise<unknown>): Promise<unknown> =>
    service.withInstance('default', async (instance) => {
      const input = ruleInputOfCaller(operator);
      const request = { collection: 'posts', id, to, values: {} };
      const prepared = await prepareRevert({ instance, input }, request);
      await change();
      return instance.database
        .write((tx) => revertRecord({ instance, input, tx }, prepared))
        .then(
          ({ action }) => action,
          (error: unknown) => (error instanceof AppError ? error.code : error),
        );
    });
  const remove = (): Promise<Json> => service.call('DELETE', `${posts}/${id}`, { status: 204 });
  const expunge = async (): Promise<void> => {
    const first = (await history(service, id)).find(({ revision }) => revision === 1);
    await service.call('DELETE', `/api/webhooks/events/${first.id}/body`, { status: 204 });
  };
  assert.equal(
    await revertAfter(1, () => service.call('PATCH', `${posts}/${id}`, { body: { rank: 7 } })),
    'precondition_failed',
  );
  assert.equal((await service.call('GET', `${posts}/${id}`)).title, 'two');
  assert.equal(await revertAfter(1, expunge), 'bad_request');
  assert.equal(await revertAfter(2, remove), 'precondition_failed');
  const undelete = (): Promise<Json> => service.call('POST', `${posts}/${id}/revert`, { body: { to: 2 } });
  assert.equal(await revertAfter(2, undelete), 'precondition_failed');
  assert.equal(await revertAfter(3, () => Promise.resolve()), 'updated');
  assert.equal((await service.call('GET', `${posts}/${id}`)).title, 'two');
});

test('a key needs both scopes to revert, and reaches only its collections', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await addPost(service, { title: 'one' });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'two' } });
  const { id: elsewhere } = await service.call('POST', '/api/collections', { body: { name: 'other' } });
  const status = async (
    scopes: readonly string[],
    collections?: readonly string[],
  ): Promise<readonly number[]> => {
    const { key } = await makeKey(service, scopes, collections && { collections });
    const answers = await Promise.all([
      service.request(`${posts}/${id}/history`, { token: key }),
      service.request(`${posts}/${id}/revert`, { method: 'POST', token: key, body: { to: 1 } }),
    ]);
    return answers.map((answer) => answer.status);
  };
  assert.deepEqual(await status(['records:write']), [403, 403]);
  assert.deepEqual(await status(['webhooks:read', 'webhooks:write']), [403, 403]);
  assert.deepEqual(await status(['records:read', 'records:write'], [elsewhere]), [403, 403]);
  assert.equal((await service.call('GET', `${posts}/${id}`)).title, 'two');
  assert.deepEqual(await status(['records:read', 'records:write']), [200, 200]);
  const [newest] = await history(service, id);
  assert.match(newest.actor, /^key:/);
});

test('an instance has the history of its own records alone', async (t) => {
  const service = await startWebhookService(t);
  const id = 'samesamesame123';
  await addPost(service, { id, title: 'mine' });
  await service.app.data.directory.create('elsewhere', null);
  const { email, password } = service.superuser;
  const token = await service.withInstance('elsewhere', async (instance) => {
    await upsertSuperuser(instance, email, password);
    return issueSuperuserToken(instance, email);
  });
  const ask = (method: string, path: string, body?: object): Promise<TestAnswer> =>
    service.request(`/i/elsewhere/api/collections${path}`, { method, token, ...(body && { body }) });
  const fields = [{ type: 'text', name: 'title' }];
  assert.equal((await ask('POST', '', { name: 'posts', fields })).status, 200);
  assert.equal((await ask('GET', `/posts/records/${id}/history`)).status, 404);
  assert.equal((await ask('POST', '/posts/records', { id, title: 'theirs' })).status, 201);
  const [mine] = await history(service, id);
  const refused = await ask('POST', `/posts/records/${id}/revert`, { to: mine.id });
  assert.deepEqual(
    [refused.status, refused.json.data.to.message],
    [400, 'There is no such event of this record.'],
  );
  assert.deepEqual((await ask('GET', `/posts/records/${id}/history`)).json.items.length, 1);
});
