// Both engines: nothing is stored for a provider that lies.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { LyingIssuer, type TokenLie } from '../support/lying-issuer.ts';
import type { ReceiverMode } from '../support/receiver.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { json } from '../support/token-server.ts';

const users = '/api/collections/users';
const client = { clientId: 'shop', clientSecret: 'canary: a secret for a liar' };

interface Stage {
  readonly service: TestService;
  readonly issuer: LyingIssuer;
  readonly ok: (path: string, body: object) => Promise<void>;
  readonly signIn: (more?: object) => Promise<TestAnswer>;
}

async function openStage(t: TestContext, provider: (url: string) => object): Promise<Stage> {
  const service = await startService(t);
  const issuer = await LyingIssuer.open(client.clientId);
  t.after(() => issuer[Symbol.asyncDispose]());
  const ok = async (path: string, body: object): Promise<void> => {
    const answer = await service.request(path, { method: 'PATCH', token: true, body });
    assert.equal(answer.status, 200, answer.text);
  };
  const oauth2 = { enabled: true, providers: [{ name: 'oidc', ...client, ...provider(issuer.url) }] };
  await ok(users, { oauth2 });
  const signIn = async (more: object = {}): Promise<TestAnswer> => {
    const methods = await service.request(`${users}/auth-methods`);
    const [{ authURL, codeVerifier }] = methods.json.oauth2.providers;
    issuer.nonce = new URL(authURL).searchParams.get('nonce') ?? undefined;
    const body = { provider: 'oidc', code: 'code', codeVerifier, redirectURL: 'http://127.0.0.1/', ...more };
    return service.request(`${users}/auth-with-oauth2`, { method: 'POST', body });
  };
  return { service, issuer, ok, signIn };
}

const discovered = (url: string): object => ({ extra: { issuer: url } });

async function assertNothing({ service }: Stage): Promise<void> {
  for (const name of ['users', '_externalAuths', '_authOrigins', '_mfas']) {
    const answer = await service.request(`/api/collections/${name}/records`, { token: true });
    assert.equal(answer.json.totalItems, 0, name);
  }
}

const past = Math.floor(Date.now() / 1_000) - 3_600;
const lies: Readonly<Record<string, TokenLie>> = {
  'of another issuer': { claims: { iss: 'http://127.0.0.1:9' } },
  'for another client': { claims: { aud: 'another' } },
  'for several clients, and this one did not ask': { claims: { aud: ['shop', 'another'], azp: 'another' } },
  'that has expired': { claims: { exp: past, iat: past - 60 } },
  'without an end': { claims: { exp: undefined } },
  'from the future': { claims: { nbf: past + 7_200 } },
  'of another sign-in': { claims: { nonce: 'another' } },
  'of no sign-in': { claims: { nonce: undefined } },
  'without a user': { claims: { sub: undefined } },
  'that nobody has signed': { alg: 'none', by: 'nobody' },
  'that says so in capitals': { alg: 'NONE', by: 'nobody' },
  'without its signature': { by: 'nobody' },
  'signed by the public key as if it were shared': { alg: 'HS256', by: 'public' },
  'signed by the key of another issuer': { by: 'foreign' },
  'of another user than the answer for the user': { claims: { sub: 'eve' } },
};

describe('an ID token', () => {
  test('A-33 is refused when it is not by the issuer, for this client and this sign-in', async (t) => {
    const stage = await openStage(t, discovered);
    for (const [name, lie] of Object.entries(lies)) {
      stage.issuer.lie = lie;
      const answer = await stage.signIn();
      assert.equal(answer.status, 400, `${name}: ${answer.text}`);
      assert.match(answer.json.message, /^Failed to fetch OAuth2 (?:token|user)\.$/, name);
    }
    await assertNothing(stage);
    stage.issuer.lie = {};
    assert.equal((await stage.signIn()).status, 200);
  });

  test('A-33 is checked in the same way against keys and issuers that are configured', async (t) => {
    const stage = await openStage(t, (url) => ({
      authURL: `${url}/auth`,
      tokenURL: `${url}/token`,
      extra: { jwksURL: `${url}/keys`, issuers: ['https://old.example', url] },
    }));
    for (const [name, lie] of Object.entries(lies)) {
      // Here no other answer says who the user is.
      if (lie.claims?.['sub'] === 'eve') continue;
      stage.issuer.lie = lie;
      assert.equal((await stage.signIn()).status, 400, name);
    }
    await assertNothing(stage);
    stage.issuer.lie = { claims: { email: 'ann@example.com', email_verified: true } };
    const { json } = await stage.signIn();
    assert.deepEqual(
      [json.record.email, json.record.verified, json.meta.id],
      ['ann@example.com', true, 'ann'],
    );
    stage.issuer.lie = { claims: { ...stage.issuer.lie.claims, iss: 'https://old.example' } };
    assert.equal((await stage.signIn()).status, 200);
  });

  test('A-33 is not required to have a nonce where the client has made the URL, but it must be that of its verifier', async (t) => {
    const stage = await openStage(t, discovered);
    const codeVerifier = 'of-a-client-'.repeat(4);
    assert.equal((await stage.signIn({ codeVerifier })).status, 400);
    stage.issuer.lie = { claims: { nonce: undefined } };
    assert.equal((await stage.signIn({ codeVerifier })).status, 200);
  });
});

const wrong: Readonly<Record<string, ReceiverMode>> = {
  'a refusal': json(400, { error: 'invalid_grant' }),
  'an error that is no error': json(200, { error: 'bad_verification_code' }),
  'an error of the server': { kind: 'status', status: 500 },
  'a redirect': { kind: 'redirect', location: '/user' },
  'no JSON': {
    kind: 'status',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '<html>',
  },
  'another type': { kind: 'status', status: 200, headers: { 'content-type': 'text/html' }, body: '{}' },
  'a list': json(200, []),
  'nothing in it': json(200, {}),
  'values of wrong types': json(200, { access_token: 5, token_type: [], sub: {} }),
  'more levels than a JSON body may have': {
    kind: 'status',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: `{"sub":"ann","access_token":"a","token_type":"Bearer","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
  },
  'no end': { kind: 'endless body' },
  'half an answer': { kind: 'half response' },
  'a closed connection': { kind: 'close after request' },
  garbage: { kind: 'garbage' },
};

describe('a provider', () => {
  test('that does not take the credentials of the client in a header gets them in the body', async (t) => {
    const stage = await openStage(t, (url) => ({
      authURL: `${url}/auth`,
      tokenURL: `${url}/token`,
      userInfoURL: `${url}/user`,
    }));
    const refusal = json(401, { error: 'invalid_client' });
    stage.issuer.modes = {
      '/token': ({ headers, body }) =>
        headers.authorization === undefined && body.includes('client_secret=') ? undefined : refusal,
    };
    assert.equal((await stage.signIn()).status, 200);
    assert.deepEqual(stage.issuer.paths, ['/token', '/token', '/user']);
  });

  test('that answers as none should is refused with a 400, and nothing is stored', async (t) => {
    const stage = await openStage(t, discovered);
    assert.equal((await stage.signIn({ code: '' })).status, 400);
    for (const path of ['/token', '/user'])
      for (const [name, mode] of Object.entries(wrong)) {
        stage.issuer.modes = { [path]: mode };
        const answer = await stage.signIn();
        assert.equal(answer.status, 400, `${path}: ${name}: ${answer.text}`);
      }
    // Nowhere was a redirect followed: each try of `/user` itself is one request.
    await assertNothing(stage);
  });

  test('whose user has no id, or a strange one, is refused', async (t) => {
    const stage = await openStage(t, (url) => ({
      authURL: `${url}/auth`,
      tokenURL: `${url}/token`,
      userInfoURL: `${url}/user`,
    }));
    for (const sub of [undefined, '', ' ', null, {}, [], true, 1.5, 'x'.repeat(256), '\ud800']) {
      stage.issuer.modes = { '/user': json(200, { sub, email: 'ann@example.com', email_verified: true }) };
      const answer = await stage.signIn();
      assert.deepEqual(
        [answer.status, answer.json.message],
        [400, 'Failed to fetch OAuth2 user.'],
        JSON.stringify(sub),
      );
    }
    await assertNothing(stage);
    stage.issuer.modes = { '/user': json(200, { sub: 12_345, email: 'ann@example.com' }) };
    assert.equal((await stage.signIn()).json.meta.id, '12345');
  });

  test('that cannot be reached leaves the other ways to sign in as they are', async (t) => {
    const stage = await openStage(t, discovered);
    const { issuer, service, ok } = stage;
    const bad = { '/.well-known/openid-configuration': json(200, { issuer: 'http://127.0.0.1:9' }) };
    issuer.modes = bad;
    const answer = await service.request(`${users}/auth-methods`);
    assert.deepEqual([answer.status, answer.json.oauth2], [200, { enabled: true, providers: [] }]);
    assert.ok(service.log.some(({ message }) => message.includes('discovery document')));
    const urls = { issuer: issuer.url, token_endpoint: issuer.url, jwks_uri: issuer.url };
    const script = { ...urls, authorization_endpoint: 'javascript:alert(1)' };
    issuer.modes = { '/.well-known/openid-configuration': json(200, script) };
    const other = { name: 'oidc3', ...client, extra: { issuer: issuer.url } };
    await ok(users, { oauth2: { providers: [other] } });
    const scripted = await service.request(`${users}/auth-methods`);
    assert.deepEqual(scripted.json.oauth2.providers, []);
    // Behind the guard of addresses: a service that may not reach loopback addresses.
    issuer.modes = {};
    const away = { extra: { issuer: 'http://10.255.255.1' }, ...client, name: 'oidc2' };
    await ok(users, { oauth2: { providers: [away] } });
    const { json: methods } = await service.request(`${users}/auth-methods`);
    const names: readonly { readonly name: string }[] = methods.oauth2.providers;
    assert.ok(names.every(({ name }) => name !== 'oidc2'));
  });

  test('L-11 at an address that is not public is not asked', async (t) => {
    const stage = await openStage(t, (url) => ({
      authURL: `${url}/auth`,
      tokenURL: 'http://10.255.255.1/token',
      userInfoURL: 'http://169.254.169.254/latest/meta-data',
    }));
    const answer = await stage.signIn();
    assert.deepEqual([answer.status, answer.json.message], [400, 'Failed to fetch OAuth2 token.']);
    assert.deepEqual(stage.issuer.paths, []);
    await assertNothing(stage);
  });
});
