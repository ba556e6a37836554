import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { type SignatureVector, signatureVectors as vectors } from '../../test/support/signature-vectors.ts';
import { sign } from './sign.ts';
import { SecretError, verify, type VerifyOptions, verifySignature, WebhookError } from './verify.ts';

const body =
  '{"event":"record.create","timestamp":"2026-11-20T09:35:20.114Z","instance_id":"k2m9x4q7w1z8b5n","collection":"posts","data":{"id":"r1","title":"Grüße 🌍"}}';
const secret = newSecret();

describe('the published vectors', () => {
  for (const vector of vectors) {
    test(`each secret verifies in both schemes, alone and among others: ${vector.name}`, async () => {
      for (const one of vector.secrets) {
        for (const list of [one, [one], [newSecret(), one], [one, newSecret()]]) {
          await verifySignature(optionsAt(vector, { secret: list }), headersOf(vector), vector.body);
          const options = optionsAt(vector, { secret: list, scheme: 'service' });
          await verifySignature(options, headersOf(vector), new TextEncoder().encode(vector.body));
        }
      }
    });

    test(`whatever is changed is refused: ${vector.name}`, async () => {
      const standard = optionsAt(vector);
      const service = optionsAt(vector, { scheme: 'service' });
      const headers = headersOf(vector);
      const changed = `${vector.body} `;
      await assertRefused('wrong_signature', () => verifySignature(standard, headers, changed));
      await assertRefused('wrong_signature', () => verifySignature(service, headers, changed));
      for (const options of [optionsAt(vector, { secret: newSecret() }), { ...service, secret: newSecret() }])
        await assertRefused('wrong_signature', () => verifySignature(options, headers, vector.body));
      const others = [
        { 'webhook-id': `${vector.id}x` },
        { 'webhook-timestamp': String(vector.timestampSeconds + 1) },
        { 'webhook-signature': vector.webhookSignature.replaceAll('v1,', 'v2,') },
        { 'webhook-signature': vector.webhookSignature.slice(0, 20) },
        { 'webhook-signature': vector.serviceSignatures[0] ?? '' },
      ];
      for (const other of others) {
        const altered = { ...headers, ...other };
        await assertRefused('wrong_signature', () => verifySignature(standard, altered, vector.body));
      }
    });
  }
});

describe('the standardwebhooks package', () => {
  test('what it signs, verify accepts, and refuses when a byte is changed', async () => {
    const headers = signedByPackage(secret, body);
    const webhook = await verify(secret, headers, body);
    assert.equal(webhook.id, 'evt1');
    assert.deepEqual(webhook.event, JSON.parse(body));
    await assertRefused('wrong_signature', () => verify(secret, headers, body.replace('r1', 'r2')));
  });

  test('both refuse the same requests', async () => {
    const genuine = signedByPackage(secret, body);
    const requests = [
      genuine,
      { ...genuine, 'webhook-id': 'evt2' },
      { ...genuine, 'webhook-timestamp': 'soon' },
      { ...genuine, 'webhook-timestamp': '' },
      { ...genuine, 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 400) },
      { ...genuine, 'webhook-signature': 'v1,AAAA' },
      { ...genuine, 'webhook-signature': `v1a,AAAA ${genuine['webhook-signature']}` },
      { ...genuine, 'webhook-signature': genuine['webhook-signature'].slice('v1,'.length) },
    ];
    for (const headers of requests) {
      const theirs = await isFine(() => new StandardWebhook(secret).verify(body, headers));
      assert.equal(await isFine(() => verify(secret, headers, body)), theirs, JSON.stringify(headers));
    }
  });
});

describe('the time of an attempt', () => {
  const at = (offsetSeconds: number, options: Partial<VerifyOptions> = {}) => {
    const seconds = 1_795_167_320;
    return verify(
      { secret, nowMs: () => (seconds + offsetSeconds) * 1000, ...options },
      signed(secret, { timestamp: String(seconds) }),
      body,
    );
  };

  test('up to five minutes away is accepted in both directions, and a second more is refused', async () => {
    for (const offset of [0, 300, -300]) await at(offset);
    await assertRefused('old_timestamp', () => at(301), /301 seconds old; at most 300/);
    await assertRefused('future_timestamp', () => at(-301), /301 seconds ahead/);
  });

  test('the tolerance can be set, and one that is no number accepts nothing', async () => {
    await at(10, { toleranceSeconds: 10 });
    await at(10_000_000, { toleranceSeconds: Number.POSITIVE_INFINITY });
    await assertRefused('old_timestamp', () => at(11, { toleranceSeconds: 10 }));
    await assertRefused('old_timestamp', () => at(1, { toleranceSeconds: Number.NaN }));
  });

  test('a time that is no whole number is refused even when it is signed', async () => {
    for (const timestamp of ['soon', '1e9', '-5', ' 1795167320', '0x10', '9'.repeat(16)]) {
      const headers = signed(secret, { timestamp });
      await assertRefused('bad_timestamp', () => verify(secret, headers, body), /not a number/);
    }
  });
});

describe('the scheme', () => {
  test('the signature of the body alone is not accepted unless the receiver says so', async () => {
    const headers = { 'webhook-id': 'evt1', 'x-service-signature': serviceSignature(secret) };
    await assertRefused(
      'missing_header',
      () => verify(secret, headers, body),
      /webhook-timestamp is missing/,
    );
    assert.equal((await verify({ secret, scheme: 'service' }, headers, body)).id, 'evt1');
  });

  test('the previous signature verifies with the previous secret, in both schemes', async () => {
    const previous = newSecret();
    const both = `${signed(secret)['webhook-signature']} ${signed(previous)['webhook-signature']}`;
    const headers = {
      ...signed(secret, { signature: both }),
      'x-service-signature': serviceSignature(secret),
      'x-service-signature-previous': serviceSignature(previous),
    };
    for (const scheme of ['standard', 'service'] as const) {
      await verify({ secret: previous, scheme }, headers, body);
      await verify({ secret, scheme }, headers, body);
      await assertRefused('wrong_signature', () => verify({ secret: newSecret(), scheme }, headers, body));
    }
  });

  test('a receiver with a list of secrets takes every webhook of a rotation, whichever of them it has', async () => {
    const [older, newer] = [newSecret(), newSecret()];
    // Before, during and after the overlap.
    for (const signers of [[older], [newer, older], [newer]]) {
      const headers = await sign({ secret: signers, id: 'evt1', body });
      for (const scheme of ['standard', 'service'] as const) {
        for (const list of [
          [older, newer],
          [newer, older],
        ])
          await verifySignature({ secret: list, scheme }, headers, body);
        // With one secret it takes exactly those that are signed by it.
        for (const one of [older, newer]) {
          const isTaken = await isFine(() => verifySignature({ secret: one, scheme }, headers, body));
          assert.equal(isTaken, signers.includes(one));
        }
      }
    }
  });

  test('X-Service-Signature is lower-case hex and nothing else', async () => {
    const check = (signature: string) =>
      verify({ secret, scheme: 'service' }, { 'webhook-id': 'e', 'x-service-signature': signature }, body);
    await check(serviceSignature(secret));
    await assertRefused('wrong_signature', () => check(serviceSignature(secret).toUpperCase()));
    await assertRefused('wrong_signature', () => check(`${serviceSignature(secret)} `));
    await assertRefused('missing_header', () => check(''));
  });
});

describe('the headers', () => {
  test('they may be Headers, a Map or a plain object with names in any case', async () => {
    const headers = signed(secret);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const source of [headers, upper, new Headers(headers), new Map(Object.entries(headers))]) {
      assert.equal((await verify(secret, source, body)).id, 'evt1');
    }
  });

  test('the one that is missing or empty is named', async () => {
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      for (const value of [undefined, '']) {
        const headers = { ...signed(secret), [name]: value };
        const error = await assertRefused('missing_header', () => verify(secret, headers, body));
        assert.equal(error.message, `The header ${name} is missing.`);
        assert.equal(error.status, 400);
      }
    }
  });

  test('one that came twice is refused', async () => {
    const headers = signed(secret);
    const twice = { ...headers, 'webhook-id': ['evt1', 'evt2'] };
    await assertRefused('wrong_signature', () => verify(secret, twice, body));
    assert.equal((await verify(secret, { ...headers, 'webhook-id': ['evt1'] }, body)).id, 'evt1');
  });

  test('what they say of the delivery is in the webhook, and nothing when they do not say it', async () => {
    const facts = {
      'x-service-delivery': 'd1',
      'x-service-attempt': '2',
      'x-service-sequence': '7',
      'x-service-truncated': 'data',
      'x-service-actor': 'superuser',
      'x-service-hops': '1',
      'x-service-changed': 'title',
      'x-service-backfill': 'b1',
      'x-service-test': 'true',
    };
    const { event: _, ...full } = await verify(secret, { ...signed(secret), ...facts }, body);
    assert.deepEqual(full, {
      id: 'evt1',
      delivery: 'd1',
      attempt: 2,
      sequence: 7,
      isTruncated: true,
      actor: 'superuser',
      hops: 1,
      changed: ['title'],
      isChangedCut: false,
      backfill: 'b1',
      transition: undefined,
      isTest: true,
    });
    const { event: __, ...bare } = await verify(secret, signed(secret), body);
    const absent = { delivery: undefined, attempt: undefined, sequence: undefined };
    const none = { actor: undefined, hops: undefined, changed: [], isChangedCut: false, backfill: undefined };
    assert.deepEqual(bare, {
      id: 'evt1',
      ...absent,
      ...none,
      transition: undefined,
      isTest: false,
      isTruncated: false,
    });
  });
});

describe('the secret', () => {
  test('one that cannot be a secret is the fault of the receiver, and the message says which', async () => {
    const faults: readonly [string | readonly string[], RegExp][] = [
      ['', /empty/],
      [[], /no secret/],
      [[secret, ''], /empty/],
      [`${secret}\n`, /line break/],
      ['whsec_', /not base64/],
      ['whsec_???', /not base64/],
    ];
    for (const [wrong, message] of faults) {
      await assert.rejects(verify(wrong, signed(secret), body), (error) => {
        assert.ok(error instanceof SecretError && !(error instanceof WebhookError));
        assert.match(error.message, message);
        return true;
      });
    }
  });

  test('one that is absent in the environment is called empty', async () => {
    // JavaScript does not stop a caller from this.
    const absent = undefined as unknown as string;
    await assert.rejects(verify(absent, signed(secret), body), SecretError);
  });
});

describe('the body', () => {
  test('bytes, a buffer, an ArrayBuffer and a text are the same', async () => {
    const bytes = new TextEncoder().encode(body);
    const inside = new Uint8Array([0, ...bytes, 0]).subarray(1, -1);
    for (const form of [bytes, inside, Buffer.from(body), bytes.buffer, body])
      assert.equal((await verify(secret, signed(secret), form)).event.data['id'], 'r1');
  });

  test('one that was parsed already is a mistake of the receiver, not of the sender', async () => {
    // JavaScript does not stop a caller from this.
    const parsed = JSON.parse(body) as string;
    await assert.rejects(verify(secret, signed(secret), parsed), /it was parsed, or never read/);
  });

  test('one that is genuine but no event is refused with what it lacks', async () => {
    const event = {
      event: 'record.create',
      timestamp: 't',
      instance_id: 'i',
      collection: 'c',
      data: { id: 'r' },
    };
    const wrong: readonly [string, RegExp][] = [
      ['', /not JSON/],
      ['{', /not JSON/],
      ['null', /no data/],
      ['[]', /no data/],
      [JSON.stringify({ ...event, event: 1 }), /no event/],
      [JSON.stringify({ ...event, instance_id: undefined }), /no instance_id/],
      [JSON.stringify({ ...event, data: 'x' }), /no data/],
      [JSON.stringify({ ...event, data: {} }), /no data\.id/],
    ];
    for (const [text, message] of wrong)
      await assertRefused('bad_body', () => verify(secret, signed(secret, { text }), text), message);
    const ping = JSON.stringify({ ...event, event: 'ping', collection: '', data: {} });
    assert.equal((await verify(secret, signed(secret, { text: ping }), ping)).event.event, 'ping');
  });

  test('bytes that are no UTF-8 are refused, not repaired', async () => {
    const bytes = Buffer.concat([Buffer.from('{"event":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    await assertRefused('bad_body', () => verify(secret, signed(secret, { text: bytes }), bytes), /not JSON/);
  });
});

test('the collection tells which fields the record has, and only a whole record has them', async () => {
  const webhook = await verify<{ posts: { title: string }; tags: { rank: number } }>(
    secret,
    signed(secret),
    body,
  );
  assert.ok(!webhook.isTruncated && webhook.event.collection === 'posts');
  // The compiler accepts this line only because of the two conditions before it.
  const title: string = webhook.event.data.title;
  assert.equal(title, 'Grüße 🌍');
});

interface SignedParts {
  readonly timestamp?: string;
  readonly signature?: string;
  readonly text?: string | Buffer;
}

/** Headers made with Node's own HMAC, so that the kit does not check its own work. */
function signed(by: string, { timestamp, signature, text = body }: SignedParts = {}) {
  const seconds = timestamp ?? String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(by.slice('whsec_'.length), 'base64');
  const digest = createHmac('sha256', key).update(`evt1.${seconds}.`).update(text).digest('base64');
  return {
    'webhook-id': 'evt1',
    'webhook-timestamp': seconds,
    'webhook-signature': signature ?? `v1,${digest}`,
  };
}

function serviceSignature(by: string): string {
  return createHmac('sha256', by).update(body).digest('hex');
}

function signedByPackage(by: string, text: string) {
  const now = new Date();
  return {
    'webhook-id': 'evt1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new StandardWebhook(by).sign('evt1', now, text),
  };
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

function headersOf(vector: SignatureVector): Readonly<Record<string, string>> {
  const [current = '', previous] = vector.serviceSignatures;
  return {
    'webhook-id': vector.id,
    'webhook-timestamp': String(vector.timestampSeconds),
    'webhook-signature': vector.webhookSignature,
    'x-service-signature': current,
    ...(previous === undefined ? {} : { 'x-service-signature-previous': previous }),
  };
}

/** Options with the secrets of a vector and its time, to the second. */
function optionsAt(vector: SignatureVector, options: Partial<VerifyOptions> = {}): VerifyOptions {
  const nowMs = () => vector.timestampSeconds * 1000;
  return { secret: vector.secrets, nowMs, toleranceSeconds: 1, ...options };
}

async function assertRefused(
  code: string,
  work: () => Promise<unknown>,
  message = /./,
): Promise<WebhookError> {
  const error = await work().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof WebhookError, `expected ${code}, found ${String(error)}`);
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return error;
}

async function isFine(work: () => unknown): Promise<boolean> {
  try {
    await work();
    return true;
  } catch {
    return false;
  }
}
