import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { signBody } from '../../sending/signature.ts';
import { diagnoseWebhook, type ReceivedWebhook } from './diagnose-webhook.ts';

const key = Buffer.alloc(32, 3).toString('base64');
const secret = `whsec_${key}`;
const now = 1_795_167_320;
const body =
  '{"event":"record.create","timestamp":"2026-11-20T09:35:20.114Z","instance_id":"k2m9x4q7w1z8b5n","collection":"posts","data":{"id":"r4nd0m1d0000001","title":"Größe"}}';

/** Returns what somebody else's implementation has signed, with what was changed since. */
function received(changes: Partial<ReceivedWebhook> & { readonly text?: string } = {}): ReceivedWebhook {
  const signature = new Webhook(secret).sign('evt1', new Date(now * 1_000), body);
  const headers = new Map([
    ['webhook-id', ['evt1']],
    ['webhook-timestamp', [String(now)]],
    ['webhook-signature', [`v1,b3RoZXI= ${signature}`]],
  ]);
  const { text = body, ...others } = changes;
  return { secret, headers, body: Buffer.from(text), nowSeconds: now + 10, toleranceSeconds: 300, ...others };
}

/** Returns the genuine headers with these in their place. */
function headersWith(changes: Readonly<Record<string, readonly string[]>>): ReceivedWebhook['headers'] {
  return new Map([...received().headers, ...Object.entries(changes)]);
}

/** Returns the checks that are not well, as `name: message`. */
function problems(webhook: ReceivedWebhook): readonly string[] {
  return diagnoseWebhook(webhook)
    .filter(({ state }) => state !== 'ok')
    .map(({ name, message, advice = '' }) => `${name}: ${message} ${advice}`);
}

test('nothing is wrong with a genuine webhook', () => {
  assert.deepEqual(problems(received()), []);
});

const parsed: unknown = JSON.parse(body);

const cases: readonly (readonly [what: string, webhook: ReceivedWebhook, ...says: readonly RegExp[]])[] = [
  [
    'a header is missing',
    received({ headers: headersWith({ 'webhook-id': [''] }) }),
    /^headers: Missing: webhook-id\. Of ours there are: webhook-id, webhook-timestamp, webhook-signature\./,
    /^signature: It was made with another secret/,
  ],
  [
    'a header is there twice',
    received({ headers: headersWith({ 'webhook-id': ['evt1', 'evt2'] }) }),
    /^headers: More than once: webhook-id\./,
  ],
  [
    'the request is old',
    received({ nowSeconds: now + 7_500 }),
    /^timestamp: It is 2 h 5 min old \(2026-11-20T09:35:20\.000Z\), 2 h more than the 5 min that are tolerated\. .*--at/,
  ],
  [
    'the request is from the future',
    received({ nowSeconds: now - 301 }),
    /^timestamp: It is 5 min 1 s in the future .*, 1 s more than .* Set the clock/,
  ],
  [
    'the time is in milliseconds',
    received({ headers: headersWith({ 'webhook-timestamp': [`${now}000`] }) }),
    /^timestamp: .*These are milliseconds/,
    /^signature: /,
  ],
  [
    'the time is no number',
    received({ headers: headersWith({ 'webhook-timestamp': ['today'] }) }),
    /^timestamp: webhook-timestamp is "today"/,
    /^signature: /,
  ],
  [
    'a line break was added',
    received({ text: `${body}\n` }),
    /^signature: .*without the line break at its end/,
  ],
  [
    'white space was added',
    received({ text: `\uFEFF ${body} ` }),
    /^signature: .*white space or the byte order mark/,
  ],
  [
    'the body was written again with indents',
    received({ text: JSON.stringify(parsed, null, 2) }),
    /^signature: The secret is right, but .*it was parsed and written again/,
  ],
  [
    'the body was written again with other escapes',
    received({ text: body.replace('ö', '\\u00f6') }),
    /^signature: .*it was parsed and written again/,
  ],
  [
    'the body is inside a text',
    received({ text: JSON.stringify(body) }),
    /^signature: .*JSON in a JSON text/,
  ],
  [
    'the body was taken for Latin-1',
    received({ text: Buffer.from(body).toString('latin1') }),
    /^signature: .*taken for Latin-1/,
  ],
  [
    'the members have another order',
    received({
      text: body.replace('"event":"record.create",', '').replace('}}', '},"event":"record.create"}'),
    }),
    /^signature: The members of the body are not event, .*parsed and written again/,
  ],
  ['the body was cut', received({ text: body.slice(0, -5) }), /^signature: The body is not JSON: it was cut/],
  ['the body is empty', received({ text: '' }), /^signature: The body is empty/],
  [
    'the body is shorter than its Content-Length',
    received({ text: body.slice(0, -5), headers: headersWith({ 'content-length': ['168'] }) }),
    /^signature: The body has \d+ bytes, but Content-Length is 168/,
  ],
  [
    'the body is not UTF-8',
    received({ body: Buffer.from([0x1f, 0x8b, 0xff]) }),
    /^signature: The body is not UTF-8: it was compressed/,
  ],
  [
    'the secret has a line break',
    received({ secret: `${secret}\n` }),
    /^secret: .*printable ASCII.* It would be a secret with the white space around it removed/,
    /^signature: It fits the secret with the white space around it removed\./,
  ],
  [
    'the secret has quotes',
    received({ secret: `"${secret}"`, text: `${body}\n` }),
    /^secret: It is not whsec_/,
    /^signature: It fits the secret with the quotes around it removed, and the body without the line break/,
  ],
  [
    'the secret lacks its prefix',
    received({ secret: key }),
    /^secret: /,
    /^signature: .* with whsec_ before it/,
  ],
  [
    'the secret lacks its padding',
    received({ secret: secret.slice(0, -1) }),
    /^secret: After whsec_ a secret must be padded base64\. It would be a secret with the padding/,
    /^signature: It fits the secret with the padding/,
  ],
  [
    'the secret is another one',
    received({ secret: `whsec_${Buffer.alloc(32, 4).toString('base64')}` }),
    /^signature: It was made with another secret, or over another body\./,
  ],
  [
    'the id was changed, while the body is as it was',
    received({
      headers: headersWith({
        'webhook-id': ['evt2'],
        'x-service-signature': [signBody(Buffer.from(body), secret)],
      }),
    }),
    /^signature: Secret and body are right, as X-Service-Signature fits/,
  ],
  [
    'there is no signature of this version',
    received({ headers: headersWith({ 'webhook-signature': ['v2,abc'] }) }),
    /^signature: There is no signature of version v1/,
  ],
];

for (const [what, webhook, ...says] of cases) {
  test(`it is said that ${what}`, () => {
    const found = problems(webhook);
    assert.equal(found.length, says.length, found.join('\n'));
    for (const [index, pattern] of says.entries()) assert.match(found[index] ?? '', pattern);
  });
}
