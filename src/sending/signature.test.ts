import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { signatureVectors as vectors } from '../../test/support/signature-vectors.ts';
import { checkSigningSecret, newSigningSecret, signBody, standardSignature } from './signature.ts';

for (const vector of vectors) {
  test(`the published vector holds: ${vector.name}`, () => {
    const body = Buffer.from(vector.body);
    assert.deepEqual(
      vector.secrets.map((secret) => signBody(body, secret)),
      vector.serviceSignatures,
    );
    assert.equal(standardSignature({ ...vector, body }), vector.webhookSignature);
  });

  test(`HMAC computed step by step agrees: ${vector.name}`, () => {
    const body = Buffer.from(vector.body);
    const signed = Buffer.concat([Buffer.from(`${vector.id}.${vector.timestampSeconds}.`), body]);
    for (const [index, secret] of vector.secrets.entries()) {
      assert.equal(hmacByHand(Buffer.from(secret), body).toString('hex'), vector.serviceSignatures[index]);
      const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
      const expected = `v1,${hmacByHand(key, signed).toString('base64')}`;
      assert.equal(vector.webhookSignature.split(' ')[index], expected);
    }
  });
}

test('the standardwebhooks package accepts what we sign and refuses it when a byte is changed', () => {
  const body = Buffer.from('{"event":"record.create","data":{"title":"Grüße 🌍"}}');
  for (const secret of [newSigningSecret(), newSigningSecret(), 'correct horse battery staple']) {
    const timestampSeconds = Math.floor(Date.now() / 1_000);
    const headers = {
      'webhook-id': 'evt0001xk2m9q7w1z8b5',
      'webhook-timestamp': String(timestampSeconds),
      'webhook-signature': standardSignature({
        id: 'evt0001xk2m9q7w1z8b5',
        timestampSeconds,
        body,
        secrets: [newSigningSecret(), secret],
      }),
    };
    const webhook = secret.startsWith('whsec_')
      ? new Webhook(secret)
      : new Webhook(secret, { format: 'raw' });
    assert.deepEqual(webhook.verify(body.toString(), headers), JSON.parse(body.toString()));
    assert.throws(() => webhook.verify(`${body.toString()} `, headers), /No matching signature/);
    assert.throws(
      () => new Webhook(newSigningSecret()).verify(body.toString(), headers),
      /No matching signature/,
    );
  }
});

test('a body of one megabyte is signed as it is', () => {
  const body = Buffer.alloc(1_048_576, 'x');
  assert.equal(signBody(body, 'a'.repeat(16)), hmacByHand(Buffer.from('a'.repeat(16)), body).toString('hex'));
});

test('a new secret is whsec_ and 32 random bytes, never the same, and passes our own check', () => {
  const made = new Set(Array.from({ length: 100 }, newSigningSecret));
  assert.equal(made.size, 100);
  for (const secret of made) {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(checkSigningSecret(secret), null);
  }
});

test('a secret of 16 to 256 printable ASCII characters is accepted', () => {
  for (const secret of ['a'.repeat(16), 'a'.repeat(256), 'with spaces and ~!"# inside', newSigningSecret()]) {
    assert.equal(checkSigningSecret(secret), null, secret);
  }
});

test('a secret that is too short, too long, not printable ASCII or not base64 after whsec_ is refused', () => {
  const refused = [
    '',
    'a'.repeat(15),
    'a'.repeat(257),
    'sixteen letters\n',
    'sixteen létters!',
    'sixteen letters\u007f',
    'whsec_not base64 at all!',
    'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
    `whsec_${Buffer.alloc(15).toString('base64')}`,
    'whsec_',
  ];
  for (const secret of refused) assert.equal(typeof checkSigningSecret(secret), 'string', secret);
});

test('signatures stay right when more secrets are in use than keys are kept', () => {
  const body = Buffer.from('{}');
  const first = signBody(body, 'the very first secret');
  for (let count = 0; count < 3_000; count += 1) signBody(body, `secret number ${count} of many`);
  assert.equal(signBody(body, 'the very first secret'), first);
});

/** RFC 2104 as it is written, on nothing but SHA-256. */
function hmacByHand(key: Buffer, message: Buffer): Buffer {
  const block = Buffer.alloc(64);
  (key.length > 64 ? sha256(key) : key).copy(block);
  const inner = sha256(Buffer.concat([block.map((byte) => byte ^ 0x36), message]));
  return sha256(Buffer.concat([block.map((byte) => byte ^ 0x5c), inner]));
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
