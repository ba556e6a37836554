/** Signing in, out and being signed out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { account, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { callAsOperator, makeDeskKey } from '../support/operator-world.ts';
import { stopBelow } from '../support/outage.ts';

const skip = withoutChromium;

test('signing in leads to where one wanted to go, and a wrong password is told', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.open({ refusals: [400] });
  await page.goto(`${stage.url}/_/c/users?sort=-created`);
  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password', { exact: true }).fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Failed to authenticate.').waitFor();
  await page.getByLabel('Password', { exact: true }).fill(account.password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'users', exact: true }).waitFor();
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/_/c/users?sort=-created');
  await page.getByRole('button', { name: account.email }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const kept = await page.evaluate<string>('JSON.stringify(localStorage)');
  assert.ok(!kept.includes('eyJ'), 'no token is left');
});

test('a session that ends leads to the sign-in, and back to the same place', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('c/users', { refusals: [401] });
  await page.getByText('users is empty').waitFor();
  const { id } = stage.pb.authStore.record ?? { id: '' };
  // A new password ends every session of an account.
  const next = 'another long password';
  await stage.pb.collection('_superusers').update(id, { password: next, passwordConfirm: next });
  await page.reload();
  await page.getByText('Your session has ended.').waitFor();
  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password', { exact: true }).fill(next);
  await page.keyboard.press('Enter');
  await page.getByText('users is empty').waitFor();
});

test('an answer that is cut off is none: it ends no session, and is asked for again', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('webhooks');
  await page.getByRole('heading', { name: 'No endpoints yet' }).waitFor();
  const cut: string[] = [];
  const cutOff = { status: 200, contentType: 'application/json', body: '{"items":[' };
  for (const path of ['**/auth-refresh', '**/api/webhooks/endpoints?*'])
    await page.route(path, async (route) => (cut.push(path), route.fulfill(cutOff)), { times: 1 });
  await page.reload();
  await page.getByRole('heading', { name: 'No endpoints yet' }).waitFor();
  await eventually('both were cut off', () => cut.length === 2);
  await page.reload();
  await page.getByRole('heading', { name: 'No endpoints yet' }).waitFor();
});

test('a theme that was chosen is there before the first paint', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('overview', { colorScheme: 'light' });
  await page.getByRole('button', { name: account.email }).click();
  await page.getByRole('menuitemradio', { name: 'Dark' }).click();
  await page.reload({ waitUntil: 'commit' });
  await page.waitForFunction('document.body !== null');
  const theme = await page.evaluate<string>('getComputedStyle(document.documentElement).colorScheme');
  assert.equal(theme, 'dark');
});

test('a link of the operator signs in once, and its token leaves the address', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const key = await makeDeskKey(stage);
  const body = { kind: 'signin' };
  const made = await callAsOperator(stage, key, { method: 'POST', path: '/instances/default/keys', body });
  const link = `${stage.url}/_/link#${made.token}`;
  const page = await stage.open({ refusals: [400, 401, 403] });
  await page.goto(link);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.equal(page.url(), `${stage.url}/_/overview`);
  await page.getByRole('button', { name: account.email }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const again = await stage.open({ refusals: [400, 401, 403] });
  await again.goto(link);
  await again.getByText('The link has expired or was already used.').waitFor();
  assert.ok(!again.url().includes('#'));
});

test('numbers and times are those of the locale of the browser, and ISO on hover', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const fields = [{ name: 'at', type: 'date' }];
  await stage.pb.collections.create({ name: 'notes', type: 'base', fields });
  await stage.pb.collection('notes').create({ at: '2026-11-25 23:54:55.123Z' });
  for (const [locale, text] of [
    ['de-DE', '25.11.2026, 23:54:55'],
    ['en-US', '11/25/2026, 11:54:55 PM'],
  ] as const) {
    const page = await stage.openSignedIn('c/notes', { locale, timezoneId: 'UTC' });
    const time = page.locator('.row time[title^="2026-11-25 23:54:55"]');
    await time.waitFor();
    // Spaces of several kinds.
    assert.equal((await time.innerText()).replaceAll(/\s/g, ' '), text);
  }
});

test(
  'a service that is stopped is reported, and what is shown is read again once it is back',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    // Nobody does anything on it.
    const page = await stage.openSignedIn('overview', { hasOutage: true });
    await page.getByText('No mail server').waitFor();
    const start = await stopBelow(t, stage, page);
    await assertAccessible(page, 'without a service');
    const read = page.waitForResponse('**/api/collections/meta/stats*');
    await start();
    assert.equal((await read).status(), 200);
  },
);

test('a screen that opens over a slow network is there once its data is', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields: [{ name: 'title', type: 'text' }],
  });
  await stage.pb.collection('notes').create({ title: 'slow' });
  const page = await stage.openSignedIn('login');
  const session = await page.context().newCDPSession(page);
  const kilobits = 400;
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 400,
    downloadThroughput: (kilobits * 1_000) / 8,
    uploadThroughput: (kilobits * 1_000) / 8,
  });
  await page.goto(`${stage.url}/_/c/notes`);
  await page.getByRole('gridcell', { name: 'slow' }).waitFor();
  // A menu whose code is still on its way opens once it is there.
  await page.getByRole('button', { name: account.email }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search' }).fill('overview');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});
