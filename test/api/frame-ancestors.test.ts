import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { buildDashboard } from '../support/build-dashboard.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

before(() => buildDashboard());

function save(service: TestService, frameAncestors: unknown): Promise<TestAnswer> {
  return service.request('/api/settings', {
    method: 'PATCH',
    token: true,
    body: { meta: { frameAncestors } },
  });
}

interface Framing {
  /** What the policy of the page says of frames. */
  readonly policy: string | undefined;
  readonly older: string | null;
  readonly etag: string;
}

async function framingOf(service: TestService, path: string): Promise<Framing> {
  const { headers } = await fetch(service.url + path);
  return {
    policy: /frame-ancestors (.*)$/.exec(headers.get('content-security-policy') ?? '')?.[1],
    older: headers.get('x-frame-options'),
    etag: headers.get('etag') ?? '',
  };
}

test('the dashboard is in a frame of the sites that the settings name, and of no others', async (t) => {
  const service = await startService(t);
  await service.app.data.directory.create('other', null);
  const closed = await framingOf(service, '/_/');
  assert.deepEqual([closed.policy, closed.older], ["'none'", 'DENY']);
  const sites = ['https://shop.example.com', 'https://shop.example.com:8443', 'http://localhost:3000'];
  assert.equal((await save(service, sites)).status, 200);
  const open = await framingOf(service, '/_/webhooks');
  assert.deepEqual([open.policy, open.older], [sites.join(' '), null]);
  const other = await framingOf(service, '/i/other/_/');
  assert.deepEqual([other.policy, other.older], ["'none'", 'DENY'], 'each instance has its own');
  const again = { 'if-none-match': closed.etag };
  assert.equal((await fetch(`${service.url}/_/`, { headers: again })).status, 200, 'a kept page is another');
  assert.equal((await save(service, [])).status, 200);
  assert.deepEqual(await framingOf(service, '/_/'), closed);
  const file = /assets\/index-[\w-]+\.js/.exec(await (await fetch(`${service.url}/_/`)).text())?.[0];
  assert.equal((await framingOf(service, `/_/${file}`)).policy, "'none'");
});

test('a site is an origin as a browser writes it, with https unless it is this machine, and there are at most 20', async (t) => {
  const service = await startService(t);
  const refused = [
    '*',
    "'self'",
    'https:',
    'https://*.example.com',
    'https://example.com/',
    'https://example.com/path',
    'https://example.com https://evil.example',
    'https://example.com; script-src *',
    'https://user@example.com',
    'https://Example.com',
    'https://example.com:443',
    'https://exämple.com',
    'http://example.com',
    'http://localhost.example.com',
    'example.com',
    '',
  ];
  for (const site of refused) {
    const answer = await save(service, ['https://example.com', site]);
    assert.equal(answer.status, 400, site);
    assert.deepEqual(answer.json.data.meta.frameAncestors, {
      1: {
        code: 'validation_invalid_value',
        message:
          'Must be an origin such as https://example.com or https://example.com:8443; http:// only for localhost.',
      },
    });
  }
  const many = Array.from({ length: 21 }, (_, number) => `https://site${number}.example.com`);
  const answer = await save(service, many);
  assert.equal(answer.json.data.meta.frameAncestors.code, 'validation_length_too_long', answer.text);
  const most = await save(service, many.slice(1));
  assert.deepEqual(most.json.meta.frameAncestors, many.slice(1));
});

test("the operator's page is on every host, never below an instance, and no instance lets others frame it", async (t) => {
  const service = await startService(t);
  const { directory } = service.app.data;
  assert.equal((await save(service, ['https://shop.example.com'])).status, 200);
  const policyOf = async (path: string): Promise<string> => {
    const answer = await fetch(service.url + path);
    assert.equal(answer.status, 200, path);
    await answer.text();
    return answer.headers.get('content-security-policy') ?? '';
  };
  assert.match(await policyOf('/_/'), /frame-ancestors https:\/\/shop\.example\.com$/);
  for (const path of ['/_/operator', '/_/operator/', '/_/operator/instances/acme'])
    assert.match(await policyOf(path), /frame-ancestors 'none'$/, path);
  for (const path of ['/i/default/_/operator', '/i/default/_/operator/usage', '/i/none/_/operator'])
    assert.equal((await fetch(service.url + path)).status, 404, path);
  // Bound to a host, the instance is on no other one, but the operator is.
  const id = directory.findBySlug('default')?.id ?? '';
  await directory.change(id, { host: 'shop.example.com' });
  assert.equal((await fetch(`${service.url}/_/`)).status, 404);
  const page = await (await fetch(`${service.url}/_/operator`)).text();
  const [file = ''] = /assets\/index-[\w-]+\.js/.exec(page) ?? [];
  assert.equal((await fetch(`${service.url}/_/${file}`)).status, 200);
});
