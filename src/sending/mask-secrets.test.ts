import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { Receiver, type ReceiverMode } from '../../test/support/receiver.ts';
import { systemClock as clock } from '../base/clock.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { GuardedAgent } from './guarded-agent.ts';
import { masked, maskedBody, sentSecrets } from './mask-secrets.ts';
import { signBody } from './signature.ts';

const agent = new GuardedAgent({ policy: { allowHttp: true, allowed: loopbackRanges }, clock });
const parts = attemptParts({ agent, clock });
after(() => agent.stop());

const token = 'sk/live"0123';
const customHeaders = { authorization: `Bearer ${token}`, 'x-api-key': 'key-of-ours', 'x-shop': 'berlin' };

const echo = `x-your-key: key-of-ours\r\nkey-of-ours: name\r\nx-shop: berlin`;
const modes: readonly (readonly [kind: string, mode: ReceiverMode])[] = [
  ['success', { kind: 'echo', status: 200 }],
  ['status', { kind: 'echo', status: 500 }],
  ['timeout', { kind: 'raw', bytes: `HTTP/1.1 200 OK\r\n${echo}\r\ncontent-length: 99\r\n\r\nkey-of-ours` }],
  [
    'protocol',
    {
      kind: 'raw',
      bytes: `HTTP/1.1 200 OK\r\n${echo}\r\ntransfer-encoding: chunked\r\n\r\nb\r\nkey-of-ours\r\nz`,
    },
  ],
  ['protocol', { kind: 'raw', bytes: `HTTP/1.1 key-of-ours ${echo}\r\n\r\n` }],
  ['protocol', { kind: 'raw', bytes: 'key-of-ours' }],
];

for (const [kind, mode] of modes) {
  test(`W-57 secrets that a receiver sends back are not kept: ${kind}, ${JSON.stringify(mode)}`, async () => {
    await using receiver = await Receiver.open({ mode });
    const secrets = ['whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=', 'the secret before that one'];
    const request = attemptRequest(receiver.url, { customHeaders, secrets, timeoutMs: 1_500 });
    const result = await sendAttempt(request, parts);
    assert.equal(result.kind, kind, result.cause);
    const text = Buffer.from(result.responseBody).toString('latin1');
    const kept = `${result.responseHeaders}\n${text}\n${result.cause}`;
    const [sent] = receiver.requests;
    const standard = String(sent?.headers['webhook-signature']).split(' ');
    const signatures = [...secrets.map((secret) => signBody(request.body, secret)), ...standard];
    const forbidden = [token, JSON.stringify(token).slice(1, -1), 'key-of-ours', ...signatures];
    for (const secret of forbidden) assert.ok(!kept.includes(secret), `${secret} in ${kept}`);
    if (mode.kind === 'echo') assert.ok(text.includes('********') && text.includes('berlin'));
  });
}

test('secrets are masked as they are written in JSON, and by their parts', () => {
  const secrets = sentSecrets([
    'Authorization',
    `Bearer ${token}`,
    'webhook-signature',
    'v1,a/b+c/defgh= v1,ijklmnop',
  ]);
  const bodies = {
    'sk/live"0123 is not valid': '******** is not valid',
    'you sent Bearer sk/live"0123.': 'you sent ********.',
    'it is {"a":"Bearer sk/live\\"0123"}': 'it is {"a":"********"}',
    'it is {"a":"Bearer sk\\/live\\"0123"}': 'it is {"a":"********"}',
    'neither a/b+c/defgh= nor a\\/b+c\\/defgh nor ijklmnop': 'neither ********= nor ******** nor ********',
    'Bearer of other news, v1': 'Bearer of other news, v1',
  };
  for (const [text, expected] of Object.entries(bodies)) assert.equal(masked(text, secrets), expected);
});

test('of a body that ends too early the beginning of a secret is left out', () => {
  const secrets = sentSecrets(['x-api-key', 'key-of-ours', 'authorization', `Bearer ${token}`]);
  const shown = (text: string, isWhole: boolean) =>
    Buffer.from(maskedBody(Buffer.from(text), secrets, isWhole)).toString();
  assert.equal(shown('it is key-of-our', false), 'it is ');
  assert.equal(shown('it is Bearer sk/l', false), 'it is ');
  assert.equal(shown('it is key-of-our', true), 'it is key-of-our');
  assert.equal(shown('the key-of-theirs is another', false), 'the key-of-theirs is another');
});

test('bytes around a secret stay as they are, and a body does not grow', () => {
  const secrets = sentSecrets(['x-api-key', 'abcd']);
  const body = Buffer.from([0xff, 0, 0x61, 0x62, 0x63, 0x64, 0xfe, 0xc3]);
  assert.deepEqual(Buffer.from(maskedBody(body, secrets, true)), Buffer.from('\xff\0******', 'latin1'));
});

test('headers that are no secrets, and texts too short to be one, are shown', () => {
  assert.deepEqual(sentSecrets(['x-shop', 'berlin', 'webhook-id', 'evt0001', 'x-token', 'abc']), []);
});
