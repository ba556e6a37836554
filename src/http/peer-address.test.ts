import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readIpAddress } from '../base/ip-address.ts';
import { readPeer } from './client-address.ts';

test('a link-local address is that of its client, without the zone', () => {
  const address = readIpAddress('fe80::1');
  assert.ok(address);
  assert.deepEqual(readPeer('fe80::1%eth0'), address);
  assert.deepEqual(readPeer('fe80::1'), address);
});

test('a connection without an address has no peer', () => {
  assert.equal(readPeer(undefined), undefined);
  assert.equal(readPeer('%eth0'), undefined);
});
