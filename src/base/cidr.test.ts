import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressBytes, isInCidr, parseCidr } from './ip-address.ts';

test('a range contains its first and last address and neither neighbour, at every prefix length', () => {
  for (let prefixLength = 1; prefixLength <= 32; prefixLength += 1) {
    const size = 2 ** (32 - prefixLength);
    const first = Math.floor(0xa5a5a5a5 / size) * size;
    const range = parseCidr(`${toText(first)}/${prefixLength}`);
    assert.ok(isIn(first, range), `first of /${prefixLength}`);
    assert.ok(isIn(first + size - 1, range), `last of /${prefixLength}`);
    if (first > 0) assert.ok(!isIn(first - 1, range), `before /${prefixLength}`);
    if (first + size <= 0xffffffff) assert.ok(!isIn(first + size, range), `after /${prefixLength}`);
  }
});

test('a prefix of zero contains every address of its family and none of the other', () => {
  assert.ok(isInCidr(addressBytes('255.255.255.255')!, parseCidr('0.0.0.0/0')));
  assert.ok(isInCidr(addressBytes('ffff::')!, parseCidr('::/0')));
  assert.ok(!isInCidr(addressBytes('::1')!, parseCidr('0.0.0.0/0')));
});

test('an address without a prefix is a range of one', () => {
  assert.deepEqual(parseCidr('127.0.0.2'), { address: [127, 0, 0, 2], prefixLength: 32 });
  assert.equal(parseCidr('::1').prefixLength, 128);
});

test('a range of mapped addresses is that of the IPv4 addresses that they mean', () => {
  assert.deepEqual(parseCidr('::ffff:10.0.0.0/104'), parseCidr('10.0.0.0/8'));
  assert.deepEqual(parseCidr('::FFFF:7f00:1'), parseCidr('127.0.0.1'));
  assert.deepEqual(parseCidr('::ffff:0:0/96'), parseCidr('0.0.0.0/0'));
  assert.equal(parseCidr('::fffe:0:0/95').prefixLength, 95);
  assert.throws(() => parseCidr('::ffff:10.0.0.1/104'), { message: /bits set after its first 104/ });
});

test('an invalid range is refused with the expected form', () => {
  for (const text of [
    '',
    'ten',
    '10.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '::/129',
    '10.0.0.0/-1',
  ]) {
    assert.throws(() => parseCidr(text), { code: 'bad_request', message: /expected/ }, text);
  }
  assert.throws(() => parseCidr('fe80::1%eth0/64'), { code: 'bad_request' });
  assert.throws(() => parseCidr('10.1.0.0/8'), {
    code: 'bad_request',
    message: /bits set after its first 8/,
  });
});

test('addresses are read as bytes however they are written', () => {
  const ways: readonly (readonly [string, string])[] = [
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['0:0:0:0:0:ffff:a9fe:a9fe', '00000000000000000000ffffa9fea9fe'],
    ['::FFFF:169.254.169.254', '00000000000000000000ffffa9fea9fe'],
    ['64:ff9b::1.2.3.4', '0064ff9b000000000000000001020304'],
    ['2001:db8:0:0:1::7', '20010db8000000000001000000000007'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['1:2:3:4:5:6:1.2.3.4', '00010002000300040005000601020304'],
    ['10.20.30.255', '0a141eff'],
  ];
  for (const [text, hex] of ways) assert.equal(Buffer.from(addressBytes(text)!).toString('hex'), hex, text);
});

test('an invalid address, or one with a zone, has no bytes', () => {
  for (const text of [
    '',
    '127.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '1.2.3.4.5',
    '256.1.1.1',
    '[::1]',
    ':::',
    '1::2::3',
    'fe80::1%lo',
  ]) {
    assert.equal(addressBytes(text), null, text);
  }
});

function isIn(value: number, range: ReturnType<typeof parseCidr>): boolean {
  return isInCidr(addressBytes(toText(value))!, range);
}

function toText(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}
