/** Signing in with an API key: whoever has one sees what its scopes allow, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';

const skip = withoutChromium;

async function makeKey({ pb }: BrowserStage, scopes: readonly string[], collections?: readonly string[]) {
  const body = { name: 'for the harbour', scopes, ...(collections !== undefined && { collections }) };
  return pb.send<{ id: string; key: string }>('/api/keys', { method: 'POST', body });
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Use an API key' }).click();
  await page.getByLabel('API key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
}

const linksOf = async (page: Page): Promise<readonly string[]> =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();

/** Every path of the API that the page asks for. */
function watchRequests(page: Page): ReadonlySet<string> {
  const paths = new Set<string>();
  page.on('request', (request) => paths.add(new URL(request.url()).pathname));
  return paths;
}

test('a key of records sees records, and asks for nothing that it may not have', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields: [{ name: 'title', type: 'text' }],
  });
  await stage.pb.collection('notes').create({ title: 'first' });
  const { key } = await makeKey(stage, ['records:read', 'collections:read']);
  const page = await stage.open();
  const paths = watchRequests(page);
  await page.goto(`${stage.url}/_/login`);
  await signIn(page, key);
  await page.getByRole('heading', { name: 'for the harbour' }).waitFor();
  await assertAccessible(page, 'key');
  assert.deepEqual(await linksOf(page), ['Diagram', 'Rules', 'API key', 'users', 'notes']);
  await page.getByRole('link', { name: 'notes' }).click();
  await page.getByRole('gridcell', { name: 'first' }).waitFor();
  // The palette offers no more than the sidebar.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search' }).fill('Settings');
  await page.getByText('Nothing has this name').waitFor();
  await page.keyboard.press('Escape');
  // An address that was typed leads to what the key may do.
  await page.goto(`${stage.url}/_/settings/keys`);
  await page.getByRole('heading', { name: 'for the harbour' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/_/key');
  for (const path of ['/api/settings', '/api/logs', '/api/keys', '/api/webhooks/endpoints', '/api/health'])
    assert.ok(!paths.has(path), path);
});

test('a key of webhooks sees no records, and keeps its session over a reload', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const { key } = await makeKey(stage, ['webhooks:read']);
  const page = await stage.open();
  const paths = watchRequests(page);
  await page.goto(`${stage.url}/_/login?with=key`);
  await page.getByLabel('API key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'API key' }).click();
  await page.getByText('webhooks:read').waitFor();
  const links = await linksOf(page);
  for (const hidden of ['Overview', 'Logs', 'Settings', 'users']) assert.ok(!links.includes(hidden), hidden);
  await page.reload();
  await page.getByText('webhooks:read').waitFor();
  await page.goto(`${stage.url}/_/c/users`);
  await page.getByText('webhooks:read').waitFor();
  for (const path of ['/api/settings', '/api/collections', '/api/collections/users/records'])
    assert.ok(!paths.has(path), path);
});

test(
  'a key for some collections sees those, and one without definitions says what is missing',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await stage.pb.collections.create({
      name: 'notes',
      type: 'base',
      fields: [{ name: 'title', type: 'text' }],
    });
    const { key } = await makeKey(stage, ['records:read'], ['notes']);
    const page = await stage.open();
    await page.goto(`${stage.url}/_/login`);
    await signIn(page, key);
    await page.getByText('a table here needs their definitions too').waitFor();
    assert.deepEqual(await linksOf(page), ['API key']);
  },
);

test('what is no key is told, and one that is revoked ends the session', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const { id, key } = await makeKey(stage, ['records:read', 'collections:read']);
  const page = await stage.open({ refusals: [401] });
  await page.goto(`${stage.url}/_/login`);
  await signIn(page, 'hello');
  await page.getByRole('alert').getByText('This is no API key').waitFor();
  await page.getByLabel('API key', { exact: true }).fill(`${key.slice(0, -1)}_`);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The API key is not valid, has expired or was revoked.').waitFor();
  await page.getByLabel('API key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'for the harbour' }).waitFor();
  assert.ok(!(await page.content()).includes(key), 'the key is not in the page');
  await stage.pb.send(`/api/keys/${id}`, { method: 'DELETE' });
  await page.reload();
  await page.getByText('The key is not valid any more').waitFor();
  const kept = await page.evaluate<string>('JSON.stringify({ ...localStorage, ...sessionStorage })');
  assert.ok(!kept.includes(key), 'nor in what the browser keeps');
});

test('a key for everything sees everything', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const { key } = await makeKey(stage, ['admin']);
  const page = await stage.open();
  await page.goto(`${stage.url}/_/login`);
  await signIn(page, key);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const links = await linksOf(page);
  for (const shown of ['Overview', 'Logs', 'Settings', 'API key', 'users'])
    assert.ok(links.includes(shown), shown);
});
