import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { buildDashboard } from '../support/build-dashboard.ts';
import { serveInProcess } from '../support/serve-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const html = { accept: 'text/html' };

before(() => buildDashboard());

test('a browser is sent to the dashboard, and a program told that nothing is there', async (t) => {
  const { url } = await serveInProcess(t, temporaryFolder(t));
  const browser = await fetch(url, { headers: html, redirect: 'manual' });
  assert.equal(browser.status, 302);
  assert.equal(new URL(browser.headers.get('location') ?? '', url).pathname, '/_/');
  assert.equal((await fetch(url, { headers: { accept: '*/*' } })).status, 404);
  const bare = await fetch(`${url}/_`, { redirect: 'manual' });
  assert.equal(new URL(bare.headers.get('location') ?? '', `${url}/_`).pathname, '/_/');
  const instance = await fetch(`${url}/i/default/`, { headers: html });
  assert.equal(instance.url, `${url}/i/default/_/`);
  assert.equal(instance.status, 200);
  assert.equal((await fetch(`${url}/i/nobody/_/`)).status, 404);
});

test('every path is the page, with a base for its depth, and none of it may be inline', async (t) => {
  const { url } = await serveInProcess(t, temporaryFolder(t));
  for (const [path, base] of [
    ['', './'],
    ['overview', './'],
    ['c/posts', '../'],
    ['c/posts/schema', '../../'],
  ] as const) {
    const answer = await fetch(`${url}/_/${path}`);
    assert.equal(answer.status, 200);
    const text = await answer.text();
    assert.ok(text.includes(`<base href="${base}"`), text);
    assert.doesNotMatch(text, /<style|style=|<script(?![^>]* src=)/);
    const policy = answer.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'self';.*frame-ancestors 'none'$/);
    assert.doesNotMatch(policy, /unsafe/);
    // No text becomes a script, whoever assigns it to what.
    assert.match(policy, /; require-trusted-types-for 'script'; trusted-types 'none';/);
    // By it the log tells requests of the dashboard; another site never sees it.
    assert.equal(answer.headers.get('referrer-policy'), 'same-origin');
    assert.equal(answer.headers.get('cache-control'), 'no-cache');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    const again = { 'if-none-match': answer.headers.get('etag') ?? '' };
    assert.equal((await fetch(`${url}/_/${path}`, { headers: again })).status, 304);
    const head = await fetch(`${url}/_/${path}`, { method: 'HEAD' });
    assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(text)));
  }
});

test('files whose names change with their content are kept for ever, in the best coding that a client takes', async (t) => {
  const { url } = await serveInProcess(t, temporaryFolder(t));
  const page = await (await fetch(`${url}/_/`)).text();
  const [path = ''] = /assets\/index-[\w-]+\.js/.exec(page) ?? [];
  const plain = await fetch(`${url}/_/${path}`, { headers: { 'accept-encoding': 'identity' } });
  assert.equal(plain.headers.get('content-encoding'), null);
  assert.equal(plain.headers.get('content-type'), 'text/javascript; charset=utf-8');
  assert.equal(plain.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  const text = await plain.text();
  for (const [accepted, coding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, *', 'gzip'],
  ] as const) {
    const answer = await fetch(`${url}/_/${path}`, { headers: { 'accept-encoding': accepted } });
    assert.equal(answer.headers.get('content-encoding'), coding);
    assert.match(answer.headers.get('vary') ?? '', /Accept-Encoding/);
    assert.notEqual(answer.headers.get('etag'), plain.headers.get('etag'));
    assert.equal(await answer.text(), text);
  }
  assert.doesNotMatch(text, /sourceMappingURL/);
});

test('a file that is not there, and one beside the dashboard, is a 404 in JSON', async (t) => {
  const { url } = await serveInProcess(t, temporaryFolder(t));
  for (const path of ['assets/index-00000000.js', 'assets/../files.json', 'assets/%2e%2e/files.json']) {
    const answer = await fetch(`${url}/_/${path}`);
    const isPage = answer.headers.get('content-type')?.startsWith('text/html') === true;
    assert.ok(answer.status === 404 || isPage, `${path}: ${answer.status}`);
    if (answer.status === 404)
      assert.deepEqual(Object.keys(JSON.parse(await answer.text())), ['data', 'message', 'status']);
  }
  const post = await fetch(`${url}/_/overview`, { method: 'POST' });
  assert.equal(post.status, 404);
});
