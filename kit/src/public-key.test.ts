import assert from 'node:assert/strict';
import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { SecretError, verify, WebhookError } from './verify.ts';

const body =
  '{"event":"record.create","timestamp":"2026-11-20T09:35:20.114Z","instance_id":"k2m9x4q7w1z8b5n","collection":"posts","data":{"id":"r1"}}';
const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

function assertRefused(code: string, work: () => Promise<unknown>): Promise<void> {
  return assert.rejects(work(), (error) => error instanceof WebhookError && error.code === code);
}

describe('a public key', () => {
  const { privateKey, publicKey: pair } = generateKeyPairSync('ed25519');
  const { x = '' } = pair.export({ format: 'jwk' });
  const publicKey = `whpk_${Buffer.from(x, 'base64url').toString('base64')}`;
  const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '';
  const jwk = { kty: 'OKP', crv: 'Ed25519', x };

  function signedByKey(content = body): Record<string, string> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = signBytes(null, Buffer.from(`evt1.${timestamp}.${content}`), privateKey).toString(
      'base64',
    );
    return {
      'webhook-id': 'evt1',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,AAAA v1a,${signature}`,
    };
  }

  test('verifies in each form, alone and among others', async () => {
    const another = `whpk_${Buffer.from(other, 'base64url').toString('base64')}`;
    const keys = [{ kty: 'RSA' }, { ...jwk, x: other }, jwk];
    for (const form of [publicKey, [another, publicKey], { keys }])
      assert.equal((await verify({ publicKey: form }, signedByKey(), body)).id, 'evt1');
  });

  test('refuses another key, body or time, and what is no signature', async () => {
    const wrong = { publicKey: { keys: [{ ...jwk, x: other }] } };
    await assertRefused('wrong_signature', () => verify(wrong, signedByKey(), body));
    await assertRefused('wrong_signature', () => verify({ publicKey }, signedByKey(), `${body} `));
    const genuine = signedByKey();
    const old = { publicKey, nowMs: () => Date.now() + 400_000 };
    await assertRefused('old_timestamp', () => verify(old, genuine, body));
    for (const signature of ['v1,AAAA', 'v1a,', 'v1a,AAAA', 'v1a,!', `v1a,${'A'.repeat(86)}==`])
      await assertRefused('wrong_signature', () =>
        verify({ publicKey }, { ...genuine, 'webhook-signature': signature }, body),
      );
    const many = `${'v1a,AAAA '.repeat(8)}${genuine['webhook-signature']}`;
    await assertRefused('wrong_signature', () =>
      verify({ publicKey }, { ...genuine, 'webhook-signature': many }, body),
    );
  });

  test('is no secret, and a secret is no public key', async () => {
    const headers = signedByKey();
    for (const key of [publicKey, 'whsk_AAAA', '-----BEGIN PUBLIC KEY-----'])
      for (const scheme of ['standard', 'service'] as const)
        await assert.rejects(verify({ secret: key, scheme }, headers, body), SecretError);
    for (const key of [
      secret,
      '',
      'whpk_',
      'whpk_AAAA',
      'whpk_!',
      [],
      { keys: [] },
      { keys: [{ ...jwk, x: '' }] },
    ])
      await assert.rejects(verify({ publicKey: key }, headers, body), SecretError);
    await assert.rejects(verify({ publicKey, secret }, headers, body), /not both/);
    await assert.rejects(verify({ publicKey, scheme: 'service' }, headers, body), SecretError);
  });
});
