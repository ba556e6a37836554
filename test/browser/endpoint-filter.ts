/** The filter of an endpoint, a replay and a backfill is typed in an editor that knows the fields of their collections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';

const skip = withoutChromium;

async function withOrders(stage: BrowserStage): Promise<void> {
  const { id } = await stage.pb.collections.create({
    name: 'customers',
    type: 'base',
    fields: [{ name: 'country', type: 'text' }],
  });
  await stage.pb.collections.create({
    name: 'orders',
    type: 'base',
    fields: [
      { name: 'state', type: 'select', values: ['open', 'paid'], maxSelect: 1 },
      { name: 'price', type: 'number' },
      { name: 'customer', type: 'relation', collectionId: id },
    ],
  });
}

/** Types on at the end of the filter and takes the first of the completions, which must be these. */
async function complete(page: Page, typed: string, ...wanted: readonly string[]): Promise<void> {
  await page.keyboard.type(typed);
  const labels = page.locator('.cm-tooltip-autocomplete .cm-completionLabel');
  await eventually(`${wanted.join()} can follow ${typed}`, async () =>
    (await labels.allInnerTexts()).join().startsWith(wanted.join()),
  );
  await page.keyboard.press('Tab');
}

async function openEditor(within: Locator): Promise<Locator> {
  const filter = within.getByLabel('Filter');
  await within.locator('.cm-content').waitFor();
  await filter.click();
  return filter;
}

test(
  'the filter of an endpoint is completed by its collections and the state before, and underlined',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await withOrders(stage);
    const page = await stage.openSignedIn('webhooks?create=yes');
    const drawer = page.getByRole('complementary', { name: 'New endpoint' });
    await drawer.getByLabel('URL').fill('http://127.0.0.1:9/');
    const filter = await openEditor(drawer);
    // Of all collections, as long as none is chosen.
    await complete(page, 'coun', 'country');
    await filter.fill('');
    await drawer.getByRole('button', { name: 'orders' }).click();
    await filter.click();
    await complete(page, 'sta', 'state');
    await complete(page, ':ch', 'state:changed');
    await complete(page, ' = t', 'true');
    await complete(page, ' && @o', '@old.');
    await complete(page, 'st', '@old.state');
    await complete(page, " != 'p", "'paid'");
    await complete(page, ' && cust', 'customer');
    await complete(page, '.coun', 'customer.country');
    await page.keyboard.type(" = 'DE'");
    const text = "state:changed = true && @old.state != 'paid' && customer.country = 'DE'";
    assert.equal(await filter.innerText(), text);
    // A change has no request.
    await page.keyboard.type(' && @re');
    await page.locator('.cm-tooltip-autocomplete').waitFor({ state: 'detached' });
    await filter.fill("stat = 'paid'");
    await drawer.getByText('Unknown field "stat" at position 0.').waitFor();
    await drawer.locator('.cm-lintRange-error', { hasText: /^stat$/ }).waitFor();
    await assertAccessible(page, 'a wrong filter of an endpoint');
    await filter.fill(text);
    await drawer.locator('.cm-lintRange-error').waitFor({ state: 'detached' });
    await drawer.getByRole('button', { name: 'Create endpoint' }).click();
    await page.locator('.secret code').waitFor();
    const { items } = await stage.pb.send<{ items: readonly { readonly filter: string }[] }>(
      '/api/webhooks/endpoints',
      {},
    );
    assert.deepEqual(
      items.map((one) => one.filter),
      [text],
    );
  },
);

test(
  'filters of a replay and a backfill are completed, and one of a locked form is only read',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await withOrders(stage);
    const { items } = await stage.pb.send<{ items: readonly unknown[] }>('/api/webhooks/endpoints', {});
    assert.deepEqual(items, []);
    const { id } = await stage.pb.send<{ id: string }>('/api/webhooks/endpoints', {
      method: 'POST',
      body: { url: 'http://127.0.0.1:9/', collections: ['orders'], filter: 'price > 1' },
    });
    const page = await stage.openSignedIn(`webhooks/${id}`);
    await page.getByRole('button', { name: 'Replay …' }).click();
    const replay = page.getByRole('complementary', { name: 'Replay' });
    const filter = await openEditor(replay);
    await complete(page, 'pri', 'price');
    assert.equal(await filter.innerText(), 'price');
    await page.keyboard.type(' > 1 && coun');
    await page.locator('.cm-tooltip-autocomplete').waitFor({ state: 'detached' });
    await replay.getByRole('button', { name: 'Close' }).click();

    const scopes = ['webhooks:read', 'collections:read'];
    const { key } = await stage.pb.send<{ key: string }>('/api/keys', {
      method: 'POST',
      body: { name: 'reader', scopes },
    });
    const reader = await stage.open();
    await reader.goto(`${stage.url}/_/login?with=key`);
    await reader.getByLabel('API key', { exact: true }).fill(key);
    await reader.keyboard.press('Enter');
    await reader.locator('.table-link').click();
    await reader.getByRole('tab', { name: 'Settings' }).click();
    await reader.locator('.cm-content[contenteditable="false"]').waitFor();
    assert.equal(await reader.locator('.cm-content').innerText(), 'price > 1');
    await assertAccessible(reader, 'a filter to read');
  },
);
