import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { account, startSignedInStage, startStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';

const skip = withoutChromium;
const kilobyte = 1000;

test('from the link of a start to the first record, by clicks alone', { skip }, async (t) => {
  const stage = await startStage(t);
  const page = await stage.open();
  await page.goto(stage.setupLink);
  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password', { exact: true }).fill(account.password);
  await page.getByLabel('Confirm password').fill(account.password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await assertAccessible(page, 'overview');
  await stage.pb.collection('_superusers').authWithPassword(account.email, account.password);
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields: [{ name: 'title', type: 'text', required: true }],
  });
  await page.reload();
  await page.getByRole('link', { name: 'notes' }).first().click();
  await page.getByText('notes is empty').waitFor();
  await page.getByRole('button', { name: 'New record' }).first().click();
  await page.getByLabel('title').fill('<img src=x onerror=alert(1)> first');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('created').waitFor();
  const { items } = await stage.pb.collection('notes').getList(1, 1);
  assert.equal(items[0]?.['title'], '<img src=x onerror=alert(1)> first');
  await page.getByRole('gridcell', { name: '<img src=x' }).waitFor();
  await assertAccessible(page, 'records');
});

test('what the dashboard loads to show a table stays within its budget', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.open();
  const loaded: { readonly path: string; readonly bytes: number }[] = [];
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith('/_/'))
      loaded.push({ path: pathname, bytes: Number(response.headers()['content-length']) });
  });
  // Brotli is only for pages of TLS and of this machine; what everybody gets is less than gzip.
  await page.route('**/_/assets/**', async (route) =>
    route.continue({ headers: { ...route.request().headers(), 'accept-encoding': 'gzip' } }),
  );
  await page.addInitScript(stage.signingIn());
  await page.goto(`${stage.url}/_/c/users`);
  await page.getByText('users is empty').waitFor();
  const sizeOf = (ending: string): number =>
    loaded.filter(({ path }) => path.endsWith(ending)).reduce((total, { bytes }) => total + bytes, 0);
  t.diagnostic(`${loaded.length} requests, ${sizeOf('.js')} bytes of scripts, ${sizeOf('.css')} of styles`);
  assert.ok(loaded.length <= 12, `${loaded.length} requests: ${loaded.map(({ path }) => path).join(', ')}`);
  assert.ok(sizeOf('.js') <= 185 * kilobyte, `${sizeOf('.js')} bytes of scripts`);
  assert.ok(sizeOf('.css') <= 25 * kilobyte, `${sizeOf('.css')} bytes of styles`);
  for (const { path, bytes } of loaded)
    assert.ok(path.includes('/index-') || bytes <= 150 * kilobyte, `${path}: ${bytes}`);
});

test('no text can be assigned to what would make a script of it', { skip }, async (t) => {
  const stage = await startStage(t);
  const page = await stage.open({ breaksPolicy: true });
  await page.goto(`${stage.url}/_/`);
  await page.getByRole('heading').first().waitFor();
  const outcomeOf = (code: string): Promise<string> =>
    page.evaluate<string>(
      `(() => { try { ${code}; return 'done'; } catch (error) { return error.name; } })()`,
    );
  for (const code of [
    `document.createElement('div').innerHTML = '<b>x</b>'`,
    `document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')`,
    `document.createElement('script').src = '/x.js'`,
    `document.createElement('iframe').srcdoc = '<script>alert(1)</script>'`,
    `trustedTypes.createPolicy('any', { createHTML: (text) => text })`,
  ])
    assert.equal(await outcomeOf(code), 'TypeError', code);
  assert.equal(await outcomeOf(`document.createElement('div').textContent = '<b>x</b>'`), 'done');
});

test('the dashboard works below a path', { skip }, async (t) => {
  const stage = await startStage(t);
  const page = await stage.open();
  await page.goto(`${stage.url}/i/default/_/c/users?filter=x`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const { pathname, searchParams } = new URL(page.url());
  assert.equal(pathname, '/i/default/_/login');
  assert.equal(searchParams.get('next'), '/c/users?filter=x');
});
