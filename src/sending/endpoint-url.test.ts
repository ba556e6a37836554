import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loopbackRanges, type NetworkPolicy } from '../network/address-guard.ts';
import { parseCidr } from '../base/ip-address.ts';
import { checkEndpointUrl, refusedTarget } from './endpoint-request.ts';

const strict: NetworkPolicy = { allowHttp: false, allowed: [] };
const development: NetworkPolicy = { allowHttp: true, allowed: loopbackRanges };
const office: NetworkPolicy = { allowHttp: false, allowed: [parseCidr('10.1.0.0/16')] };

/** The canonical URL, or null when it is refused. */
function accepted(text: string, policy: NetworkPolicy = strict): string | null {
  const check = checkEndpointUrl(text, policy);
  return check.kind === 'accepted' ? check.url : null;
}

function reason(text: string, policy: NetworkPolicy = strict): string {
  const check = checkEndpointUrl(text, policy);
  return check.kind === 'refused' ? check.reason : '';
}

const localHosts = [
  // W-01
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '0',
  '0.0.0.0',
  '127.127.127.127',
  '127.0.0.1.',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '%31%32%37.0.0.1',
  '169.254.169.254',
  '0xa9fea9fe',
  // W-03
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '１２７．０．０．１',
  '169｡254｡169｡254',
  // W-05
  '[::1]',
  '[::]',
  '[0000::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:a9fe:a9fe]',
  '[::127.0.0.1]',
  // W-06
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001::7f00:1]',
  '[fe80::5efe:7f00:1]',
  '[fc00::]',
  '[fd00:ec2::254]',
  '[fe80::]',
  '[febf::]',
  '[fec0::]',
  '[ff02::1]',
  '[100::]',
  '[5f00::]',
  '[2001:db8::]',
  '[3fff::]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'ⓛocalhost',
  'a.localhost',
  'intranet',
  'intranet.',
  'printer.local',
  'db.internal',
  'metadata.google.internal',
  'metadata.google.internal.',
  'nas.home.arpa',
];

for (const host of localHosts) {
  test(`W-01…W-06: https://${host}/ is refused with the one generic reason`, () => {
    assert.equal(reason(`https://${host}/`), refusedTarget);
    assert.equal(accepted(`http://${host}/`), null);
  });
}

test('W-05: an address with a zone id is not a URL at all', () => {
  for (const host of ['[fe80::1%25lo]', '[fe80::1%lo]', '[::1%25lo]'])
    assert.equal(accepted(`https://${host}/`), null);
});

test('W-08: literal addresses are judged to the address', () => {
  assert.equal(accepted('https://172.15.255.255/'), 'https://172.15.255.255/');
  assert.equal(accepted('https://172.16.0.0/'), null);
  assert.equal(accepted('https://172.31.255.255/'), null);
  assert.equal(accepted('https://172.32.0.0/'), 'https://172.32.0.0/');
  assert.equal(accepted('https://[2606:4700::1]:8443/x'), 'https://[2606:4700::1]:8443/x');
});

test('W-11: user names, passwords and the confusions around them are refused', () => {
  const disguises = [
    'https://good@127.0.0.1/',
    'https://a:b@example.com/',
    'https://:b@example.com/',
    'https://127.0.0.1\\@good.com/',
    'https://good.com#@127.0.0.1/',
    'https://1.1.1.1 &@2.2.2.2# @3.3.3.3/',
    'https://example.com\\@127.0.0.1/',
    'https://example.com:443@127.0.0.1/',
    'https://@example.com/',
    'https://:@example.com/',
  ];
  for (const url of disguises) {
    assert.equal(accepted(url), null, url);
    assert.equal(accepted(url.replace('https:', 'http:'), development), null, url);
  }
});

test('W-13: only https is spoken, and http only where the operator said so', () => {
  const others = [
    'file:///etc/passwd',
    'gopher://x.com',
    'ftp://x.com',
    'data:text/plain,x',
    'javascript:alert(1)',
  ];
  const stranger = [
    'jar:http://x.com!/',
    'ws://x.com',
    'wss://x.com',
    'unix:/run/x',
    'http+unix://%2frun%2fx',
    'blob:x',
  ];
  for (const url of [
    ...others,
    ...stranger,
    'http://example.com/',
    '//example.com/',
    'example.com',
    '',
    ' ',
  ]) {
    assert.equal(accepted(url), null, url);
  }
  assert.equal(accepted('http://example.com/', development), 'http://example.com/');
  assert.equal(accepted('https://example.com', development), 'https://example.com/');
});

test('W-15: length, fragments and control characters cannot do harm', () => {
  assert.equal(accepted(`https://example.com/${'a'.repeat(10_240)}`), null);
  assert.equal(accepted(`https://example.com/${'a'.repeat(2_028)}`)?.length, 2_048);
  assert.equal(accepted(`https://example.com/${'a'.repeat(2_029)}`), null);
  // Each letter becomes six when it is encoded.
  assert.equal(accepted(`https://example.com/${'é'.repeat(400)}`), null);
  assert.equal(accepted('https://example.com/#part'), null);
  assert.equal(accepted('https://example.com/#'), null);
  assert.equal(accepted('https://example.com/a%0d%0aHost:x'), 'https://example.com/a%0d%0aHost:x');
  for (const character of ['\0', '\r', '\n', '\t', '\u007f', '\u0085', '\\']) {
    assert.equal(accepted(`https://example.com/${character}Host: x`), null);
    assert.equal(accepted(`https://example.com/${character}`), null);
  }
  assert.equal(accepted('https://example.com/a/../../b?c=d'), 'https://example.com/b?c=d');
});

test('W-15: what the parser would repair in silence is refused, and said', () => {
  for (const start of ['https:', 'https:/', 'https:///', 'https:////', 'HTTPS:']) {
    const said = 'The URL must be written in full, like ';
    assert.equal(reason(`${start}example.com/hook`), `${said}https://example.com/webhooks.`, start);
    const plain = `${start.replace(/s/i, '')}example.com/hook`;
    assert.equal(reason(plain, development), `${said}http://localhost:3000/webhooks.`, start);
  }
  const said = 'The URL must not contain blanks, backslashes, control characters or invisible ones.';
  const blanks = [' ', '\t', '\n', '\r\n', '\u00a0', '\u2028', '\u3000', '\u00ad', '\u200b', '\ufeff', '\\'];
  for (const blank of blanks) {
    for (const [before, after] of [
      ['', 'https://example.com/'],
      ['https:', '//example.com/'],
      ['https://exam', 'ple.com/'],
      ['https://example.com/a', 'b'],
      ['https://example.com/', ''],
    ])
      assert.equal(reason(`${before}${blank}${after}`), said, JSON.stringify([before, blank, after]));
  }
  assert.equal(reason('https:\\\\example.com'), said);
});

const portsOfOthers = [
  0, 22, 25, 53, 110, 143, 465, 587, 993, 995, 3306, 5432, 6379, 9200, 11211, 27017,
] as const;

test('W-58: ports of other protocols are refused, unless the operator has named them', () => {
  for (const port of portsOfOthers) {
    const said = `Port ${port} is that of another protocol, and not allowed as a webhook target.`;
    assert.equal(reason(`https://example.com:${port}/`), said);
    assert.equal(reason(`https://example.com:0${port}/`), said);
    assert.equal(reason(`http://localhost:${port}/`, development), said);
    const named = { ...strict, allowedPorts: [9_999, port] };
    assert.equal(accepted(`https://example.com:${port}/`, named), `https://example.com:${port}/`);
    assert.equal(accepted(`https://127.0.0.1:${port}/`, named), null);
  }
  for (const port of [1, 21, 80, 444, 8_080, 8_443, 65_535])
    assert.equal(accepted(`https://example.com:${port}/`), `https://example.com:${port}/`);
});

test('a refusal knows which flag would allow the URL, and in development no refusal asks for https alone', () => {
  const remedyOf = (text: string, policy = strict): string | undefined => {
    const check = checkEndpointUrl(text, policy);
    return check.kind === 'refused' ? check.remedy?.replace(/^The server allows it with (.*)\.$/, '$1') : '';
  };
  const leadsTo = '--allow-net and the network that the name leads to';
  const cases = {
    'http://127.0.0.1:3000/': '--allow-net 127.0.0.1, or with --dev',
    'https://[::1]/': '--allow-net ::1, or with --dev',
    'https://10.1.2.3/': '--allow-net 10.1.2.3',
    'http://8.8.8.8/': '--allow-net 8.8.8.8',
    'http://localhost:3000/': '--dev, or with --allow-net 127.0.0.1',
    'https://build.internal/': leadsTo,
    'http://example.com/': `--dev, or with ${leadsTo}`,
    'https://example.com:6379/': '--allow-ports 6379',
    'https://example.com:0/': undefined,
    'https:example.com': undefined,
    'ftp://example.com/': undefined,
  };
  for (const [url, expected] of Object.entries(cases)) assert.equal(remedyOf(url), expected, url);
  assert.equal(reason('ftp://example.com/', development), 'The URL must begin with https:// or http://.');
  assert.match(reason('nowhere', development), /expected one like http:\/\/localhost:3000\/webhooks\.$/);
});

test('what is accepted is the canonical form', () => {
  assert.equal(accepted('HTTPS://Example.COM:443/Hook?A=b'), 'https://example.com/Hook?A=b');
  assert.equal(accepted('https://bücher.example/'), 'https://xn--bcher-kva.example/');
});

test('with loopback allowed, localhost and loopback addresses are fine and other local ones are not', () => {
  for (const url of [
    'http://localhost:3000/',
    'http://127.0.0.1:9/',
    'http://[::1]:9/x',
    'https://a.localhost/',
  ]) {
    assert.equal(accepted(url, development), url);
  }
  for (const url of [
    'http://10.0.0.1/',
    'http://169.254.169.254/',
    'https://[fd00::1]/',
    'http://0.0.0.0/',
  ]) {
    assert.equal(accepted(url, development), null, url);
  }
});

test('a range opened by the operator is reachable without TLS, the rest of the world is not', () => {
  assert.equal(accepted('http://10.1.2.3/', office), 'http://10.1.2.3/');
  assert.equal(accepted('https://10.1.2.3/', office), 'https://10.1.2.3/');
  assert.equal(accepted('http://8.8.8.8/', office), null);
  assert.equal(accepted('https://10.2.0.1/', office), null);
  assert.equal(accepted('http://localhost/', office), null);
  // Where a name leads is known at connect; there the addresses decide.
  assert.equal(accepted('http://build.internal/', office), 'http://build.internal/');
});
