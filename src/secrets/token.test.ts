import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { AssertionFailed } from '../base/assert.ts';
import { decodeToken, newTokenKey, newTokenSecret, signToken, verifyToken } from './token.ts';

const now = 1_800_000_000;
const tokenKey = newTokenKey();
const authSecret = newTokenSecret();
const key = tokenKey + authSecret;
const claims = { id: 'r1', collectionId: 'c1', type: 'auth', exp: now + 60, refreshable: true };
const token = signToken(claims, key);
const [header = '', payload = '', signature = ''] = token.split('.');

/** The example that jwt.io shows. */
const knownKey = 'a-string-secret-at-least-256-bits-long';
const knownClaims = { sub: '1234567890', name: 'John Doe', admin: true, iat: 1516239022 };
const known =
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiYWRtaW4iOnRydWUsImlhdCI6MTUxNjIzOTAyMn0.KMUFsIDTnFmyG3nMiGM6H9FNFUROf3wh7SmqJp-QV30';

test('signs as others do', () => {
  assert.equal(signToken(knownClaims, knownKey), known);
  assert.deepEqual(decodeToken(known), knownClaims);
});

test('verifies what it signed, until it expires', () => {
  assert.deepEqual(decodeToken(token), claims);
  assert.deepEqual(verifyToken(token, key, now), claims);
  assert.deepEqual(verifyToken(token, key, now + 59.9), claims);
  assert.equal(verifyToken(token, key, now + 60), undefined);
  assert.equal(verifyToken(token, key, now + 61), undefined);
});

test('judges a token that was right before by the key and the time of now', () => {
  const shown = signToken({ ...claims, id: 'shown before' }, key);
  assert.ok(verifyToken(shown, key, now));
  assert.equal(verifyToken(shown, newTokenKey() + authSecret, now), undefined, 'another key');
  assert.equal(verifyToken(shown, key, now + 60), undefined, 'a later time');
  assert.deepEqual(verifyToken(shown, key, now), decodeToken(shown));
});

test('reads a signed token whose header is written in another way', () => {
  const other = forge('{"typ":"JWT",\r\n "alg":"HS256"}', claims);
  assert.deepEqual(verifyToken(other, key, now), claims);
});

const headers: readonly string[] = [
  '{"alg":"none","typ":"JWT"}',
  '{"alg":"None","typ":"JWT"}',
  '{"alg":"nOnE","typ":"JWT"}',
  '{"alg":"hs256","typ":"JWT"}',
  '{"alg":"HS384"}',
  '{"alg":"HS512"}',
  '{"alg":"RS256"}',
  '{"alg":["HS256"]}',
  '{"alg":null}',
  '{"typ":"JWT"}',
  '{"__proto__":{"alg":"HS256"}}',
  '{"alg":"none","alg":"HS256"}',
  '{"alg":"HS256","crit":["exp"]}',
  '["HS256"]',
  '"HS256"',
  'null',
  'HS256',
  '',
];

for (const text of headers) {
  test(`refuses the header ${text}, well signed or not signed at all (A-01)`, () => {
    const signed = forge(text, claims);
    for (const forged of [signed, signed.replace(/[^.]*$/, ''), signed.replace(/\.[^.]*$/, '')]) {
      assert.equal(decodeToken(forged), undefined);
      assert.equal(verifyToken(forged, key, now), undefined);
    }
  });
}

const keyHints: readonly Record<string, unknown>[] = [
  { kid: '../../../../dev/null' },
  { kid: "x' UNION SELECT 'secret' --" },
  { jku: 'https://attacker.example/keys' },
  { x5u: 'https://attacker.example/cert' },
  { jwk: { kty: 'oct', k: 'c2VjcmV0' } },
];

for (const hint of keyHints) {
  test(`uses no key that the header names: ${JSON.stringify(hint)} (A-03)`, () => {
    const text = JSON.stringify({ alg: 'HS256', ...hint });
    for (const guess of ['', 'secret', 'c2VjcmV0']) {
      assert.equal(verifyToken(forge(text, claims, guess), key, now), undefined);
    }
  });
}

const expiries: readonly unknown[] = [
  now,
  now - 1,
  0,
  -1,
  now + 0.5,
  1e30,
  2 ** 53,
  null,
  undefined,
  true,
  '',
  String(now + 60),
  [now + 60],
  { value: now + 60 },
];

for (const exp of expiries) {
  test(`refuses a token that expires at ${JSON.stringify(exp)} (A-05)`, () => {
    const text = JSON.stringify({ ...claims, exp });
    assert.equal(verifyToken(forge('{"alg":"HS256"}', text), key, now), undefined);
  });
}

test('the largest expiry that is an exact number is accepted', () => {
  assert.ok(verifyToken(signToken({ exp: Number.MAX_SAFE_INTEGER }, key), key, now));
});

for (const name of ['nbf', 'iat']) {
  test(`gives ${name} no meaning, but refuses one that is no number (A-05)`, () => {
    for (const value of [0, now, now + 1000, 1.5]) {
      assert.ok(verifyToken(signToken({ ...claims, [name]: value }, key), key, now));
    }
    for (const value of [null, '1', true, {}, []]) {
      assert.equal(verifyToken(signToken({ ...claims, [name]: value }, key), key, now), undefined);
    }
  });
}

test('refuses a token of another kind, record, collection or time before a change of password (A-06, A-08, A-10)', () => {
  const fileSecret = newTokenSecret();
  for (const other of [tokenKey + fileSecret, newTokenKey() + authSecret, authSecret + tokenKey]) {
    assert.equal(verifyToken(signToken(claims, other), key, now), undefined);
  }
});

test('refuses a token with any bit of it changed (A-11)', () => {
  for (let at = 0; at < token.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed =
        token.slice(0, at) + String.fromCharCode(token.charCodeAt(at) ^ (1 << bit)) + token.slice(at + 1);
      assert.equal(verifyToken(changed, key, now), undefined, `bit ${bit} of character ${at}`);
    }
  }
});

test('refuses a token that was cut at any place (A-11)', () => {
  for (let end = 0; end < token.length; end++)
    assert.equal(verifyToken(token.slice(0, end), key, now), undefined);
});

const rewritten: readonly (readonly [name: string, text: string])[] = [
  ['a space before it', ` ${token}`],
  ['a line end after it', `${token}\n`],
  ['padding', `${token}=`],
  ['a fourth part', `${token}.${signature}`],
  ['an empty fourth part', `${token}.`],
  ['junk in the payload', `${header}.${payload.slice(0, 4)}!${payload.slice(4)}.${signature}`],
  ['a space in the signature', `${header}.${payload}.${signature.slice(0, 4)} ${signature.slice(4)}`],
  ['spare bits in the signature', withSpareBit(token)],
  ['the other alphabet', `${header}.${payload}.${'+/'.repeat(21)}A`],
  ['a longer signature', `${token}AAAA`],
  [
    'a doubled signature',
    `${header}.${payload}.${Buffer.alloc(64, Buffer.from(signature, 'base64url')).toString('base64url')}`,
  ],
  ['another payload', `${header}.${encode(JSON.stringify({ ...claims, id: 'r2' }))}.${signature}`],
];

for (const [name, text] of rewritten) {
  test(`refuses a token with ${name} (A-11)`, () => {
    assert.notEqual(text, token);
    assert.equal(verifyToken(text, key, now), undefined);
  });
}

const payloads = [
  '',
  'null',
  '[]',
  '"x"',
  '1',
  '{',
  '{}x',
  '{"exp":1,"exp":2}',
  '\ufeff{}',
  '{"a":"\\u0000"}',
];

for (const text of payloads) {
  test(`refuses the payload ${JSON.stringify(text)}, though it is signed`, () => {
    assert.equal(decodeToken(forge('{"alg":"HS256"}', text)), undefined);
  });
}

test('refuses a payload that is not UTF-8, and one nested without end', () => {
  assert.equal(
    decodeToken(`${header}.${Buffer.from([0x22, 0xff, 0x22]).toString('base64url')}.${signature}`),
    undefined,
  );
  assert.equal(
    decodeToken(forge('{"alg":"HS256"}', `{"a":${'['.repeat(1000)}${']'.repeat(1000)}}`)),
    undefined,
  );
});

test('reads no token of more than 8 KiB', () => {
  const longest = forge('{"alg":"HS256"}', JSON.stringify({ a: 'x'.repeat(6080) }));
  assert.ok(longest.length <= 8192);
  assert.ok(decodeToken(longest));
  assert.equal(decodeToken(forge('{"alg":"HS256"}', JSON.stringify({ a: 'x'.repeat(6200) }))), undefined);
  assert.equal(decodeToken('.'.repeat(10_000_000)), undefined);
  assert.throws(() => signToken({ a: 'x'.repeat(6200) }, key), AssertionFailed);
});

test('signs and verifies with no key that is too short to be one', () => {
  for (const short of ['', 'undefined', 'x'.repeat(31)]) {
    assert.throws(() => signToken(claims, short), AssertionFailed);
    assert.throws(() => verifyToken(token, short, now), AssertionFailed);
  }
});

test('reads inherited names as absent', () => {
  assert.equal(
    verifyToken(forge('{"alg":"HS256"}', `{"__proto__":{"exp":${now + 60}}}`), key, now),
    undefined,
  );
});

test('makes keys and secrets of 50 letters and digits, each another', () => {
  const made = new Set(Array.from({ length: 100 }, () => [newTokenKey(), newTokenSecret()]).flat());
  assert.equal(made.size, 200);
  for (const text of made) assert.match(text, /^[A-Za-z0-9]{50}$/);
});

/** A token signed with the right key (unless another is given) over whatever header and payload. */
function forge(headerText: string, payloadText: object | string, signingKey = key): string {
  const text = typeof payloadText === 'string' ? payloadText : JSON.stringify(payloadText);
  const signed = `${encode(headerText)}.${encode(text)}`;
  return `${signed}.${createHmac('sha256', signingKey).update(signed).digest('base64url')}`;
}

function encode(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64url');
}

/** 32 bytes leave two spare bits in the last of 43 characters: the next letter of the alphabet decodes to the same bytes. */
function withSpareBit(text: string): string {
  const changed = text.slice(0, -1) + String.fromCharCode(text.charCodeAt(text.length - 1) + 1);
  const bytesOf = (whole: string): Buffer => Buffer.from(whole.split('.')[2] ?? '', 'base64url');
  assert.deepEqual(bytesOf(changed), bytesOf(text));
  return changed;
}
