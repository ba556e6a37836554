import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { signatureVectors as vectors } from '../../test/support/signature-vectors.ts';
import { sign } from './sign.ts';
import { verify } from './verify.ts';

const body =
  '{"event":"ping","timestamp":"2026-11-20T09:35:20.114Z","instance_id":"i","collection":"","data":{}}';

for (const { name, secrets, serviceSignatures, webhookSignature, ...parts } of vectors) {
  test(`the headers are those of the published vector: ${name}`, async () => {
    const headers = await sign({ ...parts, secret: secrets });
    assert.equal(headers['webhook-id'], parts.id);
    assert.equal(headers['webhook-timestamp'], String(parts.timestampSeconds));
    assert.equal(headers['webhook-signature'], webhookSignature);
    assert.equal(headers['x-service-signature'], serviceSignatures[0]);
    assert.equal(headers['x-service-signature-previous'], serviceSignatures[1]);
  });
}

test('the standardwebhooks package and verify accept what is signed now', async () => {
  const secrets = [newSecret(), newSecret()] as const;
  const headers = await sign({ secret: secrets, id: 'evt1', body });
  for (const secret of secrets) {
    assert.deepEqual(new StandardWebhook(secret).verify(body, headers), JSON.parse(body));
    assert.equal((await verify(secret, headers, body)).event.event, 'ping');
  }
  assert.throws(() => new StandardWebhook(newSecret()).verify(body, headers), /No matching signature/);
});

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
