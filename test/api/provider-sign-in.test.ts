// Both engines: accounts, links and sessions change in one transaction.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Accounts, password } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { ProviderStage, users } from '../support/provider-stage.ts';

const ann = { sub: 'ann-1', email: 'ann@example.com', email_verified: true, name: 'Ann Lee' };

describe('a user of a provider', () => {
  test('gets an account, and has it the next time', async (t) => {
    const stage = await ProviderStage.open(t);
    const first = await stage.signIn(ann);
    assert.equal(first.status, 200, first.text);
    const { meta, record } = first.json;
    assert.deepEqual([meta.isNew, meta.id, meta.email, meta.name], [true, ann.sub, ann.email, ann.name]);
    assert.ok(meta.accessToken !== '' && meta.rawUser.sub === ann.sub);
    assert.deepEqual([record.email, record.verified, record.name], [ann.email, true, ann.name]);
    const again = await stage.signIn({ ...ann, email: 'other@example.com' });
    assert.deepEqual([again.json.meta.isNew, again.json.record.id], [false, record.id]);
    const [link, ...others] = await stage.list('_externalAuths');
    assert.deepEqual([link.recordRef, link.provider, link.providerId], [record.id, 'oidc', ann.sub]);
    assert.equal(others.length, 0);
    const origins = async (): Promise<number> => (await stage.list('_authOrigins')).length;
    await eventually('an origin', async () => (await origins()) === 1);
    assert.equal((await stage.list('users')).length, 1);
  });

  test('joins the account with the verified address of both, which keeps its password', async (t) => {
    const stage = await ProviderStage.open(t);
    const accounts = new Accounts(stage.service);
    const account = await accounts.account('ann');
    await accounts.update(account.id, { verified: true }, true);
    const { json } = await stage.signIn({ ...ann, email: account.email });
    assert.deepEqual([json.record.id, json.meta.isNew], [account.id, false]);
    assert.equal(await accounts.isIn(account.token), true);
    assert.ok(await accounts.signIn(account.email, password));
  });

  test('takes over an account that had not verified the address: its password, sessions and other links are gone', async (t) => {
    const stage = await ProviderStage.open(t);
    const accounts = new Accounts(stage.service);
    const account = await accounts.account('ann');
    const { id: collectionRef } = await stage.ok('GET', users);
    const link = { collectionRef, recordRef: account.id, provider: 'x', providerId: 'stranger' };
    await stage.ok('POST', '/api/collections/_externalAuths/records', link);
    const { json } = await stage.signIn({ ...ann, email: account.email });
    assert.deepEqual([json.record.id, json.record.verified], [account.id, true]);
    assert.equal(await accounts.isIn(account.token), false);
    assert.equal(await accounts.isIn(json.token), true);
    const links = await stage.list('_externalAuths');
    assert.deepEqual(
      links.map(({ providerId }) => providerId),
      [ann.sub],
    );
    const refused = await stage.service.request(`${users}/auth-with-password`, {
      method: 'POST',
      body: { identity: account.email, password },
    });
    assert.equal(refused.status, 400);
  });

  test('joins nobody by an address that the provider has not verified', async (t) => {
    const stage = await ProviderStage.open(t);
    const accounts = new Accounts(stage.service);
    const { id, email } = await accounts.account('ann');
    await accounts.update(id, { verified: true }, true);
    const denied = await stage.signIn({ sub: 'eve', email, email_verified: false });
    assert.deepEqual([denied.status, denied.json.data.email.code], [400, 'validation_required']);
    const silent = await stage.signIn({ sub: 'eve', email });
    assert.deepEqual([silent.status, silent.json.data.email.code], [400, 'validation_not_unique']);
    const claimed = await stage.signIn(
      { sub: 'eve', email, email_verified: false },
      { createData: { email } },
    );
    assert.deepEqual([claimed.status, claimed.json.data.email.code], [400, 'validation_not_unique']);
    assert.deepEqual(await stage.list('_externalAuths'), []);
    assert.equal((await stage.list('users')).length, 1);
  });

  test('whose address nobody has verified gets an account that is not verified', async (t) => {
    const stage = await ProviderStage.open(t);
    const silent = await stage.signIn({ sub: 'bob', email: 'bob@example.com' });
    assert.deepEqual([silent.status, silent.json.record.verified], [200, false]);
    const createData = { email: 'cat@example.com' };
    const chosen = await stage.signIn({ ...ann, sub: 'cat', email: 'real@example.com' }, { createData });
    assert.deepEqual([chosen.json.record.email, chosen.json.record.verified], ['cat@example.com', false]);
  });

  test('is linked to whoever is signed in, in place of another one, and unlinked by them', async (t) => {
    const stage = await ProviderStage.open(t);
    const accounts = new Accounts(stage.service);
    const account = await accounts.account('ann');
    const { json } = await stage.signIn({ ...ann, email: 'at-work@example.com' }, {}, account.token);
    assert.deepEqual([json.record.id, json.record.verified], [account.id, false]);
    assert.equal(await accounts.isIn(account.token), true);
    const other = await stage.signIn({ sub: 'ann-2' }, {}, account.token);
    assert.equal(other.json.record.id, account.id);
    const own = await stage.service.request('/api/collections/_externalAuths/records', {
      token: account.token,
    });
    assert.deepEqual([own.json.totalItems, own.json.items[0].providerId], [1, 'ann-2']);
    const path = `/api/collections/_externalAuths/records/${own.json.items[0].id}`;
    const stranger = await accounts.account('bob');
    const unlink = (token: string) => stage.service.request(path, { method: 'DELETE', token });
    assert.equal((await unlink(stranger.token)).status, 404);
    assert.equal((await unlink(account.token)).status, 204);
    const apart = await stage.signIn({ sub: 'ann-2' });
    assert.deepEqual([apart.status, apart.json.data.email.code], [400, 'validation_required']);
    const { json: verified } = await stage.signIn({ ...ann, email: account.email }, {}, account.token);
    assert.deepEqual([verified.record.id, verified.record.verified], [account.id, true]);
    assert.ok(await accounts.signIn(account.email, password));
  });

  test('who signs in several times at once gets one account', async (t) => {
    const stage = await ProviderStage.open(t);
    const codes = [];
    for (let count = 0; count < 4; count += 1) codes.push((await stage.code(ann)).body);
    const answers = await Promise.all(codes.map((body) => stage.exchange(body)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    assert.equal(new Set(answers.map(({ json }) => json.record.id)).size, 1);
    assert.equal(answers.filter(({ json }) => json.meta.isNew).length, 1);
    assert.deepEqual(
      [(await stage.list('users')).length, (await stage.list('_externalAuths')).length],
      [1, 1],
    );
  });

  test('who is linked to another account is signed in to that, whoever sends the code', async (t) => {
    const stage = await ProviderStage.open(t);
    const { json } = await stage.signIn(ann);
    const bob = await new Accounts(stage.service).account('bob');
    const again = await stage.signIn(ann, {}, bob.token);
    assert.equal(again.json.record.id, json.record.id);
  });
});

describe('a sign-in at a provider', () => {
  test('is the first factor, or the second', async (t) => {
    const stage = await ProviderStage.open(t);
    const accounts = new Accounts(stage.service);
    const account = await accounts.account('ann');
    await accounts.update(account.id, { verified: true }, true);
    const user = { ...ann, email: account.email };
    await stage.define({}, { mfa: { enabled: true } });
    const byPassword = (more: object = {}) =>
      stage.service.request(`${users}/auth-with-password`, {
        method: 'POST',
        body: { identity: account.email, password, ...more },
      });
    const first = await stage.signIn(user);
    assert.deepEqual([first.status, Object.keys(first.json)], [401, ['mfaId']]);
    assert.equal((await stage.signIn(user, { mfaId: first.json.mfaId })).status, 400);
    assert.equal((await byPassword({ mfaId: first.json.mfaId })).status, 200);
    const { mfaId } = (await byPassword()).json;
    const second = await stage.signIn(user, { mfaId });
    assert.deepEqual([second.status, second.json.record?.id], [200, account.id]);
    assert.equal(
      (await stage.signIn({ ...user, sub: 'bob', email: 'bob@example.com' }, { mfaId })).status,
      400,
    );
  });

  test('obeys the rule for sign-ins before it asks for a second factor', async (t) => {
    const stage = await ProviderStage.open(t);
    await stage.define({}, { authRule: 'name = "Ann"', mfa: { enabled: true } });
    assert.equal((await stage.signIn(ann)).status, 403);
    assert.equal((await stage.signIn({ ...ann, name: 'Ann', sub: 'b', email: 'b@example.com' })).status, 401);
  });

  test('makes accounts by the create rule, which knows what it is', async (t) => {
    const stage = await ProviderStage.open(t);
    await stage.define({}, { createRule: null });
    assert.equal((await stage.signIn(ann)).status, 403);
    await stage.define({}, { createRule: '@request.context = "oauth2" && name = "Bob"' });
    assert.equal((await stage.signIn(ann)).status, 400);
    assert.deepEqual(await stage.list('users'), []);
    const { json } = await stage.signIn(ann, { createData: { name: 'Bob' } });
    assert.deepEqual([json.record.name, json.meta.name], ['Bob', ann.name]);
    const ruled = '@request.body.name = "Cat" && @request.body.email = "cat@example.com"';
    await stage.define({}, { createRule: `${ruled} && @request.body.code:isset = false` });
    const cat = { ...ann, sub: 'cat', email: 'cat@example.com' };
    assert.equal((await stage.signIn(cat)).status, 400);
    assert.equal((await stage.signIn(cat, { createData: { name: 'Cat' } })).status, 200);
    await stage.define({}, { createRule: 'name = "Bob"' });
    const verified = await stage.signIn(
      { sub: 'x', email: 'x@example.com' },
      { createData: { name: 'Bob', verified: true } },
    );
    assert.deepEqual(
      [verified.status, verified.json.data.verified.code],
      [400, 'validation_values_mismatch'],
    );
  });

  test('is refused where it is switched off, for unknown providers, and for a form that lacks something', async (t) => {
    const stage = await ProviderStage.open(t);
    const { body } = await stage.code(ann);
    const codeOf = async (more: object, name: string): Promise<unknown> => {
      const { status, json } = await stage.exchange({ ...body, ...more });
      return [status, json.data[name]?.code];
    };
    assert.deepEqual(await codeOf({ provider: 'google' }, 'provider'), [400, 'validation_invalid_provider']);
    assert.deepEqual(await codeOf({ provider: '' }, 'provider'), [400, 'validation_required']);
    assert.deepEqual(await codeOf({ code: '' }, 'code'), [400, 'validation_required']);
    assert.deepEqual(await codeOf({ codeVerifier: '' }, 'codeVerifier'), [400, 'validation_required']);
    assert.deepEqual(await codeOf({ code: 'x'.repeat(9_000) }, 'code'), [
      400,
      'validation_length_out_of_range',
    ]);
    assert.deepEqual(await codeOf({ code: 5 }, 'code'), [400, undefined]);
    assert.deepEqual(await codeOf({ createData: [] }, 'code'), [400, undefined]);
    await stage.define({ enabled: false });
    const off = await stage.exchange(body);
    assert.deepEqual(
      [off.status, off.json.message],
      [403, 'The collection is not configured to allow OAuth2 authentication.'],
    );
    const { json } = await stage.service.request(`${users}/auth-methods`);
    assert.deepEqual([json.oauth2, json.authProviders], [{ providers: [], enabled: false }, []]);
    await stage.define({ enabled: true });
    assert.equal((await stage.exchange(body)).status, 200);
  });

  test('is limited by its own label, and lets no superuser in from an address that none may come from', async (t) => {
    const stage = await ProviderStage.open(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
    const { service } = stage;
    const provider = (await stage.ok('GET', users)).oauth2.providers[0];
    const oauth2 = { enabled: true, providers: [{ ...provider, clientSecret: 'canary: of superusers' }] };
    await stage.ok('PATCH', '/api/collections/_superusers', { oauth2 });
    const asSuperuser = (headers = {}) =>
      service.request('/api/collections/_superusers/auth-with-oauth2', {
        method: 'POST',
        body: { provider: 'oidc', code: 'x', codeVerifier: 'x' },
        headers,
      });
    assert.equal((await asSuperuser()).status, 400);
    const rule = { label: 'users:authWithOAuth2', audience: '', duration: 600, maxRequests: 1 };
    await stage.ok('PATCH', '/api/settings', { rateLimits: { enabled: true, rules: [rule] } });
    assert.equal((await stage.signIn(ann)).status, 200);
    assert.equal((await stage.signIn(ann)).status, 429);
    await stage.ok('PATCH', '/api/settings', { rateLimits: { enabled: false } });
    const trustedProxy = { headers: ['X-Real-IP'] };
    await stage.ok('PATCH', '/api/settings', { superuserIPs: ['127.0.0.1'], trustedProxy });
    assert.equal((await asSuperuser()).status, 400);
    assert.equal((await asSuperuser({ 'x-real-ip': '203.0.113.7' })).status, 403);
  });

  test('A-31 uses the code once, with its verifier and its redirect URL', async (t) => {
    const stage = await ProviderStage.open(t);
    const refused = async (change: (body: Record<string, string>) => object): Promise<void> => {
      const { body } = await stage.code(ann);
      const answer = await stage.exchange(change(body));
      assert.deepEqual([answer.status, answer.json.message], [400, 'Failed to fetch OAuth2 token.']);
    };
    const other = await stage.method();
    await refused((body) => ({ ...body, codeVerifier: other.codeVerifier }));
    for (const redirectURL of [
      'http://127.0.0.1:9/back/',
      'http://127.0.0.1:9/back#x',
      'http://127.0.0.1:9@evil.example/back',
      'http://127.0.0.1:9\\@evil.example/back',
      'http://a.127.0.0.1:9/back',
    ])
      await refused((body) => ({ ...body, redirectURL }));
    const { body } = await stage.code(ann);
    assert.equal((await stage.exchange(body)).status, 200);
    const again = await stage.exchange(body);
    assert.deepEqual([again.status, again.json.message], [400, 'Failed to fetch OAuth2 token.']);
    assert.equal((await stage.list('users')).length, 1);
    const filter = encodeURIComponent("action = 'sign-in' && outcome = 'refused'");
    const refusals = await eventually('refusals in the audit log', async () => {
      const { items } = await stage.ok('GET', `/api/audit?filter=${filter}`);
      return items.length > 0 ? items : undefined;
    });
    assert.match(refusals[0].details.reason, /^The provider oidc failed: .*invalid_grant/);
  });
});
