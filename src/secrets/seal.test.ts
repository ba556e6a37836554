import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { AssertionFailed } from '../base/assert.ts';
import { parseMasterKey, SecretError } from './master-key.ts';
import { sealerFor } from './seal.ts';

const masterKey = parseMasterKey(
  '00ff10ef20df30cf40bf50af609f708f8080907fa06fb05fc04fd03fe02ff01f',
  'The key',
);

const otherKey = parseMasterKey(
  '10ff10ef20df30cf40bf50af609f708f8080907fa06fb05fc04fd03fe02ff01f',
  'The key',
);

const place = { purpose: 'endpoint-secret', id: 'e1' };
const sealer = sealerFor(masterKey, 'a');
const sealed = sealer.seal('whsec_abc', place);

for (const plain of ['', 'x', 'ключ 😀', '\0', 'long '.repeat(20_000)]) {
  test(`opens what it sealed: ${JSON.stringify(plain).slice(0, 20)}`, () => {
    assert.equal(sealer.open(sealer.seal(plain, place), place), plain);
  });
}

test('opens texts of an earlier start of the same instance', () => {
  assert.equal(sealerFor(masterKey, 'a').open(sealed, place), 'whsec_abc');
});

test('opens a text of the first version, so that a change of the form is noticed', () => {
  const kept = 'v1.kKMWdyM5CMV3S7WQ.dU2EU0leYK9ZRbXhG45wi3FCzhp6sGeuaQ';
  assert.equal(sealer.open(kept, place), 'whsec_abc');
});

test('seals the same text differently each time', () => {
  assert.notEqual(sealer.seal('x', place), sealer.seal('x', place));
  assert.match(sealed, /^v1\.[\w-]{16}\.[\w-]{34}$/);
});

const moved: readonly (readonly [name: string, open: () => string])[] = [
  ['under another master key', () => sealerFor(otherKey, 'a').open(sealed, place)],
  ['in another instance', () => sealerFor(masterKey, 'b').open(sealed, place)],
  ['for another purpose', () => sealer.open(sealed, { ...place, purpose: 'smtp-password' })],
  ['under another id', () => sealer.open(sealed, { ...place, id: 'e2' })],
];

for (const [name, open] of moved) {
  test(`does not open ${name}`, () => {
    assert.throws(
      open,
      isSecretError(/cannot be opened: the master key is another one, or the text was altered or moved/),
    );
  });
}

test('opens no text in which a single character was changed', () => {
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
    assert.throws(
      () => sealer.open(changed, place),
      isSecretError(/cannot be opened|is damaged/),
      `character ${at}`,
    );
  }
});

const [version = '', nonce = '', text = ''] = sealed.split('.');
const damaged = [
  '',
  'v1',
  `v1.${nonce}`,
  `v2.${nonce}.${text}`,
  `${sealed}.`,
  `${sealed}=`,
  ` ${sealed}`,
  `${version}..${text}`,
  `v1.${nonce}.`,
  `v1.${nonce}.AAAA`,
  `v1.${nonce}AAAA.${text}`,
  `v1.${nonce}.${text}\n`,
];

for (const wrong of damaged) {
  test(`refuses the form of ${JSON.stringify(wrong)}`, () => {
    assert.throws(() => sealer.open(wrong, place), isSecretError(/The sealed endpoint-secret is damaged/));
  });
}

test('keeps two places apart that would share one text', () => {
  const odd = sealer.seal('x', { purpose: 'p', id: 'q|r' });
  assert.equal(sealer.open(odd, { purpose: 'p', id: 'q|r' }), 'x');
  assert.throws(() => sealer.open(odd, { purpose: 'p|q', id: 'r' }), AssertionFailed);
  assert.throws(() => sealerFor(masterKey, 'a|p'), AssertionFailed);
});

function isSecretError(message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof SecretError && message.test(error.message);
}

test('a fingerprint is the same for the same text of the same instance, and cannot be computed without the key', () => {
  assert.equal(sealerFor(masterKey, 'a').fingerprint('secret'), sealer.fingerprint('secret'));
  const others = [
    sealerFor(masterKey, 'b').fingerprint('secret'),
    sealerFor(otherKey, 'a').fingerprint('secret'),
    sealer.fingerprint('Secret'),
    createHash('sha256').update('secret').digest('base64url'),
  ];
  for (const other of others) assert.notEqual(other, sealer.fingerprint('secret'));
});
