import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const compose = readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8');
const nginx = readFileSync(new URL('../docs/nginx.conf', import.meta.url), 'utf8');

test('the proxy of docker-compose.yml knows the addresses of the nodes, and they know its own', () => {
  const nodes = [...compose.matchAll(/^ {2}node\d: .*ipv4_address: ([\d.]+)/gm)].map(
    ([, address]) => address,
  );
  const asked = [...nginx.matchAll(/^ +server ([\d.]+):8090 /gm)].map(([, address]) => address);
  assert.equal(nodes.length, 3);
  assert.deepEqual(asked, nodes);
  const proxy = /^ {2}proxy:\n(?: {4}.*\n)*? {4}networks: .*ipv4_address: ([\d.]+)/m.exec(compose)?.[1];
  assert.ok(proxy !== undefined);
  assert.equal(/CHANCERY_TRUSTED_PROXIES: ([\d.]+)$/m.exec(compose)?.[1], proxy);
});

test('a command of docker-compose.yml that holds a colon is quoted, or it would be a map', () => {
  const items = [...compose.matchAll(/^ {6}- (.*)$/gm)].map(([, item = '']) => item);
  assert.ok(items.length >= 4);
  for (const item of items) assert.ok(!item.includes(': ') || /^(".*"|'.*')$/.test(item), item);
});
