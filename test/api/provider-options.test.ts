// Both engines: secrets are stored beside definitions in one transaction.
import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import { describe, test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { startService, type TestService } from '../support/service.ts';

const users = '/api/collections/users';
const google = { name: 'google', clientId: 'shop', clientSecret: 'canary: of google' };
const urls = {
  authURL: 'https://id.example/auth',
  tokenURL: 'https://id.example/token',
  userInfoURL: 'https://id.example/user',
};
const oidc = { name: 'oidc', clientId: 'shop', clientSecret: 'canary: of an issuer' };

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

async function change(service: TestService, body: object): Promise<Json> {
  const answer = await service.request(users, { method: 'PATCH', token: true, body });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function storedSecrets(service: TestService): Promise<readonly string[]> {
  return service.withInstance('default', async ({ database: { names }, database }) => {
    const rows = await database.tuples(
      sql`SELECT name, value FROM ${names.table('$secret')} WHERE ${names.instance.condition} AND name LIKE 'oauth2 %' ORDER BY name`,
    );
    for (const [, value] of rows) assert.match(String(value), /^v1\./);
    return rows.map(([name]) => String(name));
  });
}

const refused: readonly (readonly [provider: object, path: string, code: string])[] = [
  [{ ...google, name: '' }, 'name', 'validation_required'],
  [{ ...google, name: 'nope' }, 'name', 'validation_missing_provider'],
  [{ ...google, clientId: '' }, 'clientId', 'validation_required'],
  [{ ...google, clientSecret: '' }, 'clientSecret', 'validation_required'],
  [{ ...google, clientId: 5 }, 'clientId', 'validation_invalid_value'],
  [{ ...google, clientId: 'x'.repeat(1_025) }, 'clientId', 'validation_length_too_long'],
  [{ ...google, pkce: 'yes' }, 'pkce', 'validation_invalid_value'],
  [{ ...google, authURL: 'javascript:alert(1)' }, 'authURL', 'validation_is_url'],
  [{ ...google, tokenURL: 'ftp://id.example' }, 'tokenURL', 'validation_is_url'],
  [{ ...google, userInfoURL: 'https://id.example/#x' }, 'userInfoURL', 'validation_is_url'],
  [{ ...google, authURL: 'https://a@id.example/' }, 'authURL', 'validation_is_url'],
  [{ ...google, extra: { issuer: 'https://id.example' } }, 'extra.issuer', 'validation_invalid_value'],
  [{ ...google, extra: [] }, 'extra', 'validation_invalid_value'],
  [{ name: 'mailcow', clientId: 'a', clientSecret: 'b' }, 'tokenURL', 'validation_required'],
  [oidc, 'authURL', 'validation_required'],
  [{ ...oidc, ...urls, userInfoURL: '' }, 'userInfoURL', 'validation_required'],
  [
    { ...oidc, ...urls, extra: { jwksURL: 'https://id.example/keys' } },
    'extra.issuers',
    'validation_required',
  ],
  [{ ...oidc, ...urls, extra: { issuers: ['https://id.example'] } }, 'extra.jwksURL', 'validation_required'],
  [{ ...oidc, extra: { issuer: 'x' } }, 'extra.issuer', 'validation_is_url'],
  [
    { ...oidc, extra: { issuer: 'https://a.example', jwksURL: 'https://a.example' } },
    'extra.jwksURL',
    'validation_empty',
  ],
  [{ ...oidc, ...urls, extra: { trust: true } }, 'extra.trust', 'validation_invalid_value'],
];

describe('the sign-in providers of a collection', () => {
  test('are refused with the problem of each member', async (t) => {
    const service = await startService(t);
    const update = (providers: unknown) =>
      service.request(users, {
        method: 'PATCH',
        token: true,
        body: { oauth2: { enabled: true, providers } },
      });
    for (const [provider, path, code] of refused) {
      const answer = await update([provider]);
      assert.equal(answer.status, 400, `${path} of ${JSON.stringify(provider)}`);
      let problem = answer.json.data.oauth2.providers['0'];
      for (const name of path.split('.')) problem = problem[name];
      assert.equal(problem?.code, code, `${path} of ${JSON.stringify(provider)}: ${answer.text}`);
    }
    const twice = await update([google, google]);
    assert.equal(twice.json.data.oauth2.providers['1'].name.code, 'validation_duplicated_provider');
    const many = await update(Array.from({ length: 51 }, () => google));
    assert.equal(many.json.data.oauth2.providers.code, 'validation_length_too_long');
    assert.equal((await update('google')).status, 400);
    assert.equal((await update([5])).status, 400);
    assert.deepEqual(await storedSecrets(service), []);
  });

  test('have secrets that are sealed, never shown, kept, replaced and deleted with them', async (t) => {
    const service = await startService(t);
    const shown = await change(service, { oauth2: { enabled: true, providers: [google] } });
    assert.deepEqual(shown.oauth2.providers, [
      {
        pkce: null,
        name: 'google',
        clientId: 'shop',
        authURL: '',
        tokenURL: '',
        userInfoURL: '',
        displayName: '',
        extra: {},
      },
    ]);
    assert.deepEqual(await storedSecrets(service), ['oauth2 google']);
    // What is shown can be sent back, and what is left out stays.
    await change(service, shown);
    const second = { ...oidc, ...urls, displayName: 'Id', pkce: false };
    const both = await change(service, { oauth2: { providers: [{ name: 'google' }, second] } });
    assert.equal(both.oauth2.providers[0].clientId, 'shop');
    assert.deepEqual(await storedSecrets(service), ['oauth2 google', 'oauth2 oidc']);
    await change(service, { oauth2: { providers: [second] } });
    assert.deepEqual(await storedSecrets(service), ['oauth2 oidc']);
    const back = {
      method: 'PATCH',
      token: true,
      body: { oauth2: { providers: [{ ...google, clientSecret: '' }] } },
    } as const;
    assert.equal((await service.request(users, back)).status, 400);
    await change(service, { oauth2: { providers: null, enabled: false } });
    assert.deepEqual(await storedSecrets(service), []);
  });

  test('send a secret to another endpoint only for whoever knows it', async (t) => {
    const service = await startService(t);
    await change(service, {
      oauth2: { enabled: true, providers: [google, { ...oidc, extra: { issuer: 'https://id.example' } }] },
    });
    const update = (google: object, oidc: object) =>
      service.request(users, {
        method: 'PATCH',
        token: true,
        body: {
          oauth2: {
            providers: [
              { name: 'google', ...google },
              { name: 'oidc', ...oidc },
            ],
          },
        },
      });
    const evil = 'https://evil.example/token';
    const google0 = await update({ tokenURL: evil }, {});
    assert.equal(google0.json.data.oauth2.providers['0'].clientSecret.code, 'validation_required');
    const oidc1 = await update({}, { extra: { issuer: 'https://evil.example' } });
    assert.equal(oidc1.json.data.oauth2.providers['1'].clientSecret.code, 'validation_required');
    assert.equal((await update({ tokenURL: evil, clientSecret: 'another' }, {})).status, 200);
    assert.equal((await update({ authURL: 'https://id.example/other' }, {})).status, 200);
  });

  test('count as a way to sign in for a second factor, and map fields that exist', async (t) => {
    const service = await startService(t);
    const shown = await change(service, {
      oauth2: { enabled: true, providers: [google], mappedFields: { name: 'gone', username: 'name' } },
      mfa: { enabled: true },
    });
    assert.deepEqual(shown.oauth2.mappedFields, { id: '', name: '', username: 'name', avatarURL: 'avatar' });
    const off = await service.request(users, {
      method: 'PATCH',
      token: true,
      body: { oauth2: { enabled: false } },
    });
    assert.equal(off.json.data.mfa.enabled.code, 'validation_mfa_not_enough_auths');
  });

  test('are imported with their secrets, which go with the collection', async (t) => {
    const service = await startService(t);
    const collection = { name: 'members', type: 'auth', oauth2: { enabled: true, providers: [google] } };
    const body = { collections: [collection] };
    const imported = await service.request('/api/collections/import', { method: 'PUT', token: true, body });
    assert.equal(imported.status, 204, imported.text);
    assert.deepEqual(await storedSecrets(service), ['oauth2 google']);
    const { json } = await service.request('/api/collections/members', { token: true });
    assert.equal(json.oauth2.providers[0].name, 'google');
    await service.request('/api/collections/members', { method: 'DELETE', token: true });
    assert.deepEqual(await storedSecrets(service), []);
  });
});

describe('the methods of a collection', () => {
  test('have a URL for each provider, with state, challenge and nonce', async (t) => {
    const service = await startService(t);
    const apple = { name: 'apple', clientId: 'a', clientSecret: 'b' };
    const plain = { ...oidc, ...urls, authURL: 'https://id.example/auth?x=1&redirect_uri=z', pkce: false };
    await change(service, { oauth2: { enabled: true, providers: [google, apple, plain] } });
    const { json } = await service.request(`${users}/auth-methods`);
    const [first, second, third] = json.oauth2.providers;
    assert.deepEqual(
      [first.name, first.displayName, first.codeChallengeMethod, first.state.length, first.authUrl],
      ['google', 'Google', 'S256', 30, first.authURL],
    );
    assert.match(first.codeVerifier, /^[\w.~-]{43,128}$/);
    assert.match(first.authURL, /&redirect_uri=$/);
    const query = new URL(first.authURL).searchParams;
    assert.deepEqual(
      [query.get('client_id'), query.get('state'), query.get('code_challenge'), query.get('nonce')],
      ['shop', first.state, first.codeChallenge, null],
    );
    const ofApple = new URL(second.authURL).searchParams;
    assert.deepEqual([ofApple.get('response_mode'), ofApple.get('nonce')?.length], ['form_post', 43]);
    assert.deepEqual([third.codeVerifier, third.codeChallenge, third.codeChallengeMethod], ['', '', '']);
    assert.match(third.authURL, /^https:\/\/id\.example\/auth\?x=1&client_id=shop&.*&redirect_uri=$/);
    assert.deepEqual(json.authProviders[0], { ...first, logo: '' });
    const again = await service.request(`${users}/auth-methods`);
    assert.notEqual(again.json.oauth2.providers[0].codeVerifier, first.codeVerifier);
  });
});

test('the client secret for Apple is signed with the key that is sent', async (t) => {
  const service = await startService(t);
  const path = '/api/settings/apple/generate-client-secret';
  const make = (body: object) => service.request(path, { method: 'POST', token: true, body });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const form = {
    clientId: 'shop',
    teamId: 'T'.repeat(10),
    keyId: 'K'.repeat(10),
    privateKey: pem,
    duration: 60,
  };
  const { json } = await make(form);
  const [header = '', claims = '', signature = ''] = String(json.secret).split('.');
  const read = (part: string): Json => JSON.parse(Buffer.from(part, 'base64url').toString());
  assert.deepEqual(read(header), { alg: 'ES256', kid: form.keyId, typ: 'JWT' });
  assert.deepEqual(
    [read(claims).iss, read(claims).sub, read(claims).exp - read(claims).iat],
    [form.teamId, 'shop', 60],
  );
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
  assert.ok(verify('sha256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url')));
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  for (const [wrong, name, code] of [
    [{ teamId: 'short' }, 'teamId', 'validation_length_invalid'],
    [{ duration: 0 }, 'duration', 'validation_required'],
    [{ duration: 99_999_999 }, 'duration', 'validation_max_less_equal_than_required'],
    [{ privateKey: 'none' }, 'privateKey', 'validation_match_invalid'],
    [
      { privateKey: other.export({ type: 'pkcs8', format: 'pem' }) },
      'privateKey',
      'validation_match_invalid',
    ],
  ] as const) {
    const answer = await make({ ...form, ...wrong });
    assert.deepEqual([answer.status, answer.json.data[name].code], [400, code], name);
  }
});
