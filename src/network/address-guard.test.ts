import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAddressAllowed, isSameAddress, loopbackRanges, type NetworkPolicy } from './address-guard.ts';
import { parseCidr } from '../base/ip-address.ts';

// Nothing here is connected to: the classification is a pure function.
const strict: NetworkPolicy = { allowHttp: false, allowed: [] };

/** For each refused range its first and last address, and the neighbours outside (null: refused for another reason). */
const ipv4Boundaries: readonly (readonly [string | null, string, string, string | null])[] = [
  [null, '0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
  ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
  ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
  ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
  ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
  ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
  ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
  ['192.88.98.255', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
  ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
  ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
  ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
  ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
  ['223.255.255.255', '224.0.0.0', '239.255.255.255', null],
  [null, '240.0.0.0', '255.255.255.255', null],
];

const ipv6Boundaries: readonly (readonly [string | null, string, string, string | null])[] = [
  [
    '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001::',
    '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001:200::',
  ],
  [
    '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001:db8::',
    '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001:db9::',
  ],
  ['2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
  [
    '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '3fff::',
    '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff',
    '3fff:1000::',
  ],
  // Everything below and above 2000::/3.
  [null, '::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2000::'],
  ['3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', null],
];

for (const [before, first, last, after] of [...ipv4Boundaries, ...ipv6Boundaries]) {
  test(`W-08: ${first} to ${last} is refused, to the address`, () => {
    assert.ok(!isAddressAllowed(first, strict));
    assert.ok(!isAddressAllowed(last, strict));
    if (before !== null) assert.ok(isAddressAllowed(before, strict), before);
    if (after !== null) assert.ok(isAddressAllowed(after, strict), after);
  });
}

test('W-08: an IPv4 address inside IPv6 is judged by itself, mapped or through NAT64', () => {
  for (const [before, first, last, after] of ipv4Boundaries) {
    for (const carrier of ['::ffff:', '64:ff9b::']) {
      assert.ok(!isAddressAllowed(carrier + first, strict));
      assert.ok(!isAddressAllowed(carrier + last, strict));
      if (before !== null) assert.ok(isAddressAllowed(carrier + before, strict));
      if (after !== null) assert.ok(isAddressAllowed(carrier + after, strict));
    }
  }
});

test('W-05, W-06: every disguise of a local address in IPv6 is refused', () => {
  const refused = [
    '::1',
    '::',
    '0000::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '::127.0.0.1',
    '::7f00:1',
    '::ffff:0:127.0.0.1',
    'fe80::1%lo',
    '2606:4700::1111%eth0',
    '64:ff9b::7f00:1',
    '64:ff9b:1::7f00:1',
    '64:ff9b:1:ffff::808:808',
    '2002:7f00:1::',
    '2001::7f00:1',
    '2001:0:0:0:0:0:80ff:fffe',
    'fe80::5efe:127.0.0.1',
    'fc00::',
    'fdff:ffff::1',
    'fd00:ec2::254',
    'fe80::',
    'febf::',
    'fec0::',
    'ff02::1',
    '100::',
    '5f00::',
    '2001:db8::',
    '3fff::',
  ];
  for (const address of refused) assert.ok(!isAddressAllowed(address, strict), address);
});

test('ordinary public addresses are allowed', () => {
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
    '64:ff9b::808:808',
  ]) {
    assert.ok(isAddressAllowed(address, strict), address);
  }
});

test('what cannot be read as an address is refused', () => {
  for (const text of [
    '',
    'localhost',
    '127.1',
    '0',
    '2130706433',
    '0x7f000001',
    '[::1]',
    '1.2.3',
    ' 1.1.1.1',
  ]) {
    assert.ok(!isAddressAllowed(text, strict), text);
  }
});

test('the operator opens exactly the ranges that were named', () => {
  const policy = { allowHttp: false, allowed: [parseCidr('10.1.0.0/16'), parseCidr('fd00:1::/32')] };
  for (const address of ['10.1.0.0', '10.1.255.255', '::ffff:10.1.2.3', 'fd00:1::', 'fd00:1:ffff::1']) {
    assert.ok(isAddressAllowed(address, policy), address);
  }
  for (const address of ['10.0.255.255', '10.2.0.0', '127.0.0.1', 'fd00:2::', '::1']) {
    assert.ok(!isAddressAllowed(address, policy), address);
  }
});

test('a range may be named by its mapped addresses', () => {
  const policy = { allowHttp: false, allowed: [parseCidr('::ffff:10.1.0.0/112')] };
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3'])
    assert.ok(isAddressAllowed(address, policy), address);
  assert.ok(!isAddressAllowed('10.2.0.0', policy));
});

test('the loopback ranges of --dev open loopback only, and a policy survives being posted to a worker', () => {
  const policy = structuredClone({ allowHttp: true, allowed: loopbackRanges });
  for (const address of ['127.0.0.1', '127.255.255.255', '::1']) assert.ok(isAddressAllowed(address, policy));
  for (const address of ['0.0.0.0', '10.0.0.1', '::', '169.254.169.254', '::127.0.0.1']) {
    assert.ok(!isAddressAllowed(address, policy), address);
  }
});

test('two writings of one address are the same, two addresses are not', () => {
  assert.ok(isSameAddress('::ffff:127.0.0.1', '127.0.0.1'));
  assert.ok(isSameAddress('2606:4700:0:0::1', '2606:4700::1'));
  assert.ok(!isSameAddress('127.0.0.1', '127.0.0.2'));
  assert.ok(!isSameAddress('::1', '127.0.0.1'));
  assert.ok(!isSameAddress('', ''));
});
