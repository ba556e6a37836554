import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { rawRequest, sendRaw } from '../support/raw-http.ts';
import { startService } from '../support/service.ts';

const exposed = 'ETag, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, X-Request-Id';
const paths = [
  '/api/health',
  '/api/collections',
  '/api/collections/posts/records',
  '/api/collections/_superusers/auth-with-password',
  '/api/webhooks/endpoints',
  '/api/nope',
  '/i/nope/api/health',
];

test('A4 H-31 every OPTIONS is a preflight that is answered with 204, whether or not the path is known', async (t) => {
  const service = await startService(t);
  for (const path of paths) {
    const headers = {
      origin: 'https://a.example',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization, x-mine',
    };
    const answer = await service.request(path, { method: 'OPTIONS', headers });
    assert.equal(answer.status, 204, path);
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.equal(answer.headers.get('access-control-allow-methods'), 'GET,HEAD,PUT,PATCH,POST,DELETE');
    assert.equal(answer.headers.get('access-control-allow-headers'), 'authorization, x-mine');
    assert.equal(answer.headers.get('access-control-max-age'), '600');
    assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    assert.equal(
      answer.headers.get('vary'),
      'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    );
    assert.match(answer.headers.get('x-request-id') ?? '', /./);
    const plain = await service.request(path, { method: 'OPTIONS' });
    assert.equal(plain.status, 204, path);
    assert.equal(plain.headers.get('access-control-allow-methods'), null);
    assert.equal(plain.headers.get('vary'), 'Origin, Authorization');
  }
});

test('H-33 a preflight changes nothing', async (t) => {
  const service = await startService(t);
  const before = await service.request('/api/collections', { token: true });
  await service.request('/api/collections', {
    method: 'OPTIONS',
    token: true,
    body: { name: 'made' },
    headers: { origin: 'https://a.example' },
  });
  assert.equal(
    (await service.request('/api/collections', { token: true })).json.totalItems,
    before.json.totalItems,
  );
});

test('A4 by default every origin may read every answer, errors of all kinds included, and never with credentials', async (t) => {
  const service = await startService(t);
  const lines = [
    'GET /api/health',
    'GET /api/nope',
    'PUT /api/health',
    'GET /api/collections',
    'GET /api/collections/%zz',
    `GET /api/collections/${'a'.repeat(2_000)}`,
  ];
  for (const line of lines) {
    const { headers } = await sendRaw(t, service.url, rawRequest(line, { Origin: 'https://a.example' }));
    assert.equal(headers.get('access-control-allow-origin'), '*', line);
    assert.equal(headers.get('access-control-expose-headers'), exposed, line);
    assert.equal(headers.has('access-control-allow-credentials'), false);
    const without = await sendRaw(t, service.url, rawRequest(line));
    assert.equal(without.headers.has('access-control-allow-origin'), false, line);
    assert.equal(without.headers.get('vary'), 'Origin, Authorization', line);
  }
});

test('H-31 with --cors-origins only an origin of the list is named, exactly as it is', async (t) => {
  const service = await startService(t, {
    flags: { 'cors-origins': 'https://a.example, https://b.example:8443' },
  });
  const table: readonly (readonly [string, boolean])[] = [
    ['https://a.example', true],
    ['https://b.example:8443', true],
    ['https://c.example', false],
    ['http://a.example', false],
    ['https://a.example.', false],
    ['https://a.example:443', false],
    ['https://A.example', false],
    ['https://a.example.evil.example', false],
    ['null', false],
    ['*', false],
    ['https://a.example, https://b.example:8443', false],
  ];
  for (const [origin, isAllowed] of table) {
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await sendRaw(
        t,
        service.url,
        rawRequest(`${method} /api/health`, { Origin: origin }),
      );
      assert.equal(
        headers.get('access-control-allow-origin'),
        isAllowed ? origin : undefined,
        `${method} ${origin}`,
      );
      assert.equal(headers.has('access-control-expose-headers'), isAllowed);
      assert.equal(headers.has('access-control-allow-methods'), isAllowed && method === 'OPTIONS');
      assert.match(headers.get('vary') ?? '', /^Origin/);
    }
  }
});

test('A17 L-06 every answer names its request and tells nothing of what made it', async (t) => {
  const service = await startService(t);
  const ids = new Set<string | undefined>();
  const lines = [
    'GET /api/health',
    'GET /api/health/live',
    'OPTIONS /api/health',
    'GET /api/nope',
    'PUT /api/health',
    'GET /api/collections',
    'GET /%zz',
    'FOO /',
  ];
  for (const line of lines) {
    const { headers } = await sendRaw(
      t,
      service.url,
      rawRequest(line, { 'X-Request-Id': 'mine', 'Request-Id': 'mine' }),
    );
    ids.add(headers.get('x-request-id'));
    assert.equal(headers.get('x-content-type-options'), 'nosniff', line);
    assert.equal(headers.get('x-frame-options'), 'SAMEORIGIN', line);
    assert.equal(headers.get('x-xss-protection'), '1; mode=block', line);
    assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'", line);
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-site', line);
    assert.equal(headers.get('referrer-policy'), 'no-referrer', line);
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin', line);
    for (const name of ['server', 'x-powered-by', 'set-cookie'])
      assert.equal(headers.has(name), false, `${line} ${name}`);
  }
  assert.equal(ids.size, lines.length);
  assert.equal(ids.has('mine') || ids.has(undefined), false);
});

test('--cors-origins takes origins as browsers send them, and refuses what could never be equal to one', () => {
  const read = (text: string) => readConfig({ 'cors-origins': text }, {}).corsOrigins;
  const good = [
    'https://a.example',
    'http://localhost:5173',
    'https://[::1]:8443',
    'capacitor://localhost',
    'null',
    'file://',
  ];
  assert.deepEqual(read(good.join(', ')), good);
  assert.deepEqual(read('*'), ['*']);
  const wrong = [
    'a.example',
    'https://a.example/',
    'https://A.example',
    'https://a.example:443',
    'https://*.example',
  ];
  for (const text of [...wrong, 'https://u@a.example', 'capacitor://localhost/']) {
    assert.throws(() => read(`https://b.example,${text}`), {
      name: 'ConfigError',
      message: `--cors-origins: expected an origin as browsers send it, like https://app.example.com, found "${text}".`,
    });
  }
});
