// Both engines: the SDK reads back the account that the popup has led to.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import PocketBase from 'pocketbase';
import { EventSource } from 'undici';
import { EventStream } from '../support/event-stream.ts';
import { ProviderStage } from '../support/provider-stage.ts';
import { refusalOf } from '../support/sdk.ts';
import { testEngine } from '../support/test-config.ts';

// What the SDK's documentation asks of those who use it in Node.
Object.assign(globalThis, { EventSource });

const ann = { sub: 'ann-1', email: 'ann@example.com', email_verified: true, name: 'Ann Lee' };
const back = 'http://127.0.0.1:9/back';
const threadCounts = testEngine === 'sqlite' ? (['0', '2'] as const) : (['0'] as const);

describe('the SDK', () => {
  for (const hostThreads of threadCounts)
    test(`signs in by a popup, and is told who it is, with --host-threads ${hostThreads}`, async (t) => {
      const stage = await ProviderStage.open(t, { flags: { 'host-threads': hostThreads } });
      stage.issuer.user = ann;
      const pb = new PocketBase(stage.service.url);
      let page = '';
      const signedIn = await pb.collection('users').authWithOAuth2({
        provider: 'oidc',
        createData: { emailVisibility: true },
        urlCallback: async (url) => {
          const end = await stage.issuer.browse(url);
          const answer = await fetch(end, { redirect: 'manual' });
          assert.equal(answer.headers.get('cross-origin-opener-policy'), null);
          page = `${answer.status} ${await answer.text()}`;
        },
      });
      assert.match(page, /^200 Done\./);
      assert.equal(signedIn.record['email'], ann.email);
      assert.deepEqual([signedIn.meta?.['isNew'], pb.authStore.isValid], [true, true]);
      assert.equal(signedIn.record['emailVisibility'], true);
    });

  test('signs in by a code, and is refused without one that is good', async (t) => {
    const stage = await ProviderStage.open(t);
    const pb = new PocketBase(stage.service.url);
    const { body, state } = await stage.code(ann);
    assert.equal(state?.length, 30);
    const users = pb.collection('users');
    const { record } = await users.authWithOAuth2Code('oidc', body.code, body.codeVerifier, back, {});
    assert.deepEqual([record['verified'], pb.authStore.record?.id], [true, record.id]);
    const refusal = await refusalOf(users.authWithOAuth2Code('oidc', 'made-up', body.codeVerifier, back));
    assert.equal(refusal.message, 'Failed to fetch OAuth2 token.');
    const [external] = await users.listExternalAuths(record.id);
    assert.equal(external?.provider, 'oidc');
    assert.equal(await users.unlinkExternalAuth(record.id, 'oidc'), true);
    assert.deepEqual(await users.listExternalAuths(record.id), []);
  });
});

describe('the page that a provider sends the browser back to', () => {
  test('A-31 passes a code on once, to the client whose state it has', async (t) => {
    const { service } = await ProviderStage.open(t);
    const [first, second] = [await EventStream.open(t, service.url), await EventStream.open(t, service.url)];
    for (const { clientId } of [first, second])
      await service.request('/api/realtime', {
        method: 'POST',
        body: { clientId, subscriptions: ['@oauth2'] },
      });
    const send = async (query: Record<string, string>, headers = {}): Promise<number> => {
      const path = `/api/oauth2-redirect?${new URLSearchParams(query).toString()}`;
      const answer = await service.request(path, { headers });
      assert.equal(answer.headers.get('location'), null);
      assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
      return answer.status;
    };
    assert.equal(await send({ code: 'x' }), 400);
    assert.equal(await send({ state: 'x', code: 'x', redirect: 'https://evil.example' }), 400);
    assert.equal(await send({ state: first.clientId, code: 'of the first' }), 200);
    assert.equal(await send({ state: first.clientId, code: 'again' }), 400);
    assert.equal(await send({ state: second.clientId, error: 'access_denied' }), 400);
    const data = (code: string, state: string, error = '') => ({
      event: '@oauth2',
      data: { state, code, error },
    });
    assert.deepEqual(await first.received(1), [data('of the first', first.clientId)]);
    assert.deepEqual(await second.received(1), [data('', second.clientId, 'access_denied')]);
  });

  test('A-31 takes no code from another address than that of its client', async (t) => {
    const stage = await ProviderStage.open(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
    await stage.ok('PATCH', '/api/settings', { trustedProxy: { headers: ['X-Real-IP'] } });
    const { service } = stage;
    const from = (address: string) => ({ 'x-real-ip': address });
    const stream = await EventStream.open(t, service.url, from('203.0.113.1'));
    const body = { clientId: stream.clientId, subscriptions: ['@oauth2'] };
    await service.request('/api/realtime', { method: 'POST', body, headers: from('203.0.113.1') });
    const path = `/api/oauth2-redirect?state=${stream.clientId}&code=x`;
    assert.equal((await service.request(path, { headers: from('203.0.113.2') })).status, 400);
    assert.equal((await service.request(path, { headers: from('203.0.113.1') })).status, 200);
  });

  test('takes the form of a provider that posts one, and its code stays out of the logs', async (t) => {
    const stage = await ProviderStage.open(t);
    const { service } = stage;
    const stream = await EventStream.open(t, service.url);
    const body = { clientId: stream.clientId, subscriptions: ['@oauth2'] };
    await service.request('/api/realtime', { method: 'POST', body });
    const form = new URLSearchParams({ state: stream.clientId, code: 'posted', user: '{"name":{}}' });
    const answer = await fetch(`${service.url}/api/oauth2-redirect`, { method: 'POST', body: form });
    assert.equal(answer.status, 200, await answer.text());
    assert.deepEqual(await stream.received(1), [
      { event: '@oauth2', data: { state: stream.clientId, code: 'posted', error: '' } },
    ]);
    await service.request('/api/oauth2-redirect?state=x&code=canary-of-a-code');
    await service.request('/api/logs', { token: true });
    const logs = await service.request('/api/logs?perPage=200', { token: true });
    assert.ok(!logs.text.includes('canary-of-a-code'));
    assert.ok(!JSON.stringify(service.log).includes('canary-of-a-code'));
  });
});
