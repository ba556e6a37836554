import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ipAddressText, readIpAddress } from './ip-address.ts';

test('one address has one text, however it was written', () => {
  const texts: readonly (readonly [string, string | undefined])[] = [
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::FFFF:7f00:1', '127.0.0.1'],
    ['::1', '0000:0000:0000:0000:0000:0000:0000:0001'],
    ['2001:DB8::a', '2001:0db8:0000:0000:0000:0000:0000:000a'],
    ['::127.0.0.1', '0000:0000:0000:0000:0000:0000:7f00:0001'],
    ['fe80::1%eth0', undefined],
    ['127.0.0.01', undefined],
    ['', undefined],
  ];
  for (const [text, expected] of texts) {
    const bytes = readIpAddress(text);
    assert.equal(bytes === undefined ? undefined : ipAddressText(bytes), expected, text);
  }
});
