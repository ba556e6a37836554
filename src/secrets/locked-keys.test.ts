import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areSameKeys, lockKeys, openKeys, sealKeys, unlockKeys } from './locked-keys.ts';
import { parseMasterKey, SecretError } from './master-key.ts';
import { deriveKeys, sealerOf } from './seal.ts';

const master = parseMasterKey('00ff10ef20df30cf40bf50af609f708f8080907fa06fb05fc04fd03fe02ff01f', 'The key');
const other = parseMasterKey('10ff10ef20df30cf40bf50af609f708f8080907fa06fb05fc04fd03fe02ff01f', 'The key');
const keys = deriveKeys(master, 'shop');
const place = { purpose: 'endpoint-secret', id: 'e1' };

test('a passphrase opens what seals and fingerprints as before', async () => {
  const locked = await lockKeys(keys, 'correct horse battery');
  assert.doesNotMatch(JSON.stringify(locked), new RegExp(keys.seal.export().toString('base64url')));
  // However its letters are composed, and whatever is around them.
  for (const typed of ['correct horse battery', ' correct horse battery\n']) {
    const opened = await unlockKeys(locked, typed);
    assert.ok(areSameKeys(opened, keys));
    assert.equal(sealerOf(opened).open(sealerOf(keys).seal('x', place), place), 'x');
    assert.equal(sealerOf(opened).fingerprint('x'), sealerOf(keys).fingerprint('x'));
  }
});

test('another passphrase, or another text, opens nothing', async () => {
  const locked = await lockKeys(keys, 'correct horse battery');
  await assert.rejects(unlockKeys(locked, 'correct horse batterz'), SecretError);
  await assert.rejects(
    unlockKeys({ ...locked, salt: 'AAAAAAAAAAAAAAAAAAAAAA' }, 'correct horse battery'),
    SecretError,
  );
  await assert.rejects(unlockKeys({ salt: '', sealed: '' }, 'correct horse battery'), SecretError);
});

test('stored keys open with the same master key, in the same instance', () => {
  const sealed = sealKeys(other, 'place', keys);
  assert.ok(areSameKeys(openKeys(other, 'place', sealed), keys));
  assert.throws(() => openKeys(other, 'shop', sealed), SecretError);
  assert.throws(() => openKeys(master, 'place', sealed), SecretError);
});
